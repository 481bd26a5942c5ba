"""How far the first choice lies ahead of the second (Section 5, Figure 5 right)."""

from __future__ import annotations

from torch import Tensor

from cst.functional import margin

BINS = 20


def margin_histogram(probs: Tensor, bins: int = BINS) -> list[float]:
    """The share of samples in each of ``bins`` equal parts of 0..1, by their margin; of probabilities [N, K].

    >>> import torch
    >>> margin_histogram(torch.tensor([[0.5, 0.5], [1.0, 0.0]]), bins=2)
    [0.5, 0.5]
    """
    margins = margin(probs.double())
    places = (margins * bins).long().clamp(0, bins - 1)
    return [float(share) for share in places.bincount(minlength=bins).double() / max(len(margins), 1)]
