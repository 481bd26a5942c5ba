"""`cst predict`."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from cst.cli.flags import say
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, data_of_run, print_table, write_json
from cst.files import write_aside
from cst.spelling import harmless


@dataclass(frozen=True)
class Predict:
    """Predict classes with a finished run."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder."""
    input: Path
    """A folder of images, a table, arrays or a saved dataset, of the kind that the run was trained on."""
    text: str | None = None
    """Column of the table that holds the text; the one of the training if not given."""
    strict: bool = False
    """Stop at a file that cannot be read instead of leaving it out."""
    out: Path = Path("predictions.csv")
    """Where to write the predictions."""
    workers: int | None = None
    """Processes that read images."""
    json: Path | None = None
    """Write the count of each predicted class to this file."""

    def run(self) -> None:
        """Write one line for each input: file or row, predicted class, its probability, margin to the second."""
        outputs = {"json": self.json, "out": self.out}
        check_outputs(outputs, [self.input])
        if not self.input.exists():
            raise ValueError(f"There is no input file at {self.input}.")

        from cst.engine.adapted import load
        from cst.engine.progress import shown
        from cst.engine.run import Run

        check_outputs(outputs, data_of_run(Run.open(self.run_folder)))

        adapted = load(self.run_folder)
        adapted.workers = self.workers
        with shown("cst predict", demanded=True):
            domain = adapted.read(self.input, self.text, self.strict)
            probs = adapted.probs(domain.items)

        import torch

        from cst.functional import margin

        for note in (*domain.notes, *domain.left_out_note("input")):
            say(note)
        best, labels, gaps = probs.amax(1), probs.argmax(1), margin(probs)
        rows = zip(domain.names, labels.tolist(), best.tolist(), gaps.tolist(), strict=True)

        def write(path: Path) -> None:
            with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
                lines = csv.writer(file)
                figures = ("prediction", "probability", "margin")
                taken = [adapted.kind.unit, *figures]
                for name in domain.carried:
                    while name in taken:
                        name = f"input_{name}"
                    taken.insert(-len(figures), name)
                lines.writerow(map(harmless, taken))
                for place, (name, label, top, gap) in enumerate(rows):
                    cells = [name, *(column[place] for column in domain.carried.values()), adapted.classes[label]]
                    lines.writerow([*map(harmless, cells), f"{top:.6f}", f"{gap:.6f}"])

        write_aside(self.out, write)
        counts = torch.bincount(labels, minlength=len(adapted.classes)).tolist()
        counted = {str(name): count for name, count in zip(adapted.classes, counts, strict=True)}
        table = [[name, str(count)] for name, count in counted.items()]
        print_table(f"{len(labels)} predictions in {self.out}", ["class", "count"], table)
        figures = {"predictions": len(labels), "file": str(self.out), "counts": counted}
        write_json(self.json, {**figures, "unreadable": len(domain.left_out)})
