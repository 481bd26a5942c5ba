"""``L_P(theta_t(phi), phi)`` of equation 5: the pseudo-labels' way back to the source."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from cst.functional import cycle_loss
from cst.terms.contract import Step, Term


class Cycle(Term):
    """Forward step and reverse step of Algorithm 1 on one batch.

    Its gradient reaches the features only: the pseudo-labels are constants, so the source head
    learns nothing from it, as in equations 7 and 8.

    Args:
        l2: the ridge of the target head, positive.
        normalize: scale every feature row to unit length first.
        bias: append a constant feature.
        centred: regress onto ``onehot - 1/K`` (the protocol that the paper cites) instead of ``onehot``.
        relative: ``l2`` is a multiple of the target features' mean eigenvalue.

    A target head that fits the pseudo-labels has a small loss; one that an enormous ridge holds at zero has the mean
    square of the labels, ``(1 - 1 / K) / K`` of centred ones.

    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(Cycle()) < 1
    True
    >>> round(loss_on_example(Cycle(l2=1e9)), 4)
    0.2222
    """

    def __init__(
        self,
        l2: float = 0.1,
        normalize: bool = True,
        bias: bool = False,
        centred: bool = True,
        relative: bool = False,
    ) -> None:
        super().__init__()
        if l2 <= 0:
            raise ValueError(f"cycle: l2 must be positive, got {l2}.")
        self.l2, self.normalize, self.bias, self.centred, self.relative = l2, normalize, bias, centred, relative

    def options(self) -> dict[str, Any]:
        """How the target head is fitted.

        >>> Cycle(l2=0.1).options()
        {'l2': 0.1, 'normalize': True, 'bias': False, 'centred': True, 'relative': False}
        """
        names = ("l2", "normalize", "bias", "centred", "relative")
        return {name: getattr(self, name) for name in names}

    def forward(self, step: Step) -> Tensor:
        """The reverse loss, a scalar of source features [N_s, d] and target features [N_t, d]."""
        source, target = step.source, step.target
        return cycle_loss(source.features, step.labels, target.features, target.logits, **self.options())
