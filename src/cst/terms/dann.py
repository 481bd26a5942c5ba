"""DANN: features that a domain discriminator cannot tell apart (Ganin et al., 2016)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cst.terms.contract import Problem, Step, Term
from cst.terms.reversal import reverse_gradient, warm_start


def discriminator(inputs: int, width: int = 256) -> nn.Sequential:
    """A small network with one logit, source or target: [N, inputs] -> [N, 1].

    >>> discriminator(5)(torch.zeros(2, 5)).shape
    torch.Size([2, 1])
    """
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def domain_loss(logits: Tensor, count: int, weights: Tensor | None = None) -> Tensor:
    """Cross-entropy of telling the first ``count`` rows (source) from the others, each domain with half the weight.

    Args:
        logits: of being source [N, 1].
        count: how many rows are of the source.
        weights: of the rows [N], all one if left out.

    Returns:
        A scalar: ``log 2`` where the logits say nothing, near zero where they are right.

    >>> domain_loss(torch.zeros(5, 1), count=2)
    tensor(0.6931)
    >>> bool(domain_loss(torch.tensor([[20.0], [-20.0]]), count=1) < 1e-6)
    True
    """
    truth = torch.cat([torch.ones(count), torch.zeros(len(logits) - count)]).to(logits)
    losses = F.binary_cross_entropy_with_logits(logits.squeeze(-1), truth, reduction="none")
    if weights is not None:
        losses = losses * weights
    return 0.5 * (losses[:count].mean() + losses[count:].mean())


class DANN(Term):
    """``min_D max_phi`` of the domain loss, by one backward pass through a gradient reversal.

    A fresh discriminator knows nothing: its loss is near ``log 2``, that of a coin.

    >>> from cst.terms.example import loss_on_example
    >>> abs(loss_on_example(DANN()) - 0.6931) < 0.1
    True
    """

    def setup(self, problem: Problem) -> None:
        """Make the discriminator of features [N, d]."""
        super().setup(problem)
        self.discriminator = discriminator(problem.feature_dim)

    def forward(self, step: Step) -> Tensor:
        """The discriminator's loss, a scalar; the reversed gradient grows with the progress of training."""
        features = torch.cat([step.source.features, step.target.features])
        logits = self.discriminator(reverse_gradient(features, warm_start(step.progress)))
        return domain_loss(logits, len(step.source.features))
