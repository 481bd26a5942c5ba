"""`cst evaluate`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.bench.tables import percent
from cst.cli.options import POSITIONAL
from cst.cli.output import check_file, print_table, write_json
from cst.config import IN_MEMORY

if TYPE_CHECKING:
    from cst.config import Config

WORDS = {
    "source_error": "error on the source",
    "target_head_source_error": "error of the target head on the source",
    "accuracy": "accuracy on the target",
    "mean_class_accuracy": "mean class accuracy on the target",
    "pseudo_label_error": "pseudo-label error",
    "total_variation": "total variation distance of pseudo-labels and truth",
}


@dataclass(frozen=True)
class Evaluate:
    """Evaluate a finished run on its task."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder."""
    data_root: Path | None = None
    """Folder of datasets for tasks that read files; CST_DATA if not given."""
    source: Path | None = None
    """The source, if it is no longer where the run found it."""
    target: Path | None = None
    """The target, likewise."""
    target_labels: str | None = None
    """Labels of the target, as 'cst train' takes them."""
    workers: int | None = None
    """Processes that read images."""
    json: Path | None = None
    """Write the figures to this file."""
    bound: bool = False
    """Print the terms of Theorem 1 too."""
    q: float = 0.05
    """Assumed for --bound: sets of less mass than this need not expand."""
    epsilon: float = 0.05
    """Assumed for --bound: by how much larger sets expand."""
    radius: float | None = None
    """For --bound: of a neighbourhood of features; half the median distance of nearest neighbours if not given."""

    def run(self) -> None:
        """Load the model, evaluate it, print the figures."""
        from cst.engine.run import Run

        check_file(self.json)
        if not self.bound and (self.q, self.epsilon, self.radius) != (Evaluate.q, Evaluate.epsilon, Evaluate.radius):
            raise ValueError("--q, --epsilon and --radius need --bound.")
        run = Run.open(self.run_folder)
        given = {name: getattr(self, name) for name in ("source", "target", "target_labels", "data_root", "workers")}
        config = dataclasses.replace(run.config, **{name: value for name, value in given.items() if value is not None})
        if config.task in IN_MEMORY:
            raise ValueError(
                f"{self.run_folder} was trained on data that has no task name: use 'cst predict' or cst.load in Python."
            )

        from cst.adapted import load
        from cst.data.tasks import load_task
        from cst.engine.evaluation import evaluate

        adapted = load(self.run_folder)
        task = load_task(config, adapted.inputs.columns, adapted.tokenizer)
        adapted.check(task)
        result = evaluate(adapted.model, task, config.workers)
        if not any(getattr(self, name) for name in ("source", "target", "target_labels")):
            run.save_result(result)
        if not self.bound:
            report(run.folder, config, result, self.json)
            return

        from cst.cli.bound import print_bound
        from cst.theory.report import bound_report

        terms = bound_report(adapted.model, task, self.q, self.epsilon, self.radius)
        report(run.folder, config, result, self.json, bound=terms.record())
        print_bound(terms)


def report(folder: Path, config: Config, result: dict[str, Any], json: Path | None, **more: Any) -> None:
    """Print the figures of a finished run; ``more`` goes to the file only."""
    oracle: dict[str, float] = result["oracle"]
    figures: dict[str, Any] = {k: v for k, v in result.items() if isinstance(v, float)}
    rows = [[WORDS[key], percent(value), ""] for key, value in figures.items()]
    rows += [[WORDS[key], percent(value), "oracle"] for key, value in oracle.items()]
    title = f"{config.label_of_data}, {config.method}, seed {config.seed}, epoch {config.epochs} of {config.epochs}"
    print_table(title, ["figure", "%", "uses target labels"], rows)
    print(f"Run: {folder}")
    named = {"task": config.task, "method": config.method, "seed": config.seed, "epochs": config.epochs}
    write_json(json, {**named, **result, **more})
