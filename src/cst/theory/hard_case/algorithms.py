"""The norm-constrained algorithms of Appendix A.3.2, solved exactly over the d - 1 classes of Lemma 8.

All functions take a batch of target samples [T, n, d] and look at every class: results are [T, d - 1], in the order
of the coordinates 2, ..., d. Where several classes solve an algorithm's problem, one is drawn at random.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cst.theory.hard_case.distributions import SOURCE
from cst.theory.hard_case.network import HEAD, LENGTH

SMALL = 1e-9
"""What rounding may leave of a zero."""
THETA = torch.tensor([HEAD, -HEAD], dtype=torch.float64)
"""The source head of every class."""
VALUES = LENGTH**2 * torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
"""The four feature vectors ``(z_1, z_2)`` that occur."""


def source_cells() -> Tensor:
    """The distribution of :data:`VALUES` on P, the same for every class: 0.81, 0.09, 0.09, 0.01.

    >>> source_cells()
    tensor([0.8100, 0.0900, 0.0900, 0.0100], dtype=torch.float64)
    """
    one = torch.tensor([1 - SOURCE.nonzero, SOURCE.nonzero], dtype=torch.float64)
    return torch.outer(one, one).flatten()


def target_counts(samples: Tensor) -> Tensor:
    """How often each of :data:`VALUES` occurs in a target sample, for each class: [T, n, d] -> [T, d - 1, 4].

    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    >>> target_counts(samples)
    tensor([[[0, 1, 1, 0],
             [1, 0, 0, 1]]])
    """
    first, others = samples[..., :1] != 0, samples[..., 1:] != 0
    pairs = [~first & ~others, ~first & others, first & ~others, first & others]
    return torch.stack([pair.sum(1) for pair in pairs], -1)


def feature_distances(samples: Tensor) -> Tensor:
    """Total variation between the features of P and of the target sample, for each class: [T, d - 1].

    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    >>> feature_distances(samples)
    tensor([[0.8200, 0.4900]], dtype=torch.float64)
    """
    return 0.5 * (target_counts(samples).double() / samples.shape[1] - source_cells()).abs().sum(-1)


def feature_adaptation(samples: Tensor, generator: torch.Generator) -> Tensor:
    """The coordinate with the least total variation between feature distributions: [T].

    The spurious coordinate looks more like the source:

    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    >>> feature_adaptation(samples, torch.Generator())
    tensor([3])
    """
    distances = feature_distances(samples)
    return _one_of(distances <= distances.amin(-1, keepdim=True) + SMALL, generator)


def self_training(samples: Tensor, generator: torch.Generator) -> Tensor:
    """A source solution at random, then a minimum-norm one that also agrees with its labels of the target: [T].

    The random teacher decides, so with ten classes the right one comes out in one trial of ten:

    >>> from cst.theory.hard_case import TARGET
    >>> generator = torch.Generator().manual_seed(0)
    >>> samples = TARGET.sample((2000, 20), 11, generator)
    >>> round(float((self_training(samples, generator) == 2).double().mean()), 1)
    0.1
    """
    everything = torch.ones(len(samples), samples.shape[2] - 1, dtype=torch.bool)
    teacher = _one_of(everything, generator)
    outputs = samples[..., :1].square() - samples[..., 1:].square()
    pseudo = outputs.gather(2, (teacher - 2).view(-1, 1, 1).expand(-1, samples.shape[1], 1))
    return _one_of((outputs == pseudo).all(1), generator)


def minimum_norm_head(features: Tensor, targets: Tensor) -> Tensor:
    """``argmin ||theta||^2`` among the least-squares heads, by pseudo-inverse: [..., n, m], [..., n] -> [..., m].

    >>> minimum_norm_head(torch.ones(1, 2, dtype=torch.float64), torch.tensor([3.0], dtype=torch.float64))
    tensor([1.5000, 1.5000], dtype=torch.float64)
    """
    moments = features.mT @ features
    right = features.mT @ targets.unsqueeze(-1)
    inverse: Tensor = torch.linalg.pinv(moments, rtol=1e-10, hermitian=True)
    return (inverse @ right).squeeze(-1)


def target_heads(samples: Tensor) -> Tensor:
    """The target head fitted to each class's own pseudo-labels: [T, n, d] -> [T, d - 1, 2].

    The good class gets the source head back:

    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    >>> target_heads(samples)[0, 0].round(decimals=2)
    tensor([ 0.7900, -0.7900], dtype=torch.float64)
    """
    squares = LENGTH**2 * samples.square().mT
    features = torch.stack([squares[:, :1].expand_as(squares[:, 1:]), squares[:, 1:]], -1)
    return minimum_norm_head(features, features @ THETA)


def cycle_losses(samples: Tensor) -> Tensor:
    """``E_P (g_theta_s(h(x)) - g_theta_t(h(x)))^2``, exactly, for each class: [T, d - 1].

    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    >>> [round(loss, 2) for loss in cycle_losses(samples)[0].tolist()]
    [0.0, 0.18]
    """
    gaps = (target_heads(samples) - THETA) @ VALUES.mT
    return (gaps.square() * source_cells()).sum(-1)


def cycle_self_training(samples: Tensor, generator: torch.Generator) -> Tensor:
    """A coordinate whose cycle loss is zero, or 0 where the sample leaves no class such a loss: [T].

    Only the good coordinate closes the cycle:

    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    >>> cycle_self_training(samples, torch.Generator())
    tensor([2])
    """
    return _one_of(cycle_losses(samples) < SMALL, generator)


def _one_of(allowed: Tensor, generator: torch.Generator) -> Tensor:
    """The coordinate of a random allowed class in each row; 0 where none is."""
    draws = torch.rand(allowed.shape, generator=generator, dtype=torch.float64) * allowed
    return (draws.argmax(-1) + 2) * allowed.any(-1)
