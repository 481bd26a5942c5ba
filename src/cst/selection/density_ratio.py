"""How much likelier a source sample would be in the target: by telling the two domains apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.functional.round_trip import design
from cst.selection.rows import evenly, finite

RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)
"""Candidates for the L2 penalty of the classifier of domains, on components of unit variance."""

LARGEST = 30.0
"""Logits of the classifier are cut here: weights stay finite."""


def density_ratio(
    source_features: Tensor,
    target_features: Tensor,
    components: int = 64,
    max_samples: int = 5000,
    ridges: Sequence[float] = RIDGES,
) -> Tensor:
    """``w(z) = N_s / N_t * P(target | z) / P(source | z)`` of every source sample [N], in float64.

    P is a logistic regression on the leading principal components of both domains' features, scaled to unit variance.
    It is fitted on every other sample and applied to those between, and the other way round, so that a wide
    classifier does not judge samples that it has learned by heart. The L2 penalty is the one with the least
    cross-entropy on the samples not fitted to. The division into halves goes by the order of samples.

    Args:
        source_features: [N, d].
        target_features: [M, d].
        components: at most so many are kept.
        max_samples: of each domain that are fitted to, at even distances; weights are of all source samples.
        ridges: candidates, the strongest first.

    Without four samples of each domain nothing can be told apart, and all weights are one. The target lies on the
    right, so the source samples on the right weigh more:

    >>> line = torch.linspace(-1, 1, 40).unsqueeze(1)
    >>> weights = density_ratio(line, line + 0.5)
    >>> bool(weights[-1] > 2 > 0.5 > weights[0])
    True
    """
    z_s, z_t = finite(source_features, "source_features"), finite(target_features, "target_features")
    if min(len(z_s), len(z_t)) < 4:
        return torch.ones(len(z_s), dtype=torch.float64, device=z_s.device)
    halves = [(z_s[_half(len(z_s), side, max_samples)], z_t[_half(len(z_t), side, max_samples)]) for side in (0, 1)]
    mean, scaling = _whitening(torch.cat([z for half in halves for z in half]), components)
    first, second = ((_components(s, mean, scaling), _components(t, mean, scaling)) for s, t in halves)
    paths = _heads(*first, ridges), _heads(*second, ridges)
    risks = [_cross_entropy(a, *second) + _cross_entropy(b, *first) for a, b in zip(*paths, strict=True)]
    best = min(range(len(ridges)), key=risks.__getitem__)
    projected, logits = _components(z_s, mean, scaling), torch.empty(len(z_s), dtype=torch.float64, device=z_s.device)
    for side, (source, target), heads in ((0, second, paths[1]), (1, first, paths[0])):
        prior = math.log(len(source) / len(target))
        logits[side::2] = (projected[side::2] @ heads[best]).clamp(-LARGEST, LARGEST) + prior
    return logits.exp()


def logistic_head(features: Tensor, labels: Tensor, l2: float, start: Tensor, iterations: int = 100) -> Tensor:
    """``argmin 1/n sum_i log(1 + exp(-s_i <theta, z_i>)) + l2/2 ||theta||^2`` with signs ``s = 2 y - 1``, by Newton.

    The last feature is the constant, whose weight is not penalised. Steps are halved until the loss falls.

    Args:
        features: [n, d + 1], float64.
        labels: y, 0.0 or 1.0 [n].
        l2: positive.
        start: theta [d + 1] to begin with.
        iterations: at most so many steps.

    >>> z = torch.tensor([[-1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    >>> theta = logistic_head(z, torch.tensor([0.0, 1.0]).double(), l2=0.1, start=torch.zeros(2).double())
    >>> round(float(theta[0].neg().sigmoid() / theta[0]), 4)
    0.1
    """
    penalty = torch.full_like(start, l2)
    penalty[-1] = 0.0

    def loss(theta: Tensor) -> float:
        fit = F.binary_cross_entropy_with_logits(features @ theta, labels)
        return float(fit + 0.5 * (penalty * theta.square()).sum())

    theta, value = start, loss(start)
    for _ in range(iterations):
        probs = (features @ theta).sigmoid()
        gradient = features.mT @ (probs - labels) / len(labels) + penalty * theta
        curvature = features.mT @ (features * (probs * (1 - probs)).unsqueeze(1)) / len(labels)
        curvature.diagonal().add_(penalty + 1e-12)
        step = torch.linalg.solve(curvature, gradient)
        if float(gradient @ step) < 1e-14:
            break
        size = 1.0
        while (ahead := loss(theta - size * step)) > value and size > 1e-6:
            size /= 2
        if ahead >= value:
            break
        theta, value = theta - size * step, ahead
    return theta


def _half(count: int, side: int, max_samples: int) -> Tensor:
    """Places of every other sample, from the first or the second on; at most half of ``max_samples``."""
    places = torch.arange(side, count, 2)
    return places[evenly(len(places), max(max_samples // 2, 2))]


def _whitening(features: Tensor, components: int) -> tuple[Tensor, Tensor]:
    """The mean [d] and the map [d, c] to principal components of unit variance."""
    mean = features.mean(0)
    centred = features - mean
    variances, directions = torch.linalg.eigh((centred.mT @ centred).double() / len(features))
    variances, directions = variances[-components:], directions[:, -components:]
    kept = variances > max(1e-6 * float(variances[-1]), torch.finfo(torch.float32).tiny)
    return mean, (directions[:, kept] / variances[kept].sqrt()).to(features.dtype)


def _components(features: Tensor, mean: Tensor, scaling: Tensor) -> Tensor:
    """``(z - mean) scaling`` and a constant: [N, c + 1] in float64."""
    return design((features.to(scaling.dtype) @ scaling - mean @ scaling).double(), bias=True)


def _heads(source: Tensor, target: Tensor, ridges: Sequence[float]) -> list[Tensor]:
    """A classifier of domains for each ridge, each begun at the one before."""
    features, labels = torch.cat([source, target]), torch.cat([torch.zeros(len(source)), torch.ones(len(target))])
    labels, head, heads = labels.to(features), features.new_zeros(features.shape[1]), []
    for ridge in ridges:
        head = logistic_head(features, labels, ridge, head)
        heads.append(head)
    return heads


def _cross_entropy(head: Tensor, source: Tensor, target: Tensor) -> float:
    """The sum of ``-log P`` of each sample's domain."""
    return float(F.softplus(source @ head).sum() + F.softplus(-target @ head).sum())
