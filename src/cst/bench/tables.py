"""Rows of runs laid out as in the paper: methods as lines, tasks as columns, the paper's numbers beside ours."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cst.bench.paper import PaperTable, Printed, paper_table
from cst.bench.suite import ACCURACY, Suite
from cst.engine.metrics import metric

Row = dict[str, Any]
AVERAGE = "average"
WITHOUT_LABELS = ("verdict", "target_head_source_error")
"""What is shown of runs whose target has no labels."""
RULES = {
    "oracle_epoch_accuracy": "ORACLE: best epoch by the target's labels, as published figures often are",
    "target_accuracy": "on the unlabelled samples that were trained on (transductive)",
}
"""Other figures of the same runs, which a second table may show."""


def spread(values: list[float], show: Callable[[float], str]) -> str:
    """Mean and sample deviation; the value alone if there is one only."""
    if len(values) == 1:
        return show(values[0])
    return f"{show(statistics.mean(values))} ± {show(statistics.stdev(values))}"


def percent(value: float) -> str:
    """``0.8123`` -> ``81.2``."""
    return f"{100 * value:.1f}"


@dataclass(frozen=True)
class Figure:
    """Something that a table shows of a run.

    >>> figure("total_variation").show(0.2), figure("accuracy").show(0.2), figure("accuracy").less
    ('0.20', '20.0', False)
    """

    name: str
    label: str
    show: Callable[[float], str]
    less: bool = False
    """Whether less is better."""
    scale: float = 100.0
    """From our values to the paper's."""


def figure(name: str) -> Figure:
    """The figure of that name; an unknown one is a share."""
    if name == "milliseconds_per_step":
        return Figure(name, "CPU ms per step", lambda value: f"{value:.1f}", True, 1.0)
    if name == "total_variation":  # as a share, as the paper has it
        return Figure(name, metric(name).label, lambda value: f"{value:.2f}", True, 1.0)
    return Figure(name, metric(name).label, percent, metric(name).better == "down")


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table.

    Attributes:
        text: the mean, with the deviation where there are several runs.
        place: 1 for the best of its column, 2 for the second, 0 for others.
    """

    text: str = ""
    place: int = 0


@dataclass(frozen=True)
class Line:
    """One line: a method, or what the paper has for it."""

    label: str
    cells: tuple[Cell, ...]
    ours: bool = True


@dataclass(frozen=True)
class Table:
    """A table that can be written in any form.

    Attributes:
        heading: what it shows.
        columns: the headings, that of the lines' labels first.
        lines: from top to bottom.
        facts: sentences below it: how an epoch was chosen, seeds, backbone, what differs from the paper.
    """

    heading: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    facts: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class _Column:
    """A column of figures: of one task, or the average over all."""

    label: str
    figure: Figure
    values: dict[str, list[float]]
    """By line, one for each seed."""
    words: dict[str, list[str]] = field(default_factory=dict)

    def cells(self) -> dict[str, Cell]:
        """Text and place of each line that has values."""
        if self.figure.name == "verdict":
            return {line: Cell(_counted(words)) for line, words in self.words.items()}
        means = {line: statistics.mean(values) for line, values in self.values.items() if values}
        order = sorted({round(mean, 9) for mean in means.values()}, reverse=not self.figure.less)
        place = {mean: rank for rank, mean in enumerate(order[:2], 1)} if len(order) > 1 else {}
        return {
            line: Cell(spread(self.values[line], self.figure.show), place.get(round(mean, 9), 0))
            for line, mean in means.items()
        }


def _counted(words: Sequence[str]) -> str:
    counts = Counter(words)
    return ", ".join(word if len(words) == 1 else f"{word} {count}" for word, count in counts.most_common())


def tables_of(suite: Suite, rows: list[Row], facts: Sequence[str] = (), oracle: bool = False) -> list[Table]:
    """What the suite has to show of its rows."""
    groups = list(dict.fromkeys(row["group"] for row in rows))
    tables = []
    for group in groups:
        part = [row for row in rows if row["group"] == group]
        if suite.against:
            tables.append(with_harm(part, group, suite.against))
            continue
        tables.append(by_task(suite, part, heading=group))
        labelled = suite.figures == (ACCURACY,) and all("oracle_epoch_accuracy" in row for row in part)
        if oracle and labelled:
            differs = any(abs(row["target_accuracy"] - row["accuracy"]) > 1e-6 for row in part)
            for name in RULES if differs else ("oracle_epoch_accuracy",):
                plain = replace(suite, figures=(name,), paper=None)
                tables.append(by_task(plain, part, f"{group}, {RULES[name]}".removeprefix(", ")))
    return [replace(table, facts=tuple(facts)) for table in tables]


def by_task(suite: Suite, rows: list[Row], heading: str = "") -> Table:
    """Methods as lines, tasks as columns, the average over tasks, the cost; the paper's figures below each line."""
    lines, names = (list(dict.fromkeys(row[key] for row in rows)) for key in ("line", "column"))
    columns = _columns(suite, rows, lines, names)
    cells = {column.label: column.cells() for column in columns}
    paper = paper_table(suite.paper.table) if suite.paper else None
    written = []
    for line in lines:
        minutes = statistics.median(row["cpu_minutes"] for row in rows if row["line"] == line)
        ours = [cells[column.label].get(line, Cell()) for column in columns]
        written.append(Line(line, (*ours, Cell(f"{minutes:.1f}"))))
        if paper and suite.paper:
            written += _beside(paper, suite, line, columns)
    labels = ["method", *(column.label for column in columns), "CPU minutes a run"]
    return Table(heading, tuple(labels), tuple(written))


def _columns(suite: Suite, rows: list[Row], lines: list[str], names: list[str]) -> list[_Column]:
    shown = suite.figures
    if not any(name in row for row in rows for name in shown):
        shown = WITHOUT_LABELS
    figures = [figure(name) for name in shown]
    columns = []
    for name in names:
        for fig in figures:
            of_task = [row for row in rows if row["column"] == name and fig.name in row]
            label = " ".join([name] * (len(names) > 1 or len(figures) == 1) + [fig.label] * (len(figures) > 1))
            by_line = {line: [row[fig.name] for row in of_task if row["line"] == line] for line in lines}
            text = {line: values for line, values in by_line.items() if values} if fig.name == "verdict" else {}
            columns.append(_Column(label or fig.label, fig, {} if text else by_line, text))
    if len(names) > 1:
        for fig in figures:
            of_figure = [column for column in columns if column.figure.name == fig.name]
            label = AVERAGE + f" {fig.label}" * (len(figures) > 1)
            if fig.name != "verdict":
                columns.append(_Column(label, fig, {line: _averages(of_figure, line) for line in lines}))
    return columns


def _averages(columns: list[_Column], line: str) -> list[float]:
    """The average over tasks for each seed; of the means alone where tasks have unlike numbers of seeds."""
    values = [column.values[line] for column in columns]
    if not all(values):
        return []
    if len({len(of_task) for of_task in values}) > 1:
        return [statistics.mean(statistics.mean(of_task) for of_task in values)]
    return [statistics.mean(of_seed) for of_seed in zip(*values, strict=True)]


def _beside(paper: PaperTable, suite: Suite, line: str, columns: list[_Column]) -> list[Line]:
    """The paper's line, and by how much ours differs, where the paper has one."""
    assert suite.paper
    printed = {c.label: paper.cell(line, suite.paper.columns.get(c.label, c.label)) for c in columns}
    tasks = [printed[c.label] for c in columns if c.label != AVERAGE]
    if AVERAGE in printed and AVERAGE in paper.columns and len(tasks) < len(paper.columns) - 1:
        # Of a part of the paper's tasks: the average of what it prints for these.
        means = [cell.mean for cell in tasks if cell]
        printed[AVERAGE] = Printed(round(statistics.mean(means), 1)) if len(means) == len(tasks) else None
    if not any(printed.values()):
        return []
    lines = [Line("the paper", (*(Cell(str(printed[c.label] or "")) for c in columns), Cell()), ours=False)]
    if suite.paper.comparable:
        differences = [_difference(c, line, printed[c.label]) for c in columns]
        lines.append(Line("difference", (*(Cell(text) for text in differences), Cell()), ours=False))
    return lines


def _difference(column: _Column, line: str, printed: Printed | None) -> str:
    values = column.values.get(line)
    if not values or printed is None:
        return ""
    value = column.figure.scale * statistics.mean(values) - printed.mean
    return f"{value:+.2f}" if column.figure.scale == 1 else f"{value:+.1f}"


def with_harm(rows: list[Row], heading: str, baseline: str) -> Table:
    """Tasks as lines and methods as columns; then the average, and the most that a method lost against the baseline.

    Only tasks that every method has count for the last two; what is lost is counted for each seed.
    """
    methods, tasks = (list(dict.fromkeys(row[key] for row in rows)) for key in ("line", "column"))
    values = {
        (m, t): {row["seed"]: row[ACCURACY] for row in rows if (row["line"], row["column"]) == (m, t)}
        for m in methods
        for t in tasks
    }
    lines = []
    for task in tasks:
        column = _Column(task, figure(ACCURACY), {m: list(values[m, task].values()) for m in methods})
        cells = column.cells()
        lines.append(Line(task, tuple(cells.get(method, Cell()) for method in methods)))
    whole = [task for task in tasks if all(values[method, task] for method in methods)]
    if whole:
        columns = [_Column(t, figure(ACCURACY), {m: list(values[m, t].values()) for m in methods}) for t in whole]
        average = _Column(AVERAGE, figure(ACCURACY), {m: _averages(columns, m) for m in methods}).cells()
        lines.append(Line(f"average of {len(whole)}", tuple(average[method] for method in methods)))
    if whole and baseline in methods:
        lost = [max(_lost(values[baseline, t], values[m, t]) for t in whole) for m in methods]
        lines.append(Line(f"most lost against {baseline}", tuple(Cell(percent(loss)) for loss in lost)))
    return Table(heading, ("task", *methods), tuple(lines))


def _lost(baseline: dict[int, float], method: dict[int, float]) -> float:
    """The most at one seed."""
    return max([0.0, *(baseline[seed] - method[seed] for seed in baseline if seed in method)])
