"""Lemma 8: the form of every minimum-norm source solution, and what is wrong with it as printed."""

import itertools

import pytest
import torch
from scipy.optimize import minimize_scalar

from cst.theory.hard_case import MINIMUM_NORM, SOURCE, TARGET, Network, source_solution, target_error
from cst.theory.hard_case.algorithms import minimum_norm_head
from cst.theory.hard_case.descent import cycle_loss
from cst.theory.hard_case.distributions import labels
from cst.theory.hard_case.network import solution_coordinate


def loss_by_listing(network, domain):
    points, chances = domain.support(network.phi.shape[-2])
    return float(((network.outputs(points) - labels(points)).square() * chances).sum())


@pytest.mark.parametrize("d", [3, 6])
def test_every_class_solves_the_source_and_only_the_second_the_target(d):
    for coordinate in range(2, d + 1):
        network = source_solution(coordinate, d, units=3)
        assert loss_by_listing(network, SOURCE) == pytest.approx(0, abs=1e-20)
        assert float(network.loss(SOURCE)) == pytest.approx(0, abs=1e-20)
        assert float(network.norm) == pytest.approx(MINIMUM_NORM)
        assert int(solution_coordinate(network)) == coordinate
        assert float(target_error(network)) == pytest.approx(0 if coordinate == 2 else 0.5)
        assert float(network.loss(TARGET)) == pytest.approx(loss_by_listing(network, TARGET))


def test_equal_signs_of_theta_do_not_solve_the_source():
    right = source_solution(2, 4)
    printed = Network(right.theta.abs(), right.phi)
    assert loss_by_listing(printed, SOURCE) > 0.3
    turned = Network(right.theta, -right.phi)
    assert loss_by_listing(turned, SOURCE) == pytest.approx(0, abs=1e-20)


def test_the_constant_of_the_arithmetic_geometric_mean():
    def norm_of_a_unit(squared_length):
        return (1 / squared_length) ** 2 + squared_length

    least = minimize_scalar(norm_of_a_unit, bounds=(0.1, 10), method="bounded").fun
    assert least == pytest.approx(3 * 2 ** (-2 / 3), rel=1e-6)
    assert least < 3 * 2 ** (2 / 3)
    assert 2 * least == pytest.approx(MINIMUM_NORM, rel=1e-6)
    assert float(source_solution(2, 3).norm) < 3 * 2 ** (5 / 3)


def test_no_exact_source_solution_has_a_smaller_norm():
    """Random solutions: a random diagonal with the right sums, factored with random rotations inside each sign."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(500):
        d = int(torch.randint(3, 7, (1,), generator=generator))
        rest = torch.randn(d - 1, generator=generator, dtype=torch.float64)
        rest -= (rest.sum() + 1) / (d - 1)
        diagonal = torch.cat([torch.ones(1, dtype=torch.float64), rest])
        theta, columns = [], []
        for sign in (1, -1):
            places = torch.nonzero(sign * diagonal > 0).flatten()
            root = torch.zeros(d, len(places), dtype=torch.float64)
            root[places, torch.arange(len(places))] = (sign * diagonal[places]).sqrt()
            mixing = torch.randn(len(places), len(places), generator=generator, dtype=torch.float64)
            for column in (root @ torch.linalg.qr(mixing).Q).T:
                size = 2 ** (1 / 6) * float(column.norm()) ** (-1 / 3)
                theta.append(sign / size**2)
                columns.append(column * size)
        network = Network(torch.tensor(theta, dtype=torch.float64), torch.stack(columns, 1))
        assert float(network.loss(SOURCE)) == pytest.approx(0, abs=1e-12)
        assert float(network.norm) >= MINIMUM_NORM - 1e-9


def test_the_identity_for_entries_off_the_diagonal():
    matrix = torch.randn(5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    matrix = matrix + matrix.mT
    unit = torch.eye(5, dtype=torch.float64)
    for i, j in itertools.combinations(range(1, 5), 2):
        ones = torch.ones(5, dtype=torch.float64)
        xs = [ones, ones - 2 * unit[i] - 2 * unit[j], ones - 2 * unit[i], ones - 2 * unit[j]]
        y1, y2, y3, y4 = (float(x @ matrix @ x) for x in xs)
        assert y1 + y2 - y3 - y4 == pytest.approx(8 * float(matrix[i, j]))
        assert y1 + y2 + y3 - y4 != pytest.approx(8 * float(matrix[i, j]))


def near_solution(kappa):
    """An exact source solution of d = 3 that uses x_3 almost alone, spread over two units of negative theta."""
    first = (-(1 + kappa**2) + ((1 + kappa**2) ** 2 + 4 * kappa * (1 - kappa)) ** 0.5) / (2 * kappa)
    units = [
        (1.0, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)),
        (-first, torch.tensor([0.0, kappa, 1.0], dtype=torch.float64)),
        (-kappa, torch.tensor([0.0, -first, 1.0], dtype=torch.float64)),
    ]
    theta, columns = [], []
    for weight, direction in units:
        size = (abs(weight) * float(direction.square().sum())) ** (1 / 3)
        theta.append((1 if weight > 0 else -1) * 2 ** (-1 / 3) * size)
        columns.append(direction * (abs(weight) / abs(theta[-1])) ** 0.5)
    return Network(torch.tensor(theta, dtype=torch.float64), torch.stack(columns, 1))


def test_spurious_networks_meet_the_constraints_of_cst_with_almost_the_least_norm():
    """Theorem 4 rests on the exact minimum: networks that err by 0.5 come as near to it as one likes."""
    points, chances = SOURCE.support(3)
    target, _ = TARGET.support(3)
    norms = []
    for kappa in (1e-1, 1e-2, 1e-3, 1e-4):
        network = near_solution(kappa)
        assert loss_by_listing(network, SOURCE) == pytest.approx(0, abs=1e-20)
        features = network.features(target)
        assert int(torch.linalg.matrix_rank(features, rtol=1e-13)) == 3
        head = torch.linalg.lstsq(features, network.outputs(target).unsqueeze(1), driver="gelsd").solution.squeeze(1)
        gaps = network.features(points) @ (network.theta - head)
        assert float((gaps.square() * chances).sum()) < 1e-10
        assert float(target_error(network)) == pytest.approx(0.5)
        norms.append(float(network.norm) - MINIMUM_NORM)
    assert all(later < earlier / 3 for earlier, later in itertools.pairwise(norms))
    assert 0 < norms[-1] < 0.02


def test_a_ridge_on_the_target_head_tells_them_apart():
    """With a ridge of 0.01 the tilt is too small to be seen: the cycle loss is that of a spurious solution."""
    samples = TARGET.sample((1, 200), 3, torch.Generator().manual_seed(0))
    for network, least, most in ((near_solution(1e-3), 0.17, 0.19), (source_solution(2, 3), 0.0, 1e-3)):
        batch = Network(network.theta.unsqueeze(0), network.phi.unsqueeze(0))
        assert least <= float(cycle_loss(samples)(batch)) <= most


def test_with_the_printed_signs_theorem_4_would_fail():
    """Two equal heads label the target so that the minimum-norm head is the source head: nothing is ruled out."""
    right = source_solution(3, 3)
    printed = Network(right.theta.abs(), right.phi)
    target, _ = TARGET.support(3)
    head = minimum_norm_head(printed.features(target), printed.outputs(target))
    assert torch.allclose(head, printed.theta)
    assert torch.allclose(minimum_norm_head(right.features(target), right.outputs(target)), torch.zeros(2).double())
