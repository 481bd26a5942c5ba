"""The plain rule: one gradient, one step of the optimizer."""

from __future__ import annotations

from torch import Tensor

from cst.terms.contract import Step
from cst.updates.contract import Objective, Update


class Plain(Update):
    """Stochastic gradient descent on the sum of all terms."""

    def take(self, objective: Objective, step: Step) -> dict[str, Tensor]:
        """Differentiate the total and step."""
        self.optimizer.zero_grad()
        losses = objective(step)
        self.backward(losses["total"])
        self.optimizer.step()
        return losses
