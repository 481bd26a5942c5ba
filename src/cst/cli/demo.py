"""`cst demo`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cst.bench.tables import spread
from cst.cli.flags import say, tell
from cst.cli.output import check_outputs, print_table, write_json
from cst.cli.report import how_to_open, write_page
from cst.engine.metrics import metric
from cst.files import write_text_aside

METHODS = ("source-only", "self-training", "cst")
COLUMNS = ("accuracy", "pseudo_label_error", "total_variation", "target_head_source_error")


@dataclass(frozen=True)
class Demo:
    """Compare source-only, self-training and CST on digits that come with the package."""

    out: Path = Path("runs/demo")
    """Folder for the runs, the figure, table.json and report.html, the page on the run with cst."""
    seeds: int = 1
    """How many seeds; with several the table gives mean and deviation."""
    epochs: int = 20
    """Epochs of each run."""
    resume: bool = False
    """Keep the finished runs of an interrupted demo and continue the others."""
    json: Path | None = None
    """Write the rows of the table to this file as well."""

    def run(self) -> None:
        """Train, print the table, write table.json, the figure and the report."""
        if self.seeds < 1:
            raise ValueError(f"--seeds must be at least 1, got {self.seeds}.")
        check_outputs({"json": self.json})
        if self.out.is_file():
            raise ValueError(f"--out {self.out} is a file: choose a folder.")
        say("Digits drawn from fonts (source, labelled) to digits written by hand (target, unlabelled).")

        from cst.analysis.figures import demo_figure

        rows, histories = [], {}
        for seed in range(self.seeds):
            for method in METHODS:
                row, history = self._train(method, seed)
                rows.append(row)
                histories[method, seed] = history
        write_text_aside(self.out / "table.json", json.dumps(rows, indent=2) + "\n")
        write_json(self.json, rows)
        figure = self.out / "demo.png"
        demo_figure(histories, figure)
        _print(rows, self.seeds)
        tell(f"Figure: {figure}\nTable:  {self.out / 'table.json'}")
        self._report()

    def _report(self) -> None:
        """The page on the first run with cst."""
        from cst.analysis.subject import subjects

        page = self.out / "report.html"
        (run,) = subjects([self.out / f"{METHODS[-1]}-seed0"])
        write_page(run, page)
        tell(how_to_open(page))

    def _train(self, method: str, seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        from cst.config import Config
        from cst.engine.progress import shown
        from cst.engine.run import Run
        from cst.engine.train import train
        from cst.tasks import load_task

        folder = self.out / f"{method}-seed{seed}"
        config = Config(method=method, seed=seed, epochs=self.epochs, out=folder)
        going_on = self.resume and Run(folder).config_file.is_file()
        with shown(f"{method:<13} seed {seed}", demanded=True) as showing:
            adapted = train(load_task(config), config, resume=going_on, overwrite=True, callbacks=showing)
        result = Run.open(folder).finished
        row = {"method": method, "seed": seed, **result["oracle"]}
        row["target_head_source_error"] = result["target_head_source_error"]
        row["seconds"] = round(sum(record["seconds"] for record in adapted.history), 1)
        return row, adapted.history


def _print(rows: list[dict[str, Any]], seeds: int) -> None:
    """The table, one line a method."""
    lines = []
    for method in METHODS:
        of_method = [row for row in rows if row["method"] == method]
        figures = [spread([row[name] for row in of_method], metric(name).show) for name in COLUMNS]
        lines.append([method, *figures, f"{sum(row['seconds'] for row in of_method) / len(of_method):.0f}"])
    counted = f"mean and deviation of {seeds} seeds" if seeds > 1 else "one seed"
    print_table(
        f"Synthetic digits to handwritten digits, last epoch, in %, {counted}",
        ["method", *(metric(name).label for name in COLUMNS), "seconds"],
        lines,
    )
    tell(
        "Accuracy, pseudo-label error and total variation use target labels (oracle); training and selection never do."
    )
