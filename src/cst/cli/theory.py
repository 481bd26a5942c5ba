"""`cst theory`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from cst.cli.flags import tell
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, print_table, write_json
from cst.spelling import unknown

SUBJECTS = ("hard-case",)
LEAST = {"d": 3, "n_target": 1, "trials": 1, "descents": 0, "starts": 1, "seed": 0}


@dataclass(frozen=True)
class Theory:
    """Run the paper's theory: 'cst theory hard-case' repeats Theorems 3 and 4 and draws Figure 4."""

    subject: str = field(metadata={POSITIONAL: "SUBJECT"})
    """What to run: hard-case."""
    d: int = 10
    """Coordinates of an input, at least 3."""
    n_target: int = 50
    """Points of a target sample."""
    trials: int = 1000
    """How many target samples are solved exactly."""
    descents: int = 5
    """How many target samples are solved by gradient descent too; 0 for none."""
    starts: int = 32
    """Random starts of each descent."""
    seed: int = 0
    """Of samples and starts."""
    out: Path | None = None
    """Folder for the figure; runs/theory if not given."""
    json: Path | None = None
    """Write the tables to this file."""

    def run(self) -> None:
        """Draw, solve, print."""
        if self.subject not in SUBJECTS:
            raise ValueError(unknown("subject", self.subject, SUBJECTS))
        check_outputs({"json": self.json})
        out = self.out or Path("runs/theory")
        if out.exists() and not out.is_dir():
            raise ValueError(f"--out {out} is a file: name a folder.")

        for name, least in LEAST.items():
            value = getattr(self, name)
            if value < least:
                raise ValueError(f"--{name.replace('_', '-')} must be at least {least}, got {value}.")

        from cst.theory.hard_case.figure import hard_case_figure
        from cst.theory.hard_case.trials import descent_trials, exact_trials

        shares, quantities = exact_trials(self.d, self.n_target, self.trials, self.seed)
        if self.descents:
            print(f"descending from {self.descents} x {self.starts} random starts", file=sys.stderr, flush=True)
            shares += descent_trials(self.d, self.n_target, self.descents, self.starts, self.seed)
        title = f"Theorems 3 and 4: d = {self.d}, n_t = {self.n_target}, seed {self.seed}"
        columns = ["algorithm", "event", "solved", "trials", "share", "95 % interval", "paper", "exact"]
        rows = []
        for row in shares:
            interval = "{:.3f} to {:.3f}".format(*row.interval)
            exact = "-" if row.exact is None else f"{row.exact:.3f}"
            numbers = [str(row.trials), f"{row.share:.3f}", interval, row.promised, exact]
            rows.append([row.algorithm, row.event, row.solved, *numbers])
        print_table(title, columns, rows, left=3)
        lines = [
            [row.name, f"{row.printed:.2f}", f"{row.exact:.2f}", "-" if row.mean is None else f"{row.mean:.4f}"]
            for row in quantities
        ]
        print_table("Quantities of the proofs", ["quantity", "paper", "exact on Q", "mean over trials"], lines)
        out.mkdir(parents=True, exist_ok=True)
        path = out / "hard-case.png"
        hard_case_figure(path, self.seed)
        tell(f"Figure: {path}")
        named = {"d": self.d, "n_target": self.n_target, "seed": self.seed}
        records = {"shares": [row.record() for row in shares], "quantities": [row.record() for row in quantities]}
        write_json(self.json, {**named, **records})
