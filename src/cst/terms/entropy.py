"""Gibbs entropy of the target predictions: entropy minimisation, the ablation ``CST+Entropy``."""

from __future__ import annotations

from torch import Tensor

from cst.functional import tsallis_entropy
from cst.terms.contract import Step, Term


class Entropy(Term):
    """``E_Q [-sum_i p_i log p_i]``, the Tsallis entropy at alpha = 1."""

    ramped = True

    def forward(self, step: Step) -> Tensor:
        """Mean entropy of the batch."""
        return tsallis_entropy(step.target.probs, 1.0).mean()
