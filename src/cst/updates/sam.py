"""Sharpness-aware minimisation (Foret et al., 2021) and its adaptive form (Kwon et al., 2021)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from cst.terms.contract import Step
from cst.updates.contract import Objective, Update


class SharpnessAware(Update):
    """Descend with the gradient taken at the worst nearby weights.

    ``w + e`` with ``e = rho g / ||g||``; adaptive: ``e = rho w^2 g / || |w| g ||``, where the
    neighbourhood scales with each weight. Everything is computed anew at the perturbed weights,
    pseudo-labels too.

    Args:
        optimizer: takes the final step.
        backward: differentiates a loss, a scalar.
        rho: radius of the neighbourhood; 0.05, or 0.5 in the adaptive form, if left out.
        adaptive: use the adaptive form.
        track: let the passes at the perturbed weights update the running statistics of batch norm too, as a plain
            training-mode pass does.

    From 3 the way up ``w^2`` leads to 4 for a radius of one, where the gradient is 8; that of the descent from 3.

    >>> from cst.terms.example import example_step
    >>> weight = torch.tensor(3.0, requires_grad=True)
    >>> update = SharpnessAware(torch.optim.SGD([weight], lr=0.25), lambda loss: loss.backward(), rho=1.0)
    >>> losses = update.take(lambda step: {"total": weight**2}, example_step())
    >>> round(weight.item(), 4), losses["total"].item()
    (1.0, 9.0)
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        backward: Callable[[Tensor], None],
        rho: float | None = None,
        adaptive: bool = False,
        track: bool = False,
    ) -> None:
        super().__init__(optimizer, backward)
        self.rho = rho if rho is not None else 0.5 if adaptive else 0.05
        self.adaptive, self.track = adaptive, track

    def take(self, objective: Objective, step: Step) -> dict[str, Tensor]:
        """Climb, differentiate, return, descend; returns the losses, scalars, before the climb."""
        self.optimizer.zero_grad()
        losses = objective(step)
        self.backward(losses["total"])
        before = self._climb()
        self.optimizer.zero_grad()
        self.backward(objective(step.again(track=self.track))["total"])
        with torch.no_grad():
            for weight, value in before:
                weight.copy_(value)
        self.optimizer.step()
        return losses

    @torch.no_grad()
    def _climb(self) -> list[tuple[Tensor, Tensor]]:
        """Move to the worst nearby weights and return the present ones."""
        groups = self.optimizer.param_groups
        weights = [w for group in groups for w in group["params"] if w.grad is not None]
        scales = [w.abs() if self.adaptive else torch.ones_like(w) for w in weights]
        scaled = [scale * w.grad for w, scale in zip(weights, scales, strict=True)]
        norm = torch.stack([g.norm() for g in scaled]).norm().clamp_min(1e-12)
        before = [(w, w.clone()) for w in weights]
        for weight, scale, gradient in zip(weights, scales, scaled, strict=True):
            weight.add_(scale * gradient, alpha=self.rho / float(norm))
        return before
