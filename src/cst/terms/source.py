"""``L_P(theta_s, phi)``: cross-entropy on the labelled source."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Step, Term


class Source(Term):
    """Supervised learning on the source."""

    views = ("source",)

    def forward(self, step: Step) -> Tensor:
        """Mean cross-entropy."""
        return F.cross_entropy(step.source.logits, step.labels)
