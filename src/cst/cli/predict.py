"""`cst predict`."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, field
from pathlib import Path

from cst.cli.options import POSITIONAL
from cst.cli.output import check_file, print_table, write_json


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
        check_file(self.json, data=[self.input])
        check_file(self.out, "--out", [self.input])
        if not self.input.exists():
            raise ValueError(f"There is no input file at {self.input}.")

        from cst.adapted import load

        adapted = load(self.run_folder)
        found = adapted.read(self.input, self.text, self.strict)

        import torch

        from cst.engine.evaluation import predict
        from cst.functional import margin

        fault = "has no text" if found.kind == "text" else "cannot be read as an image"
        for note in (*found.notes, *(f"{name} {fault} and is left out." for name in found.unreadable)):
            print(f"cst: {note}", file=sys.stderr)
        probs = predict(adapted.model, adapted.samples(found.items), workers=self.workers)[1].softmax(-1)
        best, labels, gaps = probs.amax(1), probs.argmax(1), margin(probs)
        rows = zip(found.names, labels.tolist(), best.tolist(), gaps.tolist(), strict=True)
        with self.out.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            lines = csv.writer(file)
            lines.writerow(["file" if found.kind == "images" else "row", "prediction", "probability", "margin"])
            for name, label, top, gap in rows:
                lines.writerow([name, adapted.classes[label], f"{top:.6f}", f"{gap:.6f}"])
        counts = torch.bincount(labels, minlength=len(adapted.classes)).tolist()
        counted = {str(name): count for name, count in zip(adapted.classes, counts, strict=True)}
        table = [[name, str(count)] for name, count in counted.items()]
        print_table(f"{len(labels)} predictions in {self.out}", ["class", "count"], table)
        skipped = len(found.unreadable)
        write_json(
            self.json, {"predictions": len(labels), "file": str(self.out), "counts": counted, "unreadable": skipped}
        )
