"""Alternate between heads and backbone, as maximum classifier discrepancy does (Saito et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from cst.terms.contract import Step
from cst.updates.contract import Objective, Update


class Alternating(Update):
    """Three phases a step: everything on the source; the heads; the backbone, several times.

    Args:
        optimizer: its groups carry a ``role``, ``"backbone"`` or ``"heads"``.
        backward: differentiates a loss, a scalar.
        repeats: how often the backbone's phase is taken.

    >>> from cst.terms.example import example_step
    >>> step, phases = example_step(), []
    >>> def objective(step):
    ...     phases.append(step.phase)
    ...     return {"total": step.target.logits.square().mean()}
    >>> roles = {"backbone": step.network.backbone, "heads": step.network.head}
    >>> groups = [{"role": role, "params": list(part.parameters())} for role, part in roles.items()]
    >>> update = Alternating(torch.optim.SGD(groups, lr=0.1), lambda loss: loss.backward(), repeats=2)
    >>> list(update.take(objective, step)), phases
    (['total', 'discrepancy'], ['all', 'heads', 'features', 'features'])
    """

    def __init__(self, optimizer: torch.optim.Optimizer, backward: Callable[[Tensor], None], repeats: int = 4) -> None:
        super().__init__(optimizer, backward)
        if repeats < 1:
            raise ValueError(f"alternating: repeats must be at least 1, got {repeats}.")
        self.repeats = repeats

    def take(self, objective: Objective, step: Step) -> dict[str, Tensor]:
        """All, heads, backbone; returns the losses, scalars, of the first and the total of the last."""
        losses = self._phase(objective, step)
        self._phase(objective, step.again("heads"), frozen="backbone")
        for _ in range(self.repeats):
            last = self._phase(objective, step.again("features"), frozen="heads")
        return {**losses, "discrepancy": last["total"]}

    def _phase(self, objective: Objective, step: Step, frozen: str | None = None) -> dict[str, Tensor]:
        self.optimizer.zero_grad()
        losses = objective(step)
        self.backward(losses["total"])
        for group in self.optimizer.param_groups:
            if group["role"] == frozen:
                for weight in group["params"]:
                    weight.grad = None
        self.optimizer.step()
        return losses
