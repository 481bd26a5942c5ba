"""Errors of pseudo-labels, and of reverse pseudo-labels: the target head's on the source (Figure 5 left)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import LINES, Theme, epochs, from_zero, over_epochs, panels, sheet_of, short
from cst.analysis.plates.contract import MOST_PANELS, Absent, Plate, crowd, note, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "round-trip", "There and back: errors of both heads", "Figure 5, left"
MEANING = (
    "A head that is fitted to the pseudo-labels of the target is tried on the source, whose labels are known. "
    "If the pseudo-labels are good, it does well there."
)
LABELS = {
    "batch_target_head_error": "target head on the source",
    "pseudo_label_error": "source head on the target (oracle)",
    "total_variation": "total variation to labels (oracle)",
}


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One panel a run."""
    numbers: dict[str, Any] = {}
    for run in runs[:MOST_PANELS]:
        curves = {name: run.records(name) for name in LABELS}
        numbers[run.name] = {name: values for name, values in curves.items() if values}
    without = [run for run in runs[:MOST_PANELS] if "pseudo_label_error" not in numbers[run.name]]
    numbers = {name: curves for name, curves in numbers.items() if curves}
    if not numbers:
        return Absent(NAME, TITLE, "No run has recorded epochs.")
    notes = note(TITLE, without, "the error on the target is recorded in training with target_labels= only")
    text = " ".join(_words(name, curves) for name, curves in numbers.items())
    return Plate(
        NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme), crowd(TITLE, runs) + notes
    )


def _words(run: str, curves: dict[str, list[float]]) -> str:
    parts = [f"{LABELS[name]} from {percent(v[0])} to {percent(v[-1])}" for name, v in curves.items()]
    return f"{run}, errors in the first and the last epoch: {', '.join(parts)}."


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    figure = sheet_of(len(numbers))
    for panel, (name, curves) in zip(panels(figure, len(numbers), sharey=True), numbers.items(), strict=True):
        for label, values in curves.items():
            place = list(LABELS).index(label)
            style: dict[str, Any] = {"color": theme.colour((2, 0, 1)[place]), "linestyle": LINES[(0, 1, 3)[place]]}
            marker = "o" if len(values) == 1 else None
            panel.plot(epochs(values), [100 * v for v in values], marker=marker, label=LABELS[label], **style)
        over_epochs(panel)
        panel.set_title(short(name))
    from_zero(figure.axes, "%")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=1 + (len(numbers) > 1))
    return figure
