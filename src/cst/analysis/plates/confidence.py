"""Margins between the first and the second choice: is a model over-confident? (Figure 5 right)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import Theme, legend, line, sheet, short
from cst.analysis.margins import BINS, margin_histogram
from cst.analysis.plates.contract import Absent, Plate, lack, note, percent
from cst.analysis.shares import rounded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "margins", "Margins of the target's predictions", "Figure 5, right"
MEANING = (
    "Left: two classes are close. Right: the first is far ahead. If nearly all samples lie at the right end, "
    "wrong pseudo-labels can hardly be corrected."
)


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One line a run."""
    drawn = [run for run in runs if run.predictions is not None and len(run.classes) > 1]
    without = [run for run in runs if run not in drawn]
    what = "neither the data nor predictions are left"
    if not drawn:
        return Absent(NAME, TITLE, lack(without, what))
    shares = {run.name: rounded(margin_histogram(run.predictions.raw_probs)) for run in drawn if run.predictions}
    edges = rounded([place / BINS for place in range(BINS + 1)])
    words = [f"{name}: {percent(values[-1])}" for name, values in shares.items()]
    text = (
        "Difference of the largest and the second largest softmax score of each target sample. Share with a margin "
        f"above {1 - 1 / BINS:g}: {'; '.join(words)}."
    )
    numbers = {"edges": edges, "shares": shares}
    return Plate(
        NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme), note(TITLE, without, what)
    )


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    figure = sheet()
    panel = figure.subplots()
    several = len(numbers["shares"]) > 1
    for place, (name, values) in enumerate(numbers["shares"].items()):
        heights = [100 * value for value in values]
        if not several:
            panel.stairs(heights, numbers["edges"], fill=True, color=theme.colour(place), alpha=0.25)
        panel.stairs(heights, numbers["edges"], label=short(name), linewidth=1.7, **line(theme, place))
    panel.set(xlabel="largest minus second largest softmax score", ylabel="% of the target", xlim=(0, 1))
    panel.grid(axis="x", visible=False)
    panel.set_yscale("symlog", linthresh=1)
    panel.set_yticks([0, 1, 10, 100], ["0", "1", "10", "100"])
    legend(panel, "upper left")
    return figure
