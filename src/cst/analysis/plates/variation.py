"""How far pseudo-labels lie from the truth over training: their error, and the total variation below it (Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import LINES, Theme, epochs, from_zero, over_epochs, panels, sheet_of, short
from cst.analysis.plates.contract import MOST_PANELS, Absent, Plate, crowd, note, percent
from cst.analysis.shares import distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "variation", "Pseudo-labels over training", "Figure 2, middle"
MEANING = (
    "The error of pseudo-labels can never be below their total variation to the labels. Where that stays high "
    "while the error falls, some classes are given up."
)
LABELS = {
    "pseudo_label_error": "error of pseudo-labels (oracle)",
    "total_variation": "total variation to labels (oracle)",
    "total_variation_to_source": "total variation to the source",
}


def variation_curves(run: Subject) -> dict[str, list[float]]:
    """Figures of each epoch; what was not recorded is left out."""
    curves: dict[str, Any] = {name: run.records(name) for name in ("pseudo_label_error", "total_variation")}
    shares = run.records("pseudo_label_distribution")
    if shares and run.source_shares:
        curves["total_variation_to_source"] = distances(shares, run.source_shares)  # type: ignore[arg-type]
    return {name: values for name, values in curves.items() if values}


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One panel a run."""
    numbers = {run.name: variation_curves(run) for run in runs[:MOST_PANELS]}
    without = [run for run in runs[:MOST_PANELS] if "pseudo_label_error" not in numbers[run.name]]
    numbers = {name: curves for name, curves in numbers.items() if curves}
    if not numbers:
        return Absent(NAME, TITLE, "No run has recorded epochs.")
    notes = note(TITLE, without, "error and total variation are recorded in training with target_labels= only")
    text = " ".join(_words(name, curves) for name, curves in numbers.items())
    return Plate(
        NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme), crowd(TITLE, runs) + notes
    )


def _words(run: str, curves: dict[str, list[float]]) -> str:
    parts = [f"{LABELS[name]} from {percent(v[0])} to {percent(v[-1])}" for name, v in curves.items()]
    return f"{run}, first to last epoch: {', '.join(parts)}."


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    figure = sheet_of(len(numbers))
    for panel, (name, curves) in zip(panels(figure, len(numbers), sharey=True), numbers.items(), strict=True):
        for label, values in curves.items():
            dashes = LINES[list(LABELS).index(label)]
            line = [100 * value for value in values]
            colour = theme.colour(list(LABELS).index(label))
            marker = "o" if len(values) == 1 else None
            panel.plot(epochs(values), line, color=colour, linestyle=dashes, marker=marker, label=LABELS[label])
        over_epochs(panel)
        panel.set_title(short(name))
    from_zero(figure.axes, "%")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=1 + (len(numbers) > 1))
    return figure
