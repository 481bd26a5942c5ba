"""The two domains of Table 1, for any number of coordinates d."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

MOST_COORDINATES = 16
"""Above this the points of a domain are too many to list; expectations of squares need no list."""


@dataclass(frozen=True)
class Domain:
    """One coordinate stands alone, all others are copies of one value under random signs.

    On the source ``x_1`` stands alone and ``x_i = sigma_i x_2``; on the target ``x_2`` stands alone and
    ``x_i = sigma_i x_1``. The two values are independent, 0 or a random sign.

    Attributes:
        alone: the coordinate that stands alone, 1 or 2.
        nonzero: the probability that a value is not 0, divided equally between -1 and 1.
    """

    alone: int
    nonzero: float

    def support(self, d: int) -> tuple[Tensor, Tensor]:
        """All points [S, d] and their probabilities [S].

        >>> points, chances = SOURCE.support(3)
        >>> points.shape, round(float(chances.sum()), 6)
        (torch.Size([15, 3]), 1.0)
        """
        check_coordinates(d)
        if d > MOST_COORDINATES:
            raise ValueError(f"A domain with d = {d} has too many points to list: {MOST_COORDINATES} is the most.")
        values = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
        chances = torch.tensor([self.nonzero / 2, 1 - self.nonzero, self.nonzero / 2], dtype=torch.float64)
        signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * (d - 1)).reshape(-1, d - 1)
        copies = torch.cat([torch.zeros(1, d - 1, dtype=torch.float64), signs])
        weight = torch.full((len(copies),), self.nonzero / len(signs), dtype=torch.float64)
        weight[0] = 1 - self.nonzero
        single, group = torch.meshgrid(torch.arange(3), torch.arange(len(copies)), indexing="ij")
        points = self._placed(values[single.flatten()], copies[group.flatten()])
        return points, chances[single.flatten()] * weight[group.flatten()]

    def sample(self, shape: tuple[int, ...], d: int, generator: torch.Generator) -> Tensor:
        """Independent points [*shape, d].

        >>> TARGET.sample((2, 5), 3, torch.Generator()).shape
        torch.Size([2, 5, 3])
        """
        check_coordinates(d)
        value = torch.rand(*shape, 2, generator=generator, dtype=torch.float64) < self.nonzero
        signs = torch.randint(0, 2, (*shape, d), generator=generator, dtype=torch.int8) * 2 - 1
        single, group = value[..., 0] * signs[..., 0], value[..., 1:] * signs[..., 1:]
        return self._placed(single.double(), group.double())

    def expected_square(self, matrix: Tensor) -> Tensor:
        """``E (x^T B x)^2`` for symmetric matrices B [..., d, d], exactly.

        The signs of copies are independent, so of all products of entries only squares survive: with ``b`` the entry
        of the lone coordinate, ``t`` the trace over the copies, ``w`` and ``v`` the sums of squares of mixed entries
        and of entries between different copies, the mean square is ``b^2`` where only the lone coordinate is
        nonzero, ``t^2 + 2 v`` where only the copies are, and ``(b + t)^2 + 4 w + 2 v`` where both are.

        The mean square of a label on the source:

        >>> round(float(SOURCE.expected_square(truth(3))), 2)
        0.18
        """
        place = self.alone - 1
        b = matrix[..., place, place]
        diagonal = matrix.diagonal(0, -2, -1)
        t = diagonal.sum(-1) - b
        w = matrix[..., place, :].square().sum(-1) - b.square()
        v = matrix.square().sum((-2, -1)) - diagonal.square().sum(-1) - 2 * w
        one, both = self.nonzero * (1 - self.nonzero), self.nonzero**2
        return one * (b.square() + t.square() + 2 * v) + both * ((b + t).square() + 4 * w + 2 * v)

    def _placed(self, single: Tensor, copies: Tensor) -> Tensor:
        """The lone coordinate put in its place before or after the first copy."""
        first, rest = copies[..., :1], copies[..., 1:]
        pair = [single.unsqueeze(-1), first] if self.alone == 1 else [first, single.unsqueeze(-1)]
        return torch.cat([*pair, rest], -1)


SOURCE = Domain(alone=1, nonzero=0.1)
"""P: ``p`` of Table 1."""
TARGET = Domain(alone=2, nonzero=0.5)
"""Q: ``q`` of Table 1."""


def labels(points: Tensor) -> Tensor:
    """``y = x_1^2 - x_2^2`` on both domains: [..., d] -> [...].

    >>> labels(torch.tensor([[1.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))
    tensor([ 1., -1.])
    """
    return points[..., 0].square() - points[..., 1].square()


def truth(d: int) -> Tensor:
    """The matrix of the labels: ``y = x^T B x`` with B [d, d].

    >>> truth(3).diagonal()
    tensor([ 1., -1.,  0.], dtype=torch.float64)
    """
    matrix = torch.zeros(d, d, dtype=torch.float64)
    matrix[0, 0], matrix[1, 1] = 1, -1
    return matrix


def check_coordinates(d: int) -> None:
    """Refuse a d for which source and target have the same solutions.

    >>> check_coordinates(2)
    Traceback (most recent call last):
    ValueError: d must be at least 3, got 2: with fewer coordinates there is no spurious one.
    """
    if d < 3:
        raise ValueError(f"d must be at least 3, got {d}: with fewer coordinates there is no spurious one.")
