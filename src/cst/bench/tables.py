"""Rows of runs as a table of means and deviations."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

PERCENT = {
    "accuracy": "accuracy",
    "total_variation": "total variation",
    "target_head_source_error": "target head's error on source",
}


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
        own = [row for row in rows if row["variant"] == name]
        figures = [spread([row[key] for row in own], percent) for key in PERCENT]
        cost = statistics.median(row["milliseconds_per_step"] for row in own)
        lines.append([name, *figures, f"{cost:.1f}"])
    columns = ["method", *PERCENT.values(), "CPU ms per step"]
    if notes and any(notes.values()):
        columns.append("note")
        lines = [[*line, notes.get(line[0], "")] for line in lines]
    return columns, lines


def markdown(columns: list[str], lines: list[list[str]]) -> str:
    """The same as a Markdown table."""
    rules = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [columns, rules, *lines])
