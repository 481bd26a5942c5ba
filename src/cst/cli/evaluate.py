"""`cst evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.cli.flags import say, tell
from cst.cli.moved import MovedData
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, data_of_run, print_table, write_json
from cst.cli.verdict import print_evidence, print_selection, print_verdict
from cst.engine.metrics import metric
from cst.engine.run import Run

if TYPE_CHECKING:
    from cst.config import Settings


@dataclass(frozen=True, kw_only=True)
class Evaluate(MovedData):
    """Evaluate a finished run on its task."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder."""
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
        from cst.config.options import IN_MEMORY, config_from, load_options

        if not self.bound and (self.q, self.epsilon, self.radius) != (Evaluate.q, Evaluate.epsilon, Evaluate.radius):
            raise ValueError("--q, --epsilon and --radius need --bound.")
        run = Run.open(self.run_folder)
        check_outputs({"json": self.json}, [*self.paths, *data_of_run(run)])
        config = config_from({**load_options(run.config_file), **self.changes}, where=str(run.config_file))
        if config.task in IN_MEMORY:
            raise ValueError(
                f"{self.run_folder} was trained on data that has no task name: use 'cst predict' or cst.load in Python."
            )

        from cst.data.task import set_aside
        from cst.engine.adapted import load
        from cst.engine.evaluation import evaluate
        from cst.engine.progress import shown
        from cst.tasks import load_task

        adapted = load(self.run_folder)
        with shown("cst evaluate", demanded=True):
            task = load_task(config, adapted.spec.columns)
            for note in task.notes:
                say(note)
            adapted.check(task)
            settings = adapted.settings
            encoded = set_aside(adapted.spec.encode(task), settings.hold_out, settings.seed)
            result = {**_told_before(run), **evaluate(adapted.model, encoded, config.workers)}
            if run.last_file.is_file():
                adapted.model.load_state_dict(run.load_weights(run.last_file))
                result["last"] = evaluate(adapted.model, encoded, config.workers)
                adapted.model.load_state_dict(run.load_weights())
        if not any(getattr(self, name) for name in ("source", "target", "target_labels", "label_column")):
            run.save_result(result)
        if not self.bound:
            report(run.folder, adapted.settings, result, self.json, evidence=True)
            return

        from cst.cli.bound import print_bound
        from cst.theory.report import bound_report

        terms = bound_report(adapted.model, encoded, self.q, self.epsilon, self.radius)
        report(run.folder, adapted.settings, result, self.json, evidence=True, bound=terms.record())
        print_bound(terms)


def _told_before(run: Run) -> dict[str, Any]:
    """What training found out and evaluating does not."""
    kept = ("selected", "signs", "verdict", "auto")
    return {name: value for name, value in (run.result or {}).items() if name in kept}


def report(
    folder: Path, settings: Settings, result: dict[str, Any], json: Path | None, evidence: bool = False, **more: Any
) -> None:
    """Print the figures of a finished run, and every score with ``evidence``; ``more`` goes to the file only."""
    rows = []
    for words, figures in (("", result), ("oracle", result["oracle"])):
        for name, value in figures.items():
            if isinstance(value, int | float):
                figure = metric(name)
                rows.append([figure.label, figure.show(value), figure.unit, words])
    when = f"epoch {settings.epochs} of {settings.epochs}"
    title = f"{settings.label_of_data}, {settings.method}, seed {settings.seed}, {when}"
    print_table(title, ["figure", "value", "", "uses target labels"], rows)
    print_selection(result, Run(folder).history())
    if evidence:
        print_evidence(result)
    print_verdict(result)
    tell(f"Run: {folder}")
    named = {"task": settings.data["task"], "method": settings.method, "seed": settings.seed, "epochs": settings.epochs}
    write_json(json, {**named, **result, **more})
