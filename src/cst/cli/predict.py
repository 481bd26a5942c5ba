"""`cst predict`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cst.cli.flags import say
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, data_of_run, print_table, write_json


@dataclass(frozen=True)
class Predict:
    """Predict classes with a finished run; after an interruption the same command continues."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder."""
    input: Path
    """A folder of images, a table, arrays or a saved dataset, of the kind that the run was trained on."""
    text: str | None = None
    """Column of the table that holds the text; the one of the training if not given."""
    strict: bool = False
    """Stop at a file that cannot be read instead of leaving it out."""
    out: Path = Path("predictions.csv")
    """Where to write the predictions: a .csv or a .parquet file."""
    workers: int | None = None
    """Processes that read images."""
    json: Path | None = None
    """Write the count of each predicted class to this file."""

    def run(self) -> None:
        """Write one line for each input: file or row, predicted class, its probability, margin to the second."""
        from cst.data.writers import check_ending

        outputs = {"json": self.json, "out": self.out}
        check_outputs(outputs, [self.input])
        check_ending(self.out, "out=")
        if not self.input.exists():
            raise ValueError(f"There is no input file at {self.input}.")

        from cst.engine.adapted import load
        from cst.engine.progress import shown
        from cst.engine.run import Run
        from cst.engine.streaming import predict_to

        check_outputs(outputs, data_of_run(Run.open(self.run_folder)))

        adapted = load(self.run_folder)
        adapted.workers = self.workers
        with shown("cst predict", demanded=True):
            stream = adapted.stream(self.input, self.text, self.strict)
            summary = predict_to(self.out, adapted, stream, self.strict, say)
        for note in summary.notes(stream):
            say(note)
        counted = {str(name): count for name, count in zip(adapted.classes, summary.counts, strict=True)}
        table = [[name, str(count)] for name, count in counted.items()]
        print_table(f"{summary.total} predictions in {self.out}", ["class", "count"], table)
        figures = {"predictions": summary.total, "file": str(self.out), "counts": counted}
        left_out = len(stream.left_out) + summary.unreadable
        write_json(self.json, {**figures, "unreadable": left_out})
