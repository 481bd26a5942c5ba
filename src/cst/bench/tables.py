"""Rows of runs as a table of means and deviations."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cst.engine.metrics import metric

if TYPE_CHECKING:
    from cst.bench.suites import Suite

COLUMNS = ("accuracy", "total_variation", "target_head_source_error")


def spread(values: list[float], show: Callable[[float], str]) -> str:
    """Mean and sample deviation; the value alone if there is one only."""
    if len(values) == 1:
        return show(values[0])
    return f"{show(statistics.mean(values))} ± {show(statistics.stdev(values))}"


def percent(value: float) -> str:
    """``0.8123`` -> ``81.2``."""
    return f"{100 * value:.1f}"


def summary(rows: list[dict[str, Any]], notes: dict[str, str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Columns, and one line for each variant in the order in which they came; notes where there are any."""
    lines = []
    for name in dict.fromkeys(row["variant"] for row in rows):
        of_variant = [row for row in rows if row["variant"] == name]
        figures = [spread([row[key] for row in of_variant], metric(key).show) for key in COLUMNS]
        cost = statistics.median(row["milliseconds_per_step"] for row in of_variant)
        lines.append([name, *figures, f"{cost:.1f}"])
    return _with_notes(["method", *(metric(key).label for key in COLUMNS), "CPU ms per step"], lines, notes)


def _with_notes(
    columns: list[str], lines: list[list[str]], notes: dict[str, str] | None
) -> tuple[list[str], list[list[str]]]:
    """A last column for notes, if there are any."""
    if not notes or not any(notes.get(line[0]) for line in lines):
        return columns, lines
    return [*columns, "note"], [[*line, notes.get(line[0], "")] for line in lines]


def by_task(
    rows: list[dict[str, Any]], figure: str = "accuracy", notes: dict[str, str] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Methods as lines and tasks as columns, with the average over tasks where a method has them all."""
    tasks = sorted({row["task"] for row in rows})
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        by_name = {t: [r[figure] for r in rows if (r["method"], r["task"]) == (method, t)] for t in tasks}
        cells = [spread(values, percent) if values else "" for values in by_name.values()]
        if len(tasks) > 1:
            means = [statistics.mean(values) for values in by_name.values() if values]
            cells.append(percent(statistics.mean(means)) if len(means) == len(tasks) else "")
        minutes = statistics.median(row["cpu_minutes"] for row in rows if row["method"] == method)
        lines.append([method, *cells, f"{minutes:.1f}"])
    return _with_notes(["method", *tasks, *["average"] * (len(tasks) > 1), "CPU minutes a run"], lines, notes)


def with_harm(rows: list[dict[str, Any]], baseline: str = "source-only") -> tuple[list[str], list[list[str]]]:
    """Tasks as lines and methods as columns; then the average, and the most that a method lost against the baseline.

    Only tasks that every method has count for the last two.
    """
    methods, tasks = (list(dict.fromkeys(row[key] for row in rows)) for key in ("method", "task"))
    values = {
        (m, t): [r["accuracy"] for r in rows if (r["method"], r["task"]) == (m, t)] for m in methods for t in tasks
    }
    lines = [[t, *(spread(values[m, t], percent) if values[m, t] else "" for m in methods)] for t in tasks]
    whole = [t for t in tasks if all(values[m, t] for m in methods)]
    if whole:
        mean = {key: statistics.mean(of_cell) for key, of_cell in values.items() if of_cell}
        averages = [percent(statistics.mean(mean[m, t] for t in whole)) for m in methods]
        lines.append([f"average of {len(whole)}", *averages])
    if whole and baseline in methods:
        lost = [max(0.0, *(mean[baseline, t] - mean[m, t] for t in whole)) for m in methods]
        lines.append([f"most lost against {baseline}", *(percent(loss) for loss in lost)])
    return ["task", *methods], lines


FIGURES = {
    "accuracy": "last epoch",
    "oracle_epoch_accuracy": "best epoch by the target's labels, as published figures often are",
    "target_accuracy": "last epoch, on the unlabelled samples trained on (transductive)",
}
"""What a table by tasks may show of a run."""


def tables_of(suite: Suite, rows: list[dict[str, Any]]) -> list[tuple[str, list[str], list[list[str]]]]:
    """What the suite has to show: of each table its heading, columns and lines."""
    if not suite.by_task:
        return [("last epoch", *summary(rows, {variant.name: variant.note for variant in suite.variants}))]
    groups = list(dict.fromkeys(variant.group for variant in suite.variants if variant.group))
    if groups:
        grouped = {group: [row for row in rows if row["group"] == group] for group in groups}
        return [(f"the {group} half, last epoch", *with_harm(part)) for group, part in grouped.items() if part]
    notes = {variant.method: variant.note for variant in suite.variants}
    apart = any(not math.isclose(row["target_accuracy"], row["accuracy"]) for row in rows)  # other samples to test?
    shown = [figure for figure in FIGURES if apart or figure != "target_accuracy"]
    return [(FIGURES[figure], *by_task(rows, figure, notes)) for figure in shown]


def markdown(columns: list[str], lines: list[list[str]]) -> str:
    """The same as a Markdown table."""
    rules = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [columns, rules, *lines])
