"""What Theorems 3 and 4 promise for a target sample of n points, and the exact probabilities beside it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from cst.theory.hard_case.algorithms import SMALL, source_cells

MOST_POINTS = 250
"""Of a target sample whose counts are all listed."""
GAP, SHARE = 0.07, 0.31
"""How far the shares of ``x_1 = 0, x_2 != 0`` and of ``x_1 != 0`` may fall below 0.25 and 0.5, see
:func:`adaptation_errs_corrected`."""


def adaptation_errs_printed(n: int) -> float:
    """The proof of Theorem 3: ``1 - exp(-2 n 0.14^2)``, which is more than holds (docs/theory.md).

    >>> round(adaptation_errs_printed(50), 2)
    0.86
    """
    return 1 - math.exp(-2 * n * 0.14**2)


def adaptation_errs_corrected(n: int) -> float:
    """A lower bound that holds: ``1 - exp(-2 n 0.07^2) - exp(-2 n 0.31^2)``, at least 0.

    Spurious features are nearer to the source whenever more than 0.18 of the sample has ``x_1 = 0, x_2 != 0`` and
    at least 0.19 has ``x_1 != 0``. Hoeffding's inequality bounds the probability that either fails.

    >>> round(adaptation_errs_corrected(500), 2)
    0.99
    """
    return max(0.0, 1 - math.exp(-2 * n * GAP**2) - math.exp(-2 * n * SHARE**2))


def adaptation_errs(n: int, d: int) -> float:
    """The exact probability that feature adaptation takes a spurious coordinate, a draw among equals included.

    >>> round(adaptation_errs(50, d=3), 2)
    0.87
    """
    counts, chances = samples_of_size(n)
    good, spurious = cell_distances(counts)
    less, equal = spurious < good - SMALL, (spurious - good).abs() <= SMALL
    return float(chances[less].sum() + chances[equal].sum() * (d - 2) / (d - 1))


def training_recovers(d: int) -> float:
    """Theorem 3, exact: one class of ``d - 1``.

    >>> training_recovers(d=5)
    0.25
    """
    return 1 / (d - 1)


def cycle_recovers_printed(n: int) -> float:
    """Theorem 4: all four feature values occur with probability at least ``1 - 4 (3/4)^n``, at least 0.

    >>> round(cycle_recovers_printed(10), 2)
    0.77
    """
    return max(0.0, 1 - 4 * 0.75**n)


def cycle_recovers(n: int) -> float:
    """The exact probability: two of the three nonzero feature values are enough, ``1 - 3/2^n + 2/4^n``.

    >>> round(cycle_recovers(10), 3)
    0.997
    """
    return 1 - 3 * 0.5**n + 2 * 0.25**n


def samples_of_size(n: int) -> tuple[Tensor, Tensor]:
    """All counts [S, 4] of ``(x_1^2, x_2^2)`` = 00, 01, 10, 11 among n target points, and their chances [S].

    >>> counts, chances = samples_of_size(2)
    >>> counts.shape, round(float(chances.sum()), 6)
    (torch.Size([10, 4]), 1.0)
    """
    steps = torch.arange(n + 1)
    pairs = torch.cartesian_prod(steps, steps)
    pairs = pairs[pairs.sum(1) <= n]
    pieces = []
    for last in range(n + 1):
        kept = pairs[pairs.sum(1) <= n - last]
        pieces.append(torch.cat([kept, torch.full((len(kept), 1), last), n - last - kept.sum(1, keepdim=True)], 1))
    counts = torch.cat(pieces)
    ways = torch.lgamma(torch.tensor(n + 1.0, dtype=torch.float64)) - torch.lgamma(counts.double() + 1).sum(1)
    return counts, (ways - n * math.log(4)).exp()


def cell_distances(counts: Tensor) -> tuple[Tensor, Tensor]:
    """Total variation to the source's features of the good coordinate and of a spurious one, for counts [S, 4].

    On a sample that holds every cell as often as Q does, the spurious coordinate is nearer:

    >>> [round(float(distance), 2) for distance in cell_distances(torch.tensor([[1, 1, 1, 1]]))]
    [0.56, 0.49]
    """
    good = counts.double() / counts.sum(1, keepdim=True)
    spurious = torch.zeros_like(good)
    spurious[:, 0], spurious[:, 3] = good[:, :2].sum(1), good[:, 2:].sum(1)
    first, second = (0.5 * (shares - source_cells()).abs().sum(1) for shares in (good, spurious))
    return first, second
