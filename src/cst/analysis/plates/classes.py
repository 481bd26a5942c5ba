"""The shares of classes among pseudo-labels, labels and the source (Figure 2 left, Appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cst.analysis.drawing import Theme, panels, sheet_of, short
from cst.analysis.plates.contract import MOST_PANELS, Absent, Plate, crowd, note, percent
from cst.analysis.shares import rounded
from cst.engine.metrics import distribution
from cst.functional import total_variation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "classes", "Classes among pseudo-labels", "Figure 2, left; Appendix C.1"
MEANING = (
    "Bars of one height mean that pseudo-labels keep the balance of the classes. A class that grew took "
    "samples from others, and half the sum of all differences, the total variation, is the least error that "
    "is possible."
)
MOST_NAMES = 20
"""Classes whose names fit below a panel."""
KINDS = {"pseudo-labels": 0, "labels (oracle)": 1, "source": 6}
"""What is shown beside each other, and the place of its colour."""


def class_shares(run: Subject) -> dict[str, list[float]]:
    """The share of each class, by where it was counted; what is not known is left out."""
    import torch

    shares: dict[str, Any] = {"pseudo-labels": run.predicted_shares}
    predictions = run.predictions
    if predictions is not None and predictions.labels is not None:
        known = predictions.known
        shares["pseudo-labels"] = distribution(predictions.pseudo_labels[known], len(run.classes))
        shares["labels (oracle)"] = distribution(predictions.labels[known], len(run.classes))
    shares["source"] = run.source_shares
    return {name: rounded(torch.as_tensor(values)) for name, values in shares.items() if values is not None}


def plate(runs: Sequence[Subject]) -> Plate | Absent:
    """One panel a run."""
    left_out = crowd(TITLE, runs)
    shares = {run.name: class_shares(run) for run in runs[:MOST_PANELS]}
    runs = [run for run in runs[:MOST_PANELS] if "pseudo-labels" in shares[run.name]]
    if not runs:
        return Absent(NAME, TITLE, "No run has recorded pseudo-labels.")
    numbers: dict[str, Any] = {run.name: {"classes": list(run.classes), "shares": shares[run.name]} for run in runs}
    for entry in numbers.values():
        entry["total_variation"] = _variations(entry["shares"])
    without = [run for run in runs if "labels (oracle)" not in shares[run.name]]
    text = "Shares of the classes. " + " ".join(_words(name, entry) for name, entry in numbers.items())
    notes = note(TITLE, without, "the true shares need labels of the target, and there are none at hand")
    return Plate(NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme), left_out + notes)


def _variations(shares: dict[str, list[float]]) -> dict[str, float]:
    """How far the pseudo-labels' shares lie from the others."""
    import torch

    first, *others = (torch.tensor(values, dtype=torch.float64) for values in shares.values())
    names = list(shares)[1:]
    return {name: round(float(total_variation(first, other)), 6) for name, other in zip(names, others, strict=True)}


def _words(name: str, entry: dict[str, Any]) -> str:
    first = entry["shares"]["pseudo-labels"]
    most, least = int(np.argmax(first)), int(np.argmin(first))
    classes = entry["classes"]
    apart = "".join(f", total variation to {other} {value:.2f}" for other, value in entry["total_variation"].items())
    return (
        f"{name}: most pseudo-labels for {short(classes[most])} ({percent(first[most])}), fewest for "
        f"{short(classes[least])} ({percent(first[least])}){apart}."
    )


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    figure = sheet_of(len(numbers))
    for panel, (name, entry) in zip(panels(figure, len(numbers)), numbers.items(), strict=True):
        draw_shares(panel, entry["classes"], entry["shares"], theme)
        variation = next(iter(entry["total_variation"].items()), None)
        words = f"\ntotal variation to {variation[0]}: {variation[1]:.2f}" if variation else ""
        panel.set_title(f"{short(name, 36)}{words}")
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3)
    return figure


def draw_shares(panel: Axes, classes: Sequence[str], shares: dict[str, list[float]], theme: Theme) -> None:
    """Bars of each class side by side; where there are many classes, steps, from the most frequent on."""
    panel.set_ylabel("% of samples")
    panel.grid(axis="x", visible=False)
    if len(classes) > MOST_NAMES:
        _draw_steps(panel, shares, theme)
        return
    places, width = np.arange(len(classes)), 0.8 / len(shares)
    for number, (kind, values) in enumerate(shares.items()):
        offset = (number - (len(shares) - 1) / 2) * width
        panel.bar(places + offset, 100 * np.asarray(values), width, color=theme.colour(KINDS[kind]), label=kind)
    names = [short(name, 12) for name in classes]
    slanted = max(map(len, names)) * len(names) > 24
    panel.set_xticks(places, names, rotation=40 if slanted else 0, ha="right" if slanted else "center")


def _draw_steps(panel: Axes, shares: dict[str, list[float]], theme: Theme) -> None:
    """What pseudo-labels are compared with as a ground, in falling order; the others as lines before it."""
    reference = next((kind for kind in list(KINDS)[1:] if kind in shares), "pseudo-labels")
    order = np.argsort(-np.asarray(shares[reference]), kind="stable")
    for kind, values in shares.items():
        heights, colour = 100 * np.asarray(values)[order], theme.colour(KINDS[kind])
        ground = kind == reference and len(shares) > 1
        dashes = ":" if kind == "source" and not ground else "-"
        panel.stairs(heights, color=colour, fill=ground, alpha=0.35 if ground else 1, linestyle=dashes, label=kind)
    panel.set_xlabel(f"classes, by their share in the {reference}")
    panel.set_ylim(bottom=0)
