"""The shares of classes, and what they say of the error without a single comparison of labels (Appendix C.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from cst.engine.metrics import distribution
from cst.functional import total_variation


def least_error(pseudo_labels: Tensor, labels: Tensor, num_classes: int) -> float:
    """The least error that pseudo-labels with such shares of classes can have: ``d_TV(c, c') <= P(y' != y)``.

    Whatever sample each label belongs to, where pseudo-labels give a class ``c - c'`` too few, so many samples of it
    have another label. The bound is reached: some order of the same pseudo-labels has exactly this error.

    Args:
        pseudo_labels: integers [N].
        labels: the truth [N].
        num_classes: K.

    >>> least_error(torch.tensor([0, 0, 0, 1]), torch.tensor([0, 1, 0, 1]), 2)
    0.25
    """
    return float(total_variation(distribution(pseudo_labels, num_classes), distribution(labels, num_classes)))


def distances(shares: Sequence[Sequence[float]], reference: Sequence[float]) -> list[float]:
    """The total variation of each row of shares and a reference.

    >>> distances([[1.0, 0.0], [0.5, 0.5]], [0.5, 0.5])
    [0.5, 0.0]
    """
    rows = torch.as_tensor(shares, dtype=torch.float64)
    return rounded(total_variation(rows, torch.as_tensor(reference, dtype=torch.float64)))


def rounded(values: Any, digits: int = 6) -> list[Any]:
    """Numbers of any array as plain numbers, which JSON can hold.

    >>> rounded(torch.tensor([1 / 3, 1.0]))
    [0.333333, 1.0]
    """
    return [
        rounded(value, digits) if isinstance(value, list) else round(float(value), digits)
        for value in torch.as_tensor(values, dtype=torch.float64).tolist()
    ]
