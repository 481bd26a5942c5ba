"""AFN: features whose norm grows step by step (Xu et al., 2019)."""

from __future__ import annotations

from torch import Tensor

from cst.terms.contract import Step, Term


class AFN(Term):
    """``E (||z|| - (||z||_before + step))^2`` on both domains: every norm is asked to grow by ``step``.

    Args:
        step: by how much.

    The norm before is a constant with the value of the norm itself, so the loss is ``2 step^2`` at any weights; what
    it does lies in its gradient.

    >>> from cst.terms.example import loss_on_example
    >>> round(loss_on_example(AFN(step=2.0)), 3)
    8.0
    """

    def __init__(self, step: float = 1.0) -> None:
        super().__init__()
        self.step = step

    def forward(self, step: Step) -> Tensor:
        """The sum over the two domains, a scalar, of features [N, d] each."""
        return self._grow(step.source.features) + self._grow(step.target.features)

    def _grow(self, features: Tensor) -> Tensor:
        norms = features.norm(dim=1)
        loss: Tensor = (norms - (norms.detach() + self.step)).square().mean()
        return loss
