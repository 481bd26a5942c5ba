"""`cst compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cst.cli.flags import tell
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, print_table, write_json

WARNING = (
    "No label of the target took part. Such scores are often wrong about the order of runs, and those of runs on other "
    "data cannot be compared: look at some predictions yourself before you trust them (docs/trust.md)."
)


@dataclass(frozen=True)
class Compare:
    """Rank finished runs on the same data by scores that need no target label."""

    runs: tuple[Path, ...] = field(metadata={POSITIONAL: "RUN"})
    """The run folders."""
    json: Path | None = None
    """Write the scores to this file as well."""

    def run(self) -> None:
        """Read the scores, print them by rank."""
        from cst.engine.run import Run
        from cst.selection import ranked

        check_outputs({"json": self.json}, [file for folder in self.runs for file in Run(folder).files])
        if len(self.runs) < 2:
            raise ValueError("Name at least two runs to compare.")
        results = {str(folder): _scores(Run.open(folder)) for folder in self.runs}
        if len(results) < len(self.runs):
            raise ValueError("A run is named twice: name each once.")
        if len({_data(Run.open(folder)) for folder in self.runs}) > 1:
            raise ValueError("The runs were trained on different data: compare runs on the same.")
        ranks = ranked({name: scores for name, (scores, _) in results.items()})
        order = sorted(ranks, key=lambda name: ranks[name])
        names = list(dict.fromkeys(score for scores, _ in results.values() for score in scores))
        rows = [["mean rank", *(f"{ranks[name]:.1f}" for name in order)]]
        rows += [["verdict", *(results[name][1] for name in order)]]
        rows += [[score, *(_figure(results[name][0].get(score)) for name in order)] for score in names]
        title = "Scores without target labels, higher is better; the best run by its mean rank first"
        print_table(title, ["", *order], rows)
        tell(WARNING)
        write_json(self.json, [{"run": name, "rank": ranks[name], "scores": results[name][0]} for name in order])


def _data(run: Any) -> str:
    """What tells the data of a run from others."""
    state = run.load_checkpoint()
    return str(state["data"]["content"]) if state else run.settings.label_of_data


def _scores(run: Any) -> tuple[dict[str, float], str]:
    result = run.finished
    if "signs" not in result or "verdict" not in result:
        raise ValueError(f"{run.folder} has no scores: it is of an earlier version of cst; train it anew.")
    return result["signs"]["after"]["scores"], result["verdict"]["word"]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
