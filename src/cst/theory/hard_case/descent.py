"""The same algorithms by gradient descent: many random starts at once, weight decay in place of a norm constraint."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from cst.theory.hard_case.algorithms import feature_distances
from cst.theory.hard_case.distributions import SOURCE
from cst.theory.hard_case.network import Network, solution_coordinate

UNITS = 8
STEPS = 1000
RATE = 0.05
DECAY = (2e-2, 1e-3)
"""Weight decay in the first half of a descent, where a coordinate has to win, and at its end."""
RIDGE = 1e-2
"""Of the target head: without it, features that are all but zero would count as much as others."""

Loss = Callable[[Network], Tensor]


def descend(loss: Loss, count: int, d: int, generator: torch.Generator) -> tuple[Network, Tensor]:
    """Descend ``loss + decay * norm`` from ``count`` random starts with Adam.

    Args:
        loss: maps a batch of networks to their losses [count].
        count: how many.
        d: coordinates of an input.
        generator: of the starts.

    Returns:
        The networks, and the objective that each reached [count].
    """
    theta = 0.5 * torch.randn(count, UNITS, generator=generator, dtype=torch.float64)
    phi = 0.5 * torch.randn(count, d, UNITS, generator=generator, dtype=torch.float64)
    network = Network(theta.requires_grad_(), phi.requires_grad_())
    optimizer = torch.optim.Adam(network, lr=RATE)
    objective = theta.new_zeros(count)
    for step in range(STEPS):
        done = step / STEPS
        decay = DECAY[0] * (DECAY[1] / DECAY[0]) ** min(1.0, max(0.0, 2.5 * done - 1.25))
        optimizer.param_groups[0]["lr"] = RATE * (0.5 + 0.5 * math.cos(math.pi * done))
        objective = loss(network) + decay * network.norm
        optimizer.zero_grad()
        objective.sum().backward()
        optimizer.step()
    return Network(theta.detach(), phi.detach()), objective.detach()


def source_loss(network: Network) -> Tensor:
    """``L_P``, exactly.

    >>> from cst.theory.hard_case import source_solution
    >>> round(float(source_loss(source_solution(coordinate=3, d=4))), 6)
    0.0
    """
    return network.loss(SOURCE)


def joint_loss(samples: Tensor, teacher: Network) -> Loss:
    """Standard self-training: ``L_P`` and the squared distance to a teacher's outputs on the samples [T, n, d].

    Two source solutions that use different coordinates disagree on one of these points:

    >>> from cst.theory.hard_case import source_solution
    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]], dtype=torch.float64)
    >>> good, spurious = (source_solution(coordinate, d=3) for coordinate in (2, 3))
    >>> [round(float(joint_loss(samples, good)(network)), 2) for network in (good, spurious)]
    [0.0, 0.5]
    """
    pseudo = teacher.outputs(samples)
    return lambda network: source_loss(network) + (network.outputs(samples) - pseudo).square().mean(-1)


def cycle_loss(samples: Tensor) -> Loss:
    """CST: ``L_P``, and the loss on P of the ridge head that was fitted to the network's labels of [T, n, d].

    >>> from cst.theory.hard_case import source_solution
    >>> samples = torch.tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]], dtype=torch.float64)
    >>> good, spurious = (source_solution(coordinate, d=3) for coordinate in (2, 3))
    >>> [round(float(cycle_loss(samples)(network)), 2) for network in (good, spurious)]
    [0.0, 0.18]
    """

    def loss(network: Network) -> Tensor:
        features = network.features(samples)
        moments = features.mT @ features / samples.shape[1]
        ridge = RIDGE * torch.eye(moments.shape[-1], dtype=moments.dtype)
        head = torch.linalg.solve(moments + ridge, moments @ network.theta.unsqueeze(-1)).squeeze(-1)
        return source_loss(network) + SOURCE.expected_square(Network(network.theta - head, network.phi).matrix)

    return loss


def adaptation_by_descent(samples: Tensor, starts: int, generator: torch.Generator) -> Tensor:
    """Of the source solutions from ``starts`` random starts, the coordinate with the least total variation: [T]."""
    count = len(samples)
    network, _ = descend(source_loss, count * starts, samples.shape[2], generator)
    coordinates = solution_coordinate(network).view(count, starts)
    distances = feature_distances(samples).gather(1, (coordinates - 2).clamp_min(0))
    return _best(coordinates, distances.masked_fill(coordinates == 0, math.inf))


def self_training_by_descent(samples: Tensor, generator: torch.Generator) -> Tensor:
    """A source solution from one random start, then the joint problem from another: the coordinates [T]."""
    count, d = len(samples), samples.shape[2]
    teacher, _ = descend(source_loss, count, d, generator)
    network, _ = descend(joint_loss(samples, teacher), count, d, generator)
    return solution_coordinate(network)


def cycle_by_descent(samples: Tensor, starts: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """CST from ``starts`` random starts.

    Returns:
        The coordinate of the start with the least objective [T], and of all starts [T, starts]; 0 for none.
    """
    repeated = samples.repeat_interleave(starts, 0)
    network, objective = descend(cycle_loss(repeated), len(repeated), samples.shape[2], generator)
    coordinates = solution_coordinate(network).view(-1, starts)
    return _best(coordinates, objective.view(-1, starts)), coordinates


def _best(coordinates: Tensor, costs: Tensor) -> Tensor:
    return coordinates.gather(1, costs.argmin(1, keepdim=True)).squeeze(1)
