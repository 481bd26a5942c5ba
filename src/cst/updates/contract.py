"""What an update rule has at hand and what it must do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from cst.terms.contract import Step


class Objective(Protocol):
    """The weighted sum of a method's terms; any function of a step that returns scalars will do.

    >>> from cst.terms.example import example_step
    >>> objective: Objective = lambda step: {"total": step.target.logits.square().mean()}
    >>> list(objective(example_step()))
    ['total']
    """

    def __call__(self, step: Step) -> dict[str, Tensor]:
        """The loss of each term, a scalar, and their weighted sum under ``"total"``."""


class Update:
    """A rule that turns an objective into a change of the parameters.

    Args:
        optimizer: takes the step.
        backward: differentiates a loss, a scalar.

    What a rule does stands in its ``take``; the base class has none.

    >>> from cst.terms.example import example_step
    >>> update = Update(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1), lambda loss: loss.backward())
    >>> update.take(lambda step: {}, example_step())
    Traceback (most recent call last):
    TypeError: Update does not say how a step is taken: give it a take.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, backward: Callable[[Tensor], None]) -> None:
        self.optimizer, self.backward = optimizer, backward

    def take(self, objective: Objective, step: Step) -> dict[str, Tensor]:
        """Take one step and return the losses, scalars, at the weights where it began."""
        raise TypeError(f"{type(self).__name__} does not say how a step is taken: give it a take.")
