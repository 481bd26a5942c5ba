"""The plain rule: one gradient, one step of the optimizer."""

from __future__ import annotations

from torch import Tensor

from cst.terms.contract import Step
from cst.updates.contract import Objective, Update


class Plain(Update):
    """One step of the optimizer on the sum of all terms.

    Args:
        optimizer: takes the step.
        backward: differentiates a loss, a scalar.

    At 3 the gradient of ``w^2`` is 6, and a rate of 0.25 takes 1.5 away.

    >>> import torch
    >>> from cst.terms.example import example_step
    >>> weight = torch.tensor(3.0, requires_grad=True)
    >>> update = Plain(torch.optim.SGD([weight], lr=0.25), lambda loss: loss.backward())
    >>> losses = update.take(lambda step: {"total": weight**2}, example_step())
    >>> weight.item(), losses["total"].item()
    (1.5, 9.0)
    """

    def take(self, objective: Objective, step: Step) -> dict[str, Tensor]:
        """Differentiate the total and step; returns the losses, scalars."""
        self.optimizer.zero_grad()
        losses = objective(step)
        self.backward(losses["total"])
        self.optimizer.step()
        return losses
