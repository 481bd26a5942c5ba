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
        entropy: weight samples by ``1 + exp(-H(g))``, certain ones more (CDAN+E).
        limit: the largest d * K for the exact product; beyond it ``(R_f f) * (R_g g) / sqrt(width)`` with
            fixed Gaussian matrices stands in.
        width: the length of that product.

    A fresh discriminator knows nothing: its loss is near ``log 2``, that of a coin.

    >>> from cst.terms.example import loss_on_example
    >>> abs(loss_on_example(CDAN()) - math.log(2)) < 0.1
    True
    """

    def __init__(self, entropy: bool = False, limit: int = 4096, width: int = 1024) -> None:
        super().__init__()
        self.entropy, self.limit, self.width = entropy, limit, width

    def setup(self, problem: Problem) -> None:
        """Make the discriminator and, for large products, the matrices R_f [d, width] and R_g [K, width]."""
        super().setup(problem)
        exact = problem.feature_dim * problem.num_classes
        self.randomized = exact > self.limit
        self.project_features: Tensor
        self.project_probs: Tensor
        if self.randomized:
            self.register_buffer("project_features", torch.randn(problem.feature_dim, self.width))
            self.register_buffer("project_probs", torch.randn(problem.num_classes, self.width))
        self.discriminator = discriminator(self.width if self.randomized else exact)

    def condition(self, features: Tensor, probs: Tensor) -> Tensor:
        """The joint variable of features [N, d] and probabilities [N, K]: [N, d * K], or [N, width] beyond the limit.

        >>> from cst.terms.example import loss_on_example
        >>> exact, randomized = CDAN(), CDAN(limit=5, width=32)
        >>> _ = loss_on_example(exact), loss_on_example(randomized)  # sets them up for 5 features and 3 classes
        >>> features, probs = torch.ones(2, 5), torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
        >>> exact.condition(features, probs)[1].view(5, 3)[0]
        tensor([0., 1., 0.])
        >>> randomized.condition(features, probs).shape
        torch.Size([2, 32])
        """
        if not self.randomized:
            return (features.unsqueeze(2) * probs.unsqueeze(1)).flatten(1)
        product = (features @ self.project_features) * (probs @ self.project_probs)
        return product / math.sqrt(product.shape[1])

    def forward(self, step: Step) -> Tensor:
        """The discriminator's loss, a scalar; predictions condition it and get no gradient."""
        features = torch.cat([step.source.features, step.target.features])
        probs = torch.cat([step.source.probs, step.target.probs]).detach()
        count, scale = len(step.source.features), warm_start(step.progress)
        logits = self.discriminator(reverse_gradient(self.condition(features, probs), scale))
        if not self.entropy:
            return domain_loss(logits, count)
        weights = 1 + torch.exp(-tsallis_entropy(probs, 1.0))
        weights = torch.cat([part / part.mean() for part in (weights[:count], weights[count:])])
        return domain_loss(logits, count, weights)
