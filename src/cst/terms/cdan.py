"""CDAN: DANN conditioned on the predictions by a multilinear map (Long et al., 2018)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from cst.functional import tsallis_entropy
from cst.terms.contract import Problem, Step, Term
from cst.terms.dann import discriminator, domain_loss
from cst.terms.reversal import reverse_gradient, warm_start


class CDAN(Term):
    """The discriminator sees ``f (x) g``, the outer product of features and softmax outputs.

    Args:
        problem: sizes.
        entropy: weight samples by ``1 + exp(-H(g))``, certain ones more (CDAN+E).
        limit: the largest d * K for the exact product; beyond it ``(R_f f) * (R_g g) / sqrt(width)`` with
            fixed Gaussian matrices stands in.
        width: the length of that product.
    """

    def __init__(self, problem: Problem, entropy: bool = False, limit: int = 4096, width: int = 1024) -> None:
        super().__init__(problem)
        self.entropy = entropy
        exact = problem.feature_dim * problem.num_classes
        self.randomized = exact > limit
        self.project_features: Tensor
        self.project_probs: Tensor
        if self.randomized:
            self.register_buffer("project_features", torch.randn(problem.feature_dim, width))
            self.register_buffer("project_probs", torch.randn(problem.num_classes, width))
        self.discriminator = discriminator(width if self.randomized else exact)

    def condition(self, features: Tensor, probs: Tensor) -> Tensor:
        """The joint variable of features [N, d] and probabilities [N, K]."""
        if not self.randomized:
            return (features.unsqueeze(2) * probs.unsqueeze(1)).flatten(1)
        product = (features @ self.project_features) * (probs @ self.project_probs)
        return product / math.sqrt(product.shape[1])

    def forward(self, step: Step) -> Tensor:
        """The discriminator's loss; predictions condition it and get no gradient."""
        features = torch.cat([step.source.features, step.target.features])
        probs = torch.cat([step.source.probs, step.target.probs]).detach()
        count, scale = len(step.source.features), warm_start(step.progress)
        logits = self.discriminator(reverse_gradient(self.condition(features, probs), scale))
        if not self.entropy:
            return domain_loss(logits, count)
        weights = 1 + torch.exp(-tsallis_entropy(probs, 1.0))
        weights = torch.cat([part / part.mean() for part in (weights[:count], weights[count:])])
        return domain_loss(logits, count, weights)
