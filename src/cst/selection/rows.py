"""Rows of large matrices: those that are numbers, a block at a time, an even part of them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

BLOCK = 2048
"""Rows that are worked on at once."""


def finite(values: Tensor, name: str) -> Tensor:
    """The values as floats of at least 32 bits and without gradient, if there are any and all are numbers.

    >>> finite(torch.tensor([[1, 2]]), "target_logits")
    tensor([[1., 2.]])
    """
    if len(values) == 0:
        raise ValueError(f"{name} has no rows: a validator needs at least one sample of each domain.")
    values = values.detach().to(torch.promote_types(values.dtype, torch.float32))
    if not bool(torch.isfinite(values.sum())) and not bool(torch.isfinite(values).all()):
        raise ValueError(f"{name} has values that are not finite: the model's weights or inputs are broken.")
    return values


def probabilities(logits: Tensor, name: str) -> Tensor:
    """Softmax of finite logits [M, K] in float64.

    >>> probabilities(torch.zeros(1, 2), "target_logits")
    tensor([[0.5000, 0.5000]], dtype=torch.float64)
    """
    return finite(logits, name).double().softmax(-1)


def labels_of(logits: Tensor, name: str) -> Tensor:
    """The class [M] of the largest of finite logits [M, K].

    >>> labels_of(torch.tensor([[0.1, 2.0, 0.3]]), "target_logits")
    tensor([1])
    """
    return finite(logits, name).argmax(-1)


def blocks(values: Tensor, size: int = BLOCK) -> Iterator[Tensor]:
    """The rows in order, ``size`` at a time.

    >>> [len(block) for block in blocks(torch.zeros(5, 1), size=2)]
    [2, 2, 1]
    """
    for first in range(0, len(values), size):
        yield values[first : first + size]


def evenly(count: int, most: int) -> Tensor:
    """At most so many places among ``count``, at even distances; all of them where there are no more.

    >>> evenly(7, most=3), evenly(2, most=3)
    (tensor([0, 2, 4]), tensor([0, 1]))
    """
    kept = min(count, most)
    return torch.arange(kept) * count // max(kept, 1)


def shares(labels: Tensor, num_classes: int) -> Tensor:
    """Of each class among labels [N]: [K].

    >>> shares(torch.tensor([0, 0, 1, 0]), num_classes=3)
    tensor([0.7500, 0.2500, 0.0000], dtype=torch.float64)
    """
    return labels.long().bincount(minlength=num_classes).double() / len(labels)
