"""``L_P(theta_t(phi), phi)`` of equation 6: the pseudo-labels' way back to the source."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from cst.functional import pseudo_labels, reverse_loss
from cst.terms.contract import Problem, Step, Term


class Cycle(Term):
    """Forward step and reverse step of Algorithm 1 on one batch.

    Its gradient reaches the features only: the pseudo-labels are constants, so the source head
    learns nothing from it, as in equations 7 and 8.
    """

    def __init__(
        self,
        problem: Problem,
        l2: float = 1e-3,
        normalize: bool = False,
        bias: bool = False,
        centred: bool = False,
    ) -> None:
        super().__init__(problem)
        if l2 <= 0:
            raise ValueError(f"cycle: l2 must be positive, got {l2}.")
        self.l2, self.normalize, self.bias, self.centred = l2, normalize, bias, centred

    def options(self) -> dict[str, Any]:
        """How the target head is fitted."""
        return {"l2": self.l2, "normalize": self.normalize, "bias": self.bias, "centred": self.centred}

    def forward(self, step: Step) -> Tensor:
        """The reverse loss."""
        return reverse_loss(
            step.source.features,
            step.labels,
            step.target.features,
            pseudo_labels(step.target.logits),
            self.problem.num_classes,
            **self.options(),
        )
