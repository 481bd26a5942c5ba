"""The quadratic network of Section 4.2 and the minimum-norm source solutions of Lemma 8."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from cst.theory.hard_case.distributions import TARGET, Domain, check_coordinates, labels, truth

HEAD = 2 ** (-1 / 3)
"""The size of both nonzero entries of theta in a minimum-norm source solution."""
LENGTH = 2 ** (1 / 6)
"""The length of both nonzero columns of phi: ``HEAD * LENGTH**2`` is 1."""
MINIMUM_NORM = 3 * 2 ** (1 / 3)
"""``||theta||^2 + ||phi||^2`` of every minimum-norm source solution, about 3.78."""


class Network(NamedTuple):
    """``f(x) = theta^T (phi^T x)^2``, or a batch of such networks.

    Attributes:
        theta: the head [..., m].
        phi: the feature extractor [..., d, m].
    """

    theta: Tensor
    phi: Tensor

    def features(self, points: Tensor) -> Tensor:
        """``h(x) = (phi^T x)^2``: [..., N, d] -> [..., N, m]."""
        return (points @ self.phi).square()

    def outputs(self, points: Tensor) -> Tensor:
        """``f(x)``: [..., N, d] -> [..., N]."""
        return (self.features(points) @ self.theta.unsqueeze(-1)).squeeze(-1)

    @property
    def matrix(self) -> Tensor:
        """The symmetric A [..., d, d] with ``f(x) = x^T A x``."""
        return (self.phi * self.theta.unsqueeze(-2)) @ self.phi.mT

    @property
    def norm(self) -> Tensor:
        """``||theta||^2 + ||phi||_F^2``."""
        return self.theta.square().sum(-1) + self.phi.square().sum((-2, -1))

    def loss(self, domain: Domain) -> Tensor:
        """The squared loss on a domain, exactly."""
        return domain.expected_square(self.matrix - truth(self.phi.shape[-2]).to(self.phi))


def source_solution(coordinate: int, d: int, units: int = 2) -> Network:
    """The minimum-norm solution of the source that uses ``coordinate``: ``f(x) = x_1^2 - x_l^2``.

    The two heads have opposite signs; Lemma 8 prints equal ones, which would give ``x_1^2 + x_l^2``. Units may be
    permuted and columns of phi turned round; units beyond two are zero.

    >>> network = source_solution(coordinate=3, d=4)
    >>> round(float(network.norm), 2), round(float(network.outputs(torch.eye(4, dtype=torch.float64))[2]), 2)
    (3.78, -1.0)
    """
    check_coordinates(d)
    if not 2 <= coordinate <= d:
        raise ValueError(f"A source solution uses a coordinate from 2 to {d}, not {coordinate}.")
    theta = torch.zeros(units, dtype=torch.float64)
    phi = torch.zeros(d, units, dtype=torch.float64)
    theta[0], theta[1] = HEAD, -HEAD
    phi[0, 0] = phi[coordinate - 1, 1] = LENGTH
    return Network(theta, phi)


def nearest_label(outputs: Tensor) -> Tensor:
    """The point of {-1, 0, 1} that is nearest to an output.

    >>> nearest_label(torch.tensor([0.4, -0.7, 3.0]))
    tensor([ 0., -1.,  1.])
    """
    return outputs.round().clamp(-1, 1)


def target_error(network: Network) -> Tensor:
    """The share of Q on which the nearest label is wrong, by listing all points.

    The good coordinate is right everywhere, a spurious one on half of the target:

    >>> [float(target_error(source_solution(coordinate, d=3))) for coordinate in (2, 3)]
    [0.0, 0.5]
    """
    points, chances = TARGET.support(network.phi.shape[-2])
    wrong = nearest_label(network.outputs(points)) != labels(points)
    return (wrong * chances).sum(-1)


def solution_coordinate(network: Network, tolerance: float = 0.1) -> Tensor:
    """Which class of Lemma 8 a network belongs to: a coordinate from 2 to d, or 0 if it is near none.

    >>> solution_coordinate(source_solution(coordinate=3, d=4))
    tensor(3)
    """
    matrix = network.matrix
    d = matrix.shape[-1]
    coordinate = matrix.diagonal(0, -2, -1)[..., 1:].argmin(-1) + 2
    ideal = torch.zeros_like(matrix)
    ideal[..., 0, 0] = 1
    ideal -= torch.diag_embed(torch.nn.functional.one_hot(coordinate - 1, d).to(matrix))
    near = (matrix - ideal).abs().amax((-2, -1)) < tolerance
    return coordinate * near
