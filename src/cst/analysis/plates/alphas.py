"""The alpha that was selected at the start of every epoch (Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import Theme, epochs, legend, line, over_epochs, sheet, short
from cst.analysis.plates.contract import Absent, Plate, lack, note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "alpha", "Alpha over training", "Figure 6"
MEANING = "A smaller alpha penalises doubt more. It is chosen anew in every epoch, without labels of the target."


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One line a run."""
    curves = {run.name: run.records("alpha") for run in runs}
    without = [run for run in runs if not curves[run.name]]
    what = "the method has no term with an alpha"
    numbers = {name: values for name, values in curves.items() if values}
    if not numbers:
        return Absent(NAME, TITLE, lack(without, what))
    words = [f"{name} from {v[0]:g} to {v[-1]:g}, at most {max(v):g}" for name, v in numbers.items()]
    text = f"Entropic index from the first to the last epoch: {'; '.join(words)}."
    return Plate(
        NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme), note(TITLE, without, what)
    )


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    figure = sheet(height=2.9)
    panel = figure.subplots()
    for place, (name, values) in enumerate(numbers.items()):
        panel.plot(epochs(values), values, marker="o", markersize=3.5, label=short(name), **line(theme, place))
    over_epochs(panel)
    panel.set(ylabel="selected alpha", ylim=(0.95, 2.05))
    legend(panel)
    return figure
