"""The expansion constants of Definition 1 on a finite set of points: exactly for a few, an upper estimate for many.

Points carry masses that sum to one, of ``(P_i + Q_i) / 2`` for one class i, and a symmetric matrix says which are
neighbours. For a given q, expansion holds with every epsilon below the constant that the functions here return: the
least boundary ``m(N(A) \\ A)`` of the sets A with ``q < m(A) <= 1/2`` whose boundary is no larger than they are. It is
1 where no set constrains it, and 0 where a set does not expand at all.

Limits of the estimate. Finding the worst set is a hard problem (vertex expansion), so the estimate looks at candidates
only and can be too high, never too low, for the points at hand. The points are a sample: what it says of P and Q
between them is a guess, and with neighbourhoods smaller than the distance between samples it is 0 whatever P and Q
are. It needs the classes of target points, which without labels are pseudo-labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

MOST_POINTS = 18
"""Of the exact search over all subsets."""


def neighbours_within(points: Tensor, radius: float) -> Tensor:
    """Which points [N, d] lie within ``radius`` of one another: [N, N].

    >>> neighbours_within(torch.tensor([[0.0], [1.0], [5.0]]), radius=1.5)
    tensor([[ True,  True, False],
            [ True,  True, False],
            [False, False,  True]])
    """
    return torch.cdist(points, points) <= radius


def exact_expansion(masses: Tensor, neighbours: Tensor, q: float) -> float:
    """The constant over all subsets, for at most :data:`MOST_POINTS` points.

    Four points in a row: the worst set is an end, whose boundary is the one point beside it.

    >>> neighbours = neighbours_within(torch.arange(4.0).unsqueeze(1), radius=1.5)
    >>> exact_expansion(torch.full((4,), 0.25, dtype=torch.float64), neighbours, q=0.1)
    0.25
    """
    count = len(masses)
    if count > MOST_POINTS:
        raise ValueError(f"{count} points have too many subsets: {MOST_POINTS} is the most, or use estimate_expansion.")
    subsets = (torch.arange(2**count).unsqueeze(1) >> torch.arange(count)) % 2 == 1
    reached = (subsets.double() @ neighbours.double()) > 0
    return _least(subsets.double() @ masses, (reached & ~subsets).double() @ masses, q)


def estimate_expansion(
    masses: Tensor, neighbours: Tensor, q: Sequence[float], seeds: int = 40, seed: int = 0
) -> list[float]:
    """The constant over candidate sets for each value of q, an upper bound of the exact one.

    Candidates are growing balls around ``seeds`` random points, measured in steps from neighbour to neighbour, sweeps
    along the graph's slowest vectors (spectral cuts), and unions of its components.

    Two pairs out of each other's reach: a pair does not expand.

    >>> neighbours = neighbours_within(torch.tensor([[0.0], [1.0], [5.0], [6.0]]), radius=1.5)
    >>> estimate_expansion(torch.full((4,), 0.25, dtype=torch.float64), neighbours, q=[0.1, 0.3])
    [0.0, 0.0]
    """
    generator = torch.Generator().manual_seed(seed)
    starts = torch.randperm(len(masses), generator=generator)[:seeds]
    orders = [*_balls(neighbours, starts), *_spectral_orders(neighbours), *_component_orders(masses, neighbours)]
    measures, boundaries = (torch.cat(parts) for parts in zip(*_sweeps(orders, masses, neighbours), strict=True))
    return [_least(measures, boundaries, value) for value in q]


def _sweeps(orders: list[Tensor], masses: Tensor, neighbours: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """For each order the measures and boundaries of its first k points, all k at once."""
    for order in orders:
        yield masses[order].cumsum(0), _boundaries(order, masses, neighbours)


def _boundaries(order: Tensor, masses: Tensor, neighbours: Tensor) -> Tensor:
    count = len(order)
    place = torch.empty_like(order)
    place[order] = torch.arange(count)
    # A point is on the boundary from when its first neighbour has entered until it enters itself.
    near = torch.where(neighbours, place.unsqueeze(0), count).amin(1).minimum(place)
    steps = torch.zeros(count + 1, dtype=masses.dtype)
    steps.index_add_(0, near, masses)
    steps.index_add_(0, place, -masses)
    return steps[:count].cumsum(0)


def _least(measures: Tensor, boundaries: Tensor, q: float) -> float:
    tiny = 1e-12
    binding = (measures > q + tiny) & (measures <= 0.5 + tiny) & (boundaries <= measures + tiny)
    least = float(boundaries[binding].amin()) if binding.any() else 1.0
    return least if least > tiny else 0.0


def _balls(neighbours: Tensor, starts: Tensor) -> list[Tensor]:
    """For each start, the points in the order of their distance in steps; those out of reach come last."""
    count = len(neighbours)
    reached = torch.nn.functional.one_hot(starts, count).bool()
    distance = torch.full(reached.shape, float(count)).masked_fill(reached, 0.0)
    links = neighbours.float()
    for step in range(1, count):
        grown = reached | ((reached.float() @ links) > 0)
        if bool((grown == reached).all()):
            break
        distance[grown & ~reached] = step
        reached = grown
    return list(distance.argsort(dim=1, stable=True))


def _spectral_orders(neighbours: Tensor, vectors: int = 4) -> list[Tensor]:
    """Both directions along the slowest vectors of the normalised Laplacian."""
    links = neighbours.double().fill_diagonal_(1.0)
    scale = links.sum(1).rsqrt()
    slow = torch.linalg.eigh(-scale.unsqueeze(1) * links * scale)[1][:, :vectors] * scale.unsqueeze(1)
    return [column.argsort(descending=down) for column in slow.T for down in (False, True)]


def _component_orders(masses: Tensor, neighbours: Tensor) -> list[Tensor]:
    """Components one after the other, from the lightest and from the heaviest."""
    from scipy.sparse.csgraph import connected_components

    component = torch.from_numpy(connected_components(neighbours.numpy(), directed=False)[1]).long()
    weight = torch.zeros(int(component.max()) + 1, dtype=masses.dtype).index_add_(0, component, masses)
    rank = weight.argsort(stable=True).argsort()[component]
    return [rank.argsort(descending=down, stable=True) for down in (False, True)]
