"""AFN: features whose norm grows step by step (Xu et al., 2019)."""

from __future__ import annotations

from torch import Tensor

from cst.terms.contract import Problem, Step, Term


class AFN(Term):
    """``E (||z|| - (||z||_before + step))^2`` on both domains: every norm is asked to grow by ``step``."""

    def __init__(self, problem: Problem, step: float = 1.0) -> None:
        super().__init__(problem)
        self.step = step

    def forward(self, step: Step) -> Tensor:
        """The sum over the two domains."""
        return self._grow(step.source.features) + self._grow(step.target.features)

    def _grow(self, features: Tensor) -> Tensor:
        norms = features.norm(dim=1)
        loss: Tensor = (norms - (norms.detach() + self.step)).square().mean()
        return loss
