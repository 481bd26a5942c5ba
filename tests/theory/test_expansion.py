"""Expansion constants: known ones, the exact search, and an estimate that must not fall below it."""

import itertools

import pytest
import torch
from finite_worlds import circle, random_world

from cst.theory.expansion import estimate_expansion, exact_expansion, neighbours_within

SIXTEEN = torch.full((16,), 1 / 16, dtype=torch.float64)


def by_loops(masses, neighbours, q):
    found = 1.0
    points = range(len(masses))
    for size in range(1, len(masses)):
        for inside in itertools.combinations(points, size):
            measure = sum(float(masses[i]) for i in inside)
            edge = {j for i in inside for j in points if neighbours[i, j] and j not in inside}
            boundary = sum(float(masses[j]) for j in edge)
            if q + 1e-12 < measure <= 0.5 + 1e-12 and boundary <= measure + 1e-12:
                found = min(found, boundary)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_search_against_loops(seed):
    world = random_world(seed, points=8, reach=1 + seed % 2)
    for q in (0.05, 0.2):
        assert exact_expansion(world.source[0], world.neighbours, q) == pytest.approx(
            by_loops(world.source[0], world.neighbours, q)
        )


@pytest.mark.parametrize("reach", [1, 2, 3])
def test_arcs_are_the_worst_sets_of_a_circle(reach):
    expected = 2 * reach / 16
    assert exact_expansion(SIXTEEN, circle(16, reach), 0.4) == pytest.approx(expected)
    (found,) = estimate_expansion(SIXTEEN, circle(16, reach), [0.4])
    assert found == pytest.approx(expected)


def test_two_parts_without_a_link_do_not_expand():
    apart = torch.block_diag(circle(8, 2).float(), circle(8, 2).float()).bool()
    assert exact_expansion(SIXTEEN, apart, 0.1) == 0
    assert estimate_expansion(SIXTEEN, apart, [0.1, 0.4]) == [0, 0]


def test_nothing_constrains_a_complete_graph():
    assert exact_expansion(SIXTEEN, torch.ones(16, 16).bool(), 0.1) == pytest.approx(0.5)
    assert exact_expansion(SIXTEEN, torch.ones(16, 16).bool(), 0.5) == 1


@pytest.mark.parametrize("seed", range(15))
def test_the_estimate_is_never_below_the_exact_constant(seed):
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(13, 2, generator=generator, dtype=torch.float64)
    masses = torch.rand(13, generator=generator, dtype=torch.float64)
    masses = masses / masses.sum()
    near = neighbours_within(points, 0.3 + 0.03 * seed)
    exact = [exact_expansion(masses, near, q) for q in (0.05, 0.2, 0.35)]
    for truth, found in zip(exact, estimate_expansion(masses, near, [0.05, 0.2, 0.35]), strict=True):
        assert found >= truth - 1e-12


def test_small_components_together_do_not_expand():
    """Ten isolated points beside a connected half: no single one is heavier than q, some of them together are."""
    masses = torch.full((20,), 1 / 20, dtype=torch.float64)
    near = torch.eye(20).bool()
    near[10:, 10:] = True
    assert estimate_expansion(masses, near, [0.2]) == [0]


def test_below_the_distance_between_samples_nothing_is_confirmed():
    points = torch.rand(200, 2, generator=torch.Generator().manual_seed(0))
    masses = torch.full((200,), 1 / 200, dtype=torch.float64)
    assert estimate_expansion(masses, neighbours_within(points, 1e-4), [0.1]) == [0]
    assert estimate_expansion(masses, neighbours_within(points, 0.5), [0.1])[0] > 0.1


def test_too_many_points_are_refused():
    with pytest.raises(ValueError, match="use estimate_expansion"):
        exact_expansion(torch.full((19,), 1 / 19), torch.eye(19).bool(), 0.1)
