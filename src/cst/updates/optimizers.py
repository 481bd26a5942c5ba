"""Optimizers by name: what turns parameter groups and settings into steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch.optim import Optimizer

Groups = list[dict[str, Any]]


class Rates(Protocol):
    """The settings that an optimizer may want."""

    @property
    def lr(self) -> float:
        """Initial learning rate."""

    @property
    def momentum(self) -> float:
        """Of gradient descent."""


def sgd(groups: Groups, rates: Rates) -> Optimizer:
    """Stochastic gradient descent with momentum, the paper's."""
    import torch

    return torch.optim.SGD(groups, lr=rates.lr, momentum=rates.momentum)


def adamw(groups: Groups, rates: Rates) -> Optimizer:
    """Adam with decoupled weight decay."""
    import torch

    return torch.optim.AdamW(groups, lr=rates.lr)


OPTIMIZERS: dict[str, Callable[[Groups, Rates], Optimizer]] = {"sgd": sgd, "adamw": adamw}
"""Each group carries its own learning rate and weight decay."""
