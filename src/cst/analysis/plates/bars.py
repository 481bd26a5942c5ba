"""Accuracy of methods by task, with the deviation over seeds (Appendix C.4)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import Theme, sheet, short
from cst.analysis.plates.contract import Absent, Plate, lack, note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "accuracy", "Accuracy by task and method", "Appendix C.4"
MEANING = "Mean over seeds, with the deviation as a line."
HATCHES = ("", "///", "...", "xx", "\\\\\\", "++", "oo", "--")


def accuracies(rows: Sequence[tuple[str, str, float]]) -> dict[str, dict[str, dict[str, float]]]:
    """Mean, sample deviation and number of runs, by task and method, of rows (task, method, accuracy).

    >>> accuracies([("a", "cst", 0.8), ("a", "cst", 0.9)])["a"]["cst"]["mean"]
    0.85
    """
    table: dict[str, dict[str, list[float]]] = {}
    for task, method, accuracy in rows:
        table.setdefault(task, {}).setdefault(method, []).append(accuracy)
    return {task: {m: _summary(values) for m, values in methods.items()} for task, methods in table.items()}


def _summary(values: list[float]) -> dict[str, float]:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": round(statistics.mean(values), 6), "deviation": round(deviation, 6), "runs": len(values)}


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One group of bars a task."""
    if len(runs) < 2:
        return Absent(NAME, TITLE, "There is one run only, and bars compare several.")
    rows = [
        (run.task_name, run.settings.method, run.result["oracle"]["accuracy"])
        for run in runs
        if "accuracy" in run.result.get("oracle", {})
    ]
    without = [run for run in runs if "accuracy" not in run.result.get("oracle", {})]
    what = "the run is not finished, or was evaluated without target_labels="
    if not rows:
        return Absent(NAME, TITLE, lack(without, what))
    numbers = accuracies(rows)
    words = [f"{t}: {', '.join(f'{m} {_spread(v)}' for m, v in methods.items())}" for t, methods in numbers.items()]
    text = f"Accuracy on the target in % (oracle), mean and deviation over seeds. {'; '.join(words)}."
    return Plate(
        NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme), note(TITLE, without, what)
    )


def _spread(value: dict[str, float]) -> str:
    several = f" ± {100 * value['deviation']:.1f}" if value["runs"] > 1 else ""
    return f"{100 * value['mean']:.1f}{several}"


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    methods = list(dict.fromkeys(method for by_method in numbers.values() for method in by_method))
    count = sum(map(len, numbers.values()))
    figure = sheet(width=min(14.0, max(5.0, 2.0 + 0.45 * count)))
    panel = figure.subplots()
    width = 0.8 / len(methods)
    for place, method in enumerate(methods):
        tasks = [number for number, by_method in enumerate(numbers.values()) if method in by_method]
        values = [by_method[method] for by_method in numbers.values() if method in by_method]
        panel.bar(
            [number + (place - (len(methods) - 1) / 2) * width for number in tasks],
            [100 * value["mean"] for value in values],
            0.92 * width,
            yerr=[100 * value["deviation"] if value["runs"] > 1 else math.nan for value in values],
            color=theme.colour(place),
            hatch=HATCHES[place % len(HATCHES)],
            edgecolor=theme.ground,
            linewidth=0,
            label=short(method),
            error_kw={"ecolor": theme.ink, "capsize": 3, "linewidth": 1},
        )
    least = min(value["mean"] - value["deviation"] for by_method in numbers.values() for value in by_method.values())
    panel.set_ylim(max(0, 100 * least - 12), 100)
    names = ["\n".join(short(part, 18) for part in name.split(", ")) for name in numbers]
    slanted = len(names) > 4
    panel.set_xticks(range(len(names)), names, rotation=30 if slanted else 0, ha="right" if slanted else "center")
    panel.set_ylabel("accuracy, % (oracle)")
    panel.grid(axis="x", visible=False)
    figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(methods)))
    return figure
