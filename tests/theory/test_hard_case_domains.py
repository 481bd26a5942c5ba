"""The domains of Table 1: the list of points, the samples and the closed form must tell the same story."""

import itertools

import pytest
import torch

from cst.theory.hard_case import SOURCE, TARGET
from cst.theory.hard_case.distributions import labels


@pytest.mark.parametrize("d", [3, 4, 6])
def test_the_source_is_table_1(d):
    points, chances = SOURCE.support(d)
    assert len(points) == 3 * (1 + 2 ** (d - 1))
    assert float(chances.sum()) == pytest.approx(1)
    table = {-1: 0.05, 0: 0.9, 1: 0.05}
    for coordinate in range(d):
        for value, chance in table.items():
            assert float(chances[points[:, coordinate] == value].sum()) == pytest.approx(chance)
    for first, second in itertools.product(table, repeat=2):
        both = (points[:, 0] == first) & (points[:, 1] == second)
        assert float(chances[both].sum()) == pytest.approx(table[first] * table[second])
    assert bool((points[:, 2:].abs() == points[:, 1:2].abs()).all())


@pytest.mark.parametrize("d", [3, 5])
def test_on_the_target_copies_follow_the_first_coordinate(d):
    points, chances = TARGET.support(d)
    assert bool((points[:, 2:].abs() == points[:, :1].abs()).all())
    for first, second in itertools.product((-1, 0, 1), repeat=2):
        both = (points[:, 0] == first) & (points[:, 1] == second)
        assert float(chances[both].sum()) == pytest.approx(
            (0.5 if first == 0 else 0.25) * (0.5 if second == 0 else 0.25)
        )


@pytest.mark.parametrize("domain", [SOURCE, TARGET])
def test_samples_have_the_frequencies_of_the_list(domain):
    d, count = 4, 200_000
    points, chances = domain.support(d)
    drawn = domain.sample((count,), d, torch.Generator().manual_seed(3))
    code = torch.tensor([27.0, 9.0, 3.0, 1.0], dtype=torch.float64)
    order = (points @ code).argsort()
    values, counts = torch.unique(drawn @ code, return_counts=True)
    assert torch.equal(values, (points @ code)[order])
    expected = chances[order] * count
    chi_square = float(((counts - expected).square() / expected).sum())
    assert chi_square < len(points) + 6 * (2 * len(points)) ** 0.5


@pytest.mark.parametrize("domain", [SOURCE, TARGET])
@pytest.mark.parametrize("d", [3, 5, 8])
def test_the_closed_form_of_a_squared_loss_equals_the_list(domain, d):
    generator = torch.Generator().manual_seed(d)
    matrix = torch.randn(20, d, d, generator=generator, dtype=torch.float64)
    matrix = matrix + matrix.mT
    points, chances = domain.support(d)
    values = torch.einsum("sd,kde,se->ks", points, matrix, points)
    assert torch.allclose(domain.expected_square(matrix), (values.square() * chances).sum(-1), rtol=1e-12)


def test_labels_are_the_same_rule_on_both_domains():
    assert labels(torch.tensor([[1.0, 0.0, 0.0], [0.0, -1.0, 1.0], [1.0, 1.0, -1.0]])).tolist() == [1, -1, 0]


def test_the_hard_case_breaks_an_assumption_of_theorem_1():
    shares = []
    for domain in (SOURCE, TARGET):
        points, chances = domain.support(3)
        shares.append(float(chances[labels(points) == 0].sum()))
    assert shares == [pytest.approx(0.82), pytest.approx(0.5)]


@pytest.mark.parametrize(("d", "words"), [(2, "at least 3"), (17, "too many")])
def test_sizes_that_make_no_sense_are_refused(d, words):
    with pytest.raises(ValueError, match=words):
        SOURCE.support(d)
