"""What an update rule has at hand and what it must do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from cst.terms.contract import Step


class Objective(Protocol):
    """The weighted sum of a method's terms."""

    def __call__(self, step: Step) -> dict[str, Tensor]:
        """The loss of each term, and their weighted sum under ``"total"``."""


class Update:
    """A rule that turns an objective into a change of the parameters."""

    def __init__(self, optimizer: torch.optim.Optimizer, backward: Callable[[Tensor], None]) -> None:
        self.optimizer, self.backward = optimizer, backward

    def take(self, objective: Objective, step: Step) -> dict[str, Tensor]:
        """Take one step and return the losses at the weights where it began."""
        raise TypeError(f"{type(self).__name__} does not say how a step is taken: give it a take.")
