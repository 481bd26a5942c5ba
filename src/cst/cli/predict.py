"""`cst predict`."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cst.cli.options import POSITIONAL
from cst.cli.output import check_file, print_table, write_json


@dataclass(frozen=True)
class Predict:
    """Predict classes with a finished run."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder."""
    input: Path
    """Inputs as a NumPy array in a .npy file, one row or image for each sample."""
    out: Path = Path("predictions.csv")
    """Where to write the predictions."""
    json: Path | None = None
    """Write the count of each predicted class to this file."""

    def run(self) -> None:
        """Write one line for each input: row, predicted class, its probability, margin to the second."""
        check_file(self.json)
        check_file(self.out, "--out")
        inputs = _array(self.input)

        import torch

        from cst.adapted import load
        from cst.functional import margin

        adapted = load(self.run_folder)
        probs = torch.as_tensor(adapted.predict_proba(inputs))
        best, labels, gaps = probs.amax(1), probs.argmax(1), margin(probs)
        with self.out.open("w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file)
            lines.writerow(["row", "prediction", "probability", "margin"])
            for row, (label, top, gap) in enumerate(zip(labels.tolist(), best.tolist(), gaps.tolist(), strict=True)):
                lines.writerow([row, adapted.classes[label], f"{top:.6f}", f"{gap:.6f}"])
        counts = torch.bincount(labels, minlength=len(adapted.classes)).tolist()
        rows = [[str(name), str(count)] for name, count in zip(adapted.classes, counts, strict=True)]
        print_table(f"{len(labels)} predictions in {self.out}", ["class", "count"], rows)
        counted = {str(name): count for name, count in zip(adapted.classes, counts, strict=True)}
        write_json(self.json, {"predictions": len(labels), "file": str(self.out), "counts": counted})


def _array(path: Path) -> Any:
    import numpy as np

    if not path.is_file():
        raise ValueError(f"There is no input file at {path}.")
    try:
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path} is not a NumPy array of numbers: write one with numpy.save.") from None
    if not isinstance(loaded, np.ndarray):
        raise ValueError(f"{path} holds several arrays: save the inputs alone, as .npy.")
    return loaded
