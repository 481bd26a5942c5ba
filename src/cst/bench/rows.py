"""The figures of runs, one row a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cst.bench.job import Job, is_whole
from cst.bench.suite import ACCURACY
from cst.config import Settings
from cst.engine.run import Run

OF_THE_RUN = ("seed", "device", "log")
"""Settings in which runs of one line may differ."""


def rows_of(jobs: Iterable[Job]) -> list[dict[str, Any]]:
    """Of those runs that are finished."""
    return [
        row(job.run, job.variant.line, job.variant.column, job.seed, job.variant.group) for job in jobs if job.is_done
    ]


def row(run: Run, line: str, column: str, seed: int, group: str = "") -> dict[str, Any]:
    """What a table may show of a finished run; figures that used target labels only where there are some."""
    result, history = run.finished, run.history()
    oracle: Mapping[str, Any] = result.get("oracle") or {}
    seconds = sum(record["cpu_seconds"] for record in history)
    figures: dict[str, Any] = {
        "line": line,
        "column": column,
        "group": group,
        "seed": seed,
        **oracle,
        "target_head_source_error": result["target_head_source_error"],
        "verdict": (result.get("verdict") or {}).get("word", ""),
        "milliseconds_per_step": 1000 * seconds / history[-1]["step"],
        "cpu_minutes": round(seconds / 60, 1),
    }
    if "pseudo_label_error" in oracle:
        figures["target_accuracy"] = 1 - oracle["pseudo_label_error"]
    for name in (ACCURACY, "mean_class_accuracy"):
        if by_epoch := [r["oracle"][name] for r in history if name in (r.get("oracle") or {})]:
            figures[f"oracle_epoch_{name}"] = max(by_epoch)
    return figures


def histories_of(jobs: Iterable[Job]) -> dict[str, dict[str, list[list[dict[str, Any]]]]]:
    """The epochs of those runs that are finished: by task, then by method, one list for each seed."""
    histories: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}
    for job in jobs:
        if job.is_done:
            of_task = histories.setdefault(job.variant.column, {})
            of_task.setdefault(job.variant.line, []).append(job.run.history())
    return histories


def runs_below(folder: Path) -> list[Run]:
    """The finished runs in a folder and its folders; those of a run's own (candidates of auto) do not count."""
    runs: list[Run] = []
    for file in sorted(folder.rglob("config.yaml")):
        run = Run(file.parent)
        inside = any(other.folder in run.folder.parents for other in runs)
        if not inside and is_whole(run):
            runs.append(run)
    return runs


def rows_below(folder: Path) -> tuple[list[dict[str, Any]], list[Run]]:
    """The figures of runs that somebody made, and the runs.

    Lines are their methods, with those settings by which runs of one method differ; columns are their data.
    """
    runs = runs_below(folder)
    if not runs:
        raise ValueError(f"{folder} holds no finished run: name a folder with run folders in it, or a suite.")
    everything = [run.settings for run in runs]
    lines = [_line(settings, _differing(settings, everything)) for settings in everything]
    columns = [settings.label_of_data for settings in everything]
    named = [column.partition(":")[2] or column for column in columns]
    if len(set(named)) < len(set(columns)):
        named = columns
    keys = list(zip(lines, named, (settings.seed for settings in everything), strict=True))
    rows = []
    for run, (line, column, seed) in zip(runs, keys, strict=True):
        # Two runs with everything alike are no two seeds: each gets a line, called after its folder.
        place = f" in {run.folder.relative_to(folder)}" if keys.count((line, column, seed)) > 1 else ""
        rows.append(row(run, f"{line}{place}", column, seed))
    return rows, runs


def _differing(settings: Settings, everything: list[Settings]) -> list[str]:
    """Fields that are not the same in all runs with this method and these data."""
    alike = [
        other.to_dict()
        for other in everything
        if (other.method, other.label_of_data) == (settings.method, settings.label_of_data)
    ]
    names = [name for name in alike[0] if name not in OF_THE_RUN]
    return [name for name in names if any(other[name] != alike[0][name] for other in alike)]


def _line(settings: Settings, names: list[str]) -> str:
    values = settings.to_dict()
    return ", ".join([settings.method, *(f"{name}={values[name]}" for name in names)])
