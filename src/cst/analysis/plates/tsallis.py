"""Tsallis entropy of a binary problem for some alphas (Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from cst.analysis.drawing import DARK, Theme, sheet
from cst.analysis.plates.contract import Plate
from cst.analysis.shares import rounded
from cst.functional import tsallis_entropy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

NAME, TITLE, PAPER = "tsallis", "Tsallis entropy of two classes", "Figure 3"
MEANING = "The larger alpha, the weaker the push away from an even choice between two classes."
SHOWN = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


def binary_entropies(alphas: Sequence[float] = SHOWN, points: int = 101) -> dict[str, Any]:
    """The probability of one of two classes, and the entropy for each alpha.

    >>> round(binary_entropies([2.0], points=3)["entropy"]["2.0"][1], 6)
    0.5
    """
    first = torch.linspace(0, 1, points, dtype=torch.float64)
    probs = torch.stack([first, 1 - first], 1)
    return {
        "probability": rounded(first),
        "entropy": {f"{alpha:.1f}": rounded(tsallis_entropy(probs, alpha)) for alpha in alphas},
    }


def plate(runs: Sequence[Subject]) -> Plate:
    """The same for all runs."""
    numbers = binary_entropies()
    tops = ", ".join(f"{max(values):.2f} for alpha {alpha}" for alpha, values in numbers["entropy"].items())
    text = (
        "Entropy against the probability of the first of two classes, an arch that is 0 at both ends and highest at "
        f"one half: {tops}. The larger alpha, the flatter the arch, and the weaker the push away from one half."
    )
    return Plate(NAME, TITLE, PAPER, MEANING, text, numbers, lambda theme: _draw(numbers, theme))


def _draw(numbers: dict[str, Any], theme: Theme) -> Figure:
    from matplotlib import colormaps

    figure = sheet()
    panel = figure.subplots()
    shades = colormaps["viridis"]
    dark = theme is DARK
    for place, (alpha, values) in enumerate(numbers["entropy"].items()):
        share = place / (len(numbers["entropy"]) - 1)
        colour = shades(0.25 + 0.7 * share if dark else 0.85 * share)
        name = f"alpha {alpha}" + {"1.0": " (Gibbs)", "2.0": " (Gini)"}.get(alpha, "")
        panel.plot(numbers["probability"], values, color=colour, label=name)
    panel.set(xlabel="probability of the first class", ylabel="entropy", ylim=(0, None))
    panel.legend(loc="lower center")
    return figure
