"""``L_P(theta_s, phi)``: cross-entropy on the labelled source."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Step, Term


class Source(Term):
    """Supervised learning on the source.

    >>> from cst.terms.example import example_step, loss_on_example
    >>> step = example_step()
    >>> probs_of_labels = step.source.probs.detach()[range(12), step.labels]
    >>> abs(loss_on_example(Source()) + float(probs_of_labels.log().mean())) < 1e-5
    True
    """

    views = ("source",)

    def forward(self, step: Step) -> Tensor:
        """Mean cross-entropy of logits [N, K] and labels [N], a scalar."""
        return F.cross_entropy(step.source.logits, step.labels)
