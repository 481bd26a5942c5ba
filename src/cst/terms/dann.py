"""DANN: features that a domain discriminator cannot tell apart (Ganin et al., 2016)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cst.terms.contract import Problem, Step, Term
from cst.terms.reversal import reverse_gradient, warm_start


def discriminator(inputs: int, width: int = 256) -> nn.Sequential:
    """A small network with one logit: source or target."""
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def domain_loss(logits: Tensor, count: int, weights: Tensor | None = None) -> Tensor:
    """Cross-entropy of telling the first ``count`` rows (source) from the others, each domain with half the weight."""
    truth = torch.cat([torch.ones(count), torch.zeros(len(logits) - count)]).to(logits)
    losses = F.binary_cross_entropy_with_logits(logits.squeeze(-1), truth, reduction="none")
    if weights is not None:
        losses = losses * weights
    return 0.5 * (losses[:count].mean() + losses[count:].mean())


class DANN(Term):
    """``min_D max_phi`` of the domain loss, by one backward pass through a gradient reversal."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.discriminator = discriminator(problem.feature_dim)

    def forward(self, step: Step) -> Tensor:
        """The discriminator's loss; the reversed gradient grows with the progress of training."""
        features = torch.cat([step.source.features, step.target.features])
        logits = self.discriminator(reverse_gradient(features, warm_start(step.progress)))
        return domain_loss(logits, len(step.source.features))
