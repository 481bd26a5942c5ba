"""Gradient descent from random starts against the exact solutions."""

import pytest
import torch

from cst.theory.hard_case import MINIMUM_NORM, SOURCE, TARGET, Network, descent, source_solution, target_error
from cst.theory.hard_case.network import solution_coordinate


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def source_networks():
    return descent.descend(descent.source_loss, 120, 4, generator())[0]


def test_descent_on_the_source_ends_in_the_classes_of_lemma_8(source_networks):
    found = solution_coordinate(source_networks)
    assert float((found > 0).double().mean()) > 0.85
    counts = torch.bincount(found, minlength=5)[2:]
    assert bool((counts > 20).all())
    ended = found > 0
    assert float(source_networks.loss(SOURCE)[ended].max()) < 1e-3
    assert float((source_networks.norm[ended] - MINIMUM_NORM).median().abs()) < 0.05
    errors = target_error(source_networks)
    assert float(errors[found == 2].max()) == 0
    assert float(errors[found > 2].min()) == pytest.approx(0.5)


def test_descended_heads_have_both_signs(source_networks):
    ended = solution_coordinate(source_networks) > 0
    assert bool((source_networks.theta[ended].amax(-1) > 0.7).all())
    assert bool((source_networks.theta[ended].amin(-1) < -0.7).all())


def test_the_joint_problem_keeps_the_teachers_coordinate(source_networks):
    found = solution_coordinate(source_networks)
    right = torch.nonzero(found == 2).flatten()[:8]
    wrong = torch.nonzero(found > 2).flatten()[:8]
    teachers = Network(*(part[torch.cat([right, wrong])] for part in source_networks))
    samples = TARGET.sample((16, 40), 4, generator(1))
    network, _ = descent.descend(descent.joint_loss(samples, teachers), 16, 4, generator(2))
    learned = solution_coordinate(network)
    assert bool((learned[:8] == 2).all())
    assert bool((learned[8:] != 2).all())


def test_the_cycle_loss_of_the_exact_classes():
    samples = TARGET.sample((2, 60), 4, generator())
    classes = [source_solution(coordinate, 4) for coordinate in (2, 3)]
    batch = Network(torch.stack([c.theta for c in classes]), torch.stack([c.phi for c in classes]))
    losses = descent.cycle_loss(samples)(batch)
    assert float(losses[0]) < 1e-3
    assert float(losses[1]) == pytest.approx(0.18)


def test_cst_recovers_the_truth_at_the_best_of_several_starts():
    samples = TARGET.sample((5, 50), 4, generator(5))
    best, every = descent.cycle_by_descent(samples, 16, generator(6))
    assert best.tolist() == [2] * 5
    assert 0.2 < float((every == 2).double().mean()) < 0.8


def test_adaptation_takes_the_nearest_of_its_starts():
    samples = TARGET.sample((5, 150), 4, generator(7))
    found = descent.adaptation_by_descent(samples, 10, generator(8))
    assert bool((found > 2).all())
