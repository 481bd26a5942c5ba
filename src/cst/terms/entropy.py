"""Gibbs entropy of the target predictions: entropy minimisation, the ablation ``CST+Entropy``."""

from __future__ import annotations

from torch import Tensor

from cst.functional import tsallis_entropy
from cst.terms.contract import Step, Term


class Entropy(Term):
    """``E_Q [-sum_i p_i log p_i]``, the Tsallis entropy at alpha = 1; between 0 and ``log K``.

    >>> import math
    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(Entropy()) < math.log(3)
    True
    """

    ramped = True

    def forward(self, step: Step) -> Tensor:
        """Mean entropy of the batch's predictions [N, K], a scalar."""
        return tsallis_entropy(step.target.probs, 1.0).mean()
