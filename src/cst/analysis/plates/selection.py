"""Confidence and entropy as criteria for telling right from wrong pseudo-labels (Figure 2 right, Appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import Theme, legend, line, panels, sheet, short
from cst.analysis.plates.contract import Absent, Plate, lack, note
from cst.analysis.roc import Roc, criteria, roc
from cst.analysis.shares import rounded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "roc", "Telling right from wrong pseudo-labels", "Figure 2, right; Appendix C.1"
MEANING = (
    "How many right pseudo-labels are kept, against how many wrong ones, as the threshold falls. On the "
    "dotted diagonal a criterion knows nothing."
)


def roc_curves(run: Subject) -> dict[str, Roc] | None:
    """A curve for each criterion; ``None`` without labels, or where all pseudo-labels are right, or none."""
    predictions = run.predictions
    if predictions is None or predictions.labels is None:
        return None
    known = predictions.known
    right = (predictions.pseudo_labels == predictions.labels)[known]
    curves = {name: roc(scores, right) for name, scores in criteria(predictions.raw_probs[known]).items()}
    return {name: curve for name, curve in curves.items() if curve is not None} or None


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One line a run; with several, one panel a criterion."""
    curves = {run.name: roc_curves(run) for run in runs}
    without = [run for run in runs if curves[run.name] is None]
    why = "it takes labels of the target, and right and wrong pseudo-labels among them"
    drawn = {name: by_criterion for name, by_criterion in curves.items() if by_criterion}
    if not drawn:
        return Absent(NAME, TITLE, lack(without, why))
    numbers: dict[str, Any] = {
        name: {
            criterion: {
                "auc": round(curve.area, 6),
                "false_positive_rate": rounded(curve.thinned().false_positives, 4),
                "true_positive_rate": rounded(curve.thinned().true_positives, 4),
            }
            for criterion, curve in by_criterion.items()
        }
        for name, by_criterion in drawn.items()
    }
    areas = {run: [f"{name} {curve['auc']:.3f}" for name, curve in by.items()] for run, by in numbers.items()}
    words = [f"{run}: {', '.join(of_run)}" for run, of_run in areas.items()]
    text = f"Area under the ROC curve, 0.5 for chance and 1 for perfect. {'; '.join(words)}."
    notes = note(TITLE, without, why)
    return Plate(NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme), notes)


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    several = len(numbers) > 1
    figure = sheet(1 + several, height=3.8)
    axes = panels(figure, 1 + several)
    for place, (run, by_criterion) in enumerate(numbers.items()):
        for number, (criterion, curve) in enumerate(by_criterion.items()):
            panel = axes[number * several]
            style = place if several else number
            panel.plot(
                *(curve["false_positive_rate"], curve["true_positive_rate"]),
                **line(theme, style),
                label=f"{short(run) if several else criterion}, AUC {curve['auc']:.2f}",
            )
            panel.set_title(criterion.capitalize() if several else short(run))
    for panel in axes:
        panel.plot([0, 1], [0, 1], color=theme.ink, linewidth=0.7, linestyle=":", zorder=0)
        panel.set(xlabel="false positives: wrong ones kept", ylabel="true positives: right ones kept")
        panel.set_box_aspect(1)
        legend(panel, "lower right")
    return figure
