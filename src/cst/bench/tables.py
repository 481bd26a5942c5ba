"""Rows of runs laid out as in the paper: methods as lines, tasks as columns, the paper's numbers beside ours."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cst.bench.paper import PaperTable, Printed, paper_table
from cst.bench.suite import ACCURACY, Beside, Suite
from cst.engine.metrics import metric

Row = dict[str, Any]
AVERAGE = "average"
VERDICT = "verdict"
WITHOUT_LABELS = (VERDICT, "target_head_source_error")
"""What is shown of runs whose target has no labels."""
ORACLE = "ORACLE: best epoch by the target's labels, as published figures often are"
TRANSDUCTIVE = "on the unlabelled samples that were trained on (transductive)"


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
    plain = metric(name.removeprefix("oracle_epoch_"))
    return Figure(name, plain.label, percent, plain.better == "down")


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
    """A column of figures: of one task, or the average over several.

    Attributes:
        label: its heading.
        figure: what it shows.
        values: by line, then by seed; words in a column of verdicts.
    """

    label: str
    figure: Figure
    values: dict[str, dict[int, Any]]

    def mean(self, line: str) -> float | None:
        """Over seeds; None where there is no run."""
        values = self.values.get(line)
        return statistics.mean(values.values()) if values else None

    def cells(self) -> dict[str, Cell]:
        """Text and place of each line that has values."""
        filled = {line: list(values.values()) for line, values in self.values.items() if values}
        if self.figure.name == VERDICT:
            return {line: Cell(_counted(words)) for line, words in filled.items()}
        means = {line: round(statistics.mean(values), 9) for line, values in filled.items()}
        order = sorted(set(means.values()), reverse=not self.figure.less)
        place = {mean: rank for rank, mean in enumerate(order[:2], 1)} if len(order) > 1 else {}
        return {line: Cell(spread(filled[line], self.figure.show), place.get(means[line], 0)) for line in filled}


def _counted(words: Sequence[str]) -> str:
    counts = Counter(words)
    return ", ".join(word if len(words) == 1 else f"{word} {count}" for word, count in counts.most_common())


def tables_of(suite: Suite, rows: list[Row], facts: Sequence[str] = (), oracle: bool = False) -> list[Table]:
    """What the suite has to show of its rows; with ``oracle``, the best epochs by target labels in a table apart."""
    tables = []
    for group in dict.fromkeys(row["group"] for row in rows):
        part = [row for row in rows if row["group"] == group]
        tables.append(_laid_out(suite, part, group))
        main = next((name for name in suite.figures if any(f"oracle_epoch_{name}" in row for row in part)), None)
        if oracle and main:
            others = {f"oracle_epoch_{main}": ORACLE}
            if any(abs(row.get("target_accuracy", 0) - row.get(ACCURACY, 0)) > 1e-6 for row in part):
                others["target_accuracy"] = TRANSDUCTIVE
            for name, words in others.items():
                with_it = [row for row in part if name in row]
                plain = replace(suite, figures=(name,), paper=None)
                tables.append(_laid_out(plain, with_it, f"{group}, {words}".removeprefix(", ")))
    return [replace(table, facts=tuple(facts)) for table in tables]


def _laid_out(suite: Suite, rows: list[Row], heading: str) -> Table:
    if suite.against and any(suite.figures[0] in row for row in rows):
        return with_harm(rows, heading, suite.against, suite.figures[0])
    return by_task(suite, rows, heading)


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
            written += _beside(paper, suite.paper, line, columns)
    labels = ["method", *(column.label for column in columns), "CPU minutes a run"]
    return Table(heading, tuple(labels), tuple(written))


def _columns(suite: Suite, rows: list[Row], lines: list[str], names: list[str]) -> list[_Column]:
    """Those of every task, of its verdict where it has no labels; then the averages over tasks that have."""
    columns, labelled = [], []
    for name in names:
        of_task = [row for row in rows if row["column"] == name]
        shown = suite.figures if any(figure in row for row in of_task for figure in suite.figures) else WITHOUT_LABELS
        labelled += [name] * (shown == suite.figures)
        for fig in map(figure, shown):
            label = " ".join([name] * (len(names) > 1 or len(shown) == 1) + [fig.label] * (len(shown) > 1))
            columns.append(_column(label or fig.label, fig, of_task, lines))
    for fig in map(figure, suite.figures if len(labelled) > 1 else ()):
        of_figure = [column for column in columns if column.figure.name == fig.name]
        count = "" if len(labelled) == len(names) else f" of {len(labelled)} with labels"
        label = AVERAGE + count + f" {fig.label}" * (len(suite.figures) > 1)
        columns.append(_Column(label, fig, {line: averages(of_figure, line) for line in lines}))
    return columns


def _column(label: str, fig: Figure, rows: list[Row], lines: list[str]) -> _Column:
    values = {
        line: {row["seed"]: row[fig.name] for row in rows if row["line"] == line and fig.name in row} for line in lines
    }
    return _Column(label, fig, values)


def averages(columns: list[_Column], line: str) -> dict[int, float]:
    """The average over tasks for each seed; of the means alone where tasks do not have the same seeds."""
    values = [column.values[line] for column in columns]
    if not values or not all(values):
        return {}
    if len({frozenset(of_task) for of_task in values}) > 1:
        return {-1: statistics.mean(statistics.mean(of_task.values()) for of_task in values)}
    return {seed: statistics.mean(of_task[seed] for of_task in values) for seed in values[0]}


def _beside(paper: PaperTable, beside: Beside, line: str, columns: list[_Column]) -> list[Line]:
    """The paper's line, and by how much ours differs, where the paper has one."""
    printed = {c.label: paper.cell(line, beside.columns.get(c.label, c.label)) for c in columns}
    if AVERAGE in printed and AVERAGE in paper.columns:
        printed[AVERAGE] = _average_of_the_same(paper, line, [c.label for c in columns if c.label != AVERAGE])
    if not any(printed.values()):
        return []
    lines = [Line("the paper", (*(Cell(str(printed[c.label] or "")) for c in columns), Cell()), ours=False)]
    if beside.comparable:
        differences = [_difference(c, line, printed[c.label]) for c in columns]
        lines.append(Line("difference", (*(Cell(text) for text in differences), Cell()), ours=False))
    return lines


def _average_of_the_same(paper: PaperTable, line: str, tasks: list[str]) -> Printed | None:
    """What the paper prints, if our tasks are its own; the average of its cells, if they are some of them."""
    if set(tasks) == set(paper.columns) - {AVERAGE}:
        return paper.cell(line, AVERAGE)
    cells = [paper.cell(line, task) for task in tasks]
    means = [cell.mean for cell in cells if cell]
    return Printed(round(statistics.mean(means), 1)) if means and len(means) == len(tasks) else None


def _difference(column: _Column, line: str, printed: Printed | None) -> str:
    mean = column.mean(line)
    if mean is None or printed is None:
        return ""
    value = column.figure.scale * mean - printed.mean
    return f"{value:+.2f}" if column.figure.scale == 1 else f"{value:+.1f}"


def with_harm(rows: list[Row], heading: str, baseline: str, name: str = ACCURACY) -> Table:
    """Tasks as lines and methods as columns; then the average, and the most that a method lost against the baseline.

    Only tasks that every method has count for the last two; what is lost is counted for each seed.
    """
    rows = [row for row in rows if name in row]
    methods, tasks = (list(dict.fromkeys(row[key] for row in rows)) for key in ("line", "column"))
    columns = [_column(task, figure(name), [row for row in rows if row["column"] == task], methods) for task in tasks]
    lines = [_across(column.label, column, methods) for column in columns]
    whole = [column for column in columns if all(column.values[method] for method in methods)]
    if whole:
        average = _Column(AVERAGE, figure(name), {method: averages(whole, method) for method in methods})
        lines.append(_across(f"average of {len(whole)}", average, methods))
    if whole and baseline in methods:
        lost = [_most_lost(whole, baseline, method) for method in methods]
        cells = tuple(Cell("" if loss is None else percent(loss)) for loss in lost)
        lines.append(Line(f"most lost against {baseline}", cells))
    return Table(heading, ("task", *methods), tuple(lines))


def _across(label: str, column: _Column, methods: list[str]) -> Line:
    cells = column.cells()
    return Line(label, tuple(cells.get(method, Cell()) for method in methods))


def _most_lost(columns: list[_Column], baseline: str, method: str) -> float | None:
    """At one seed, on one task; None where no seed is common to both."""
    losses = [
        column.values[baseline][seed] - value
        for column in columns
        for seed, value in column.values[method].items()
        if seed in column.values[baseline]
    ]
    return max(0.0, *losses) if losses else None
