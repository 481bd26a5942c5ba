"""Theorems 3 and 4: the exact solvers against listing everything, and the probabilities that follow."""

import itertools

import numpy as np
import pytest
import torch
from scipy.stats import binom

from cst.theory.hard_case import (
    SOURCE,
    TARGET,
    cycle_losses,
    cycle_self_training,
    feature_adaptation,
    feature_distances,
    minimum_norm_head,
    promises,
    self_training,
    source_solution,
)
from cst.theory.hard_case.trials import exact_trials


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def variation_by_events(first, second):
    """The supremum over all events of two distributions given as dictionaries."""
    values = sorted({*first, *second})
    return max(
        abs(sum(first.get(v, 0) - second.get(v, 0) for v in event))
        for size in range(len(values) + 1)
        for event in itertools.combinations(values, size)
    )


def distribution(features, chances):
    found = {}
    for row, chance in zip(features.numpy().round(6), chances.numpy(), strict=True):
        found[tuple(row)] = found.get(tuple(row), 0) + chance
    return found


@pytest.mark.parametrize("n", [1, 7, 30])
def test_feature_distances_are_the_supremum_over_events(n):
    d = 5
    samples = TARGET.sample((4, n), d, generator(n))
    points, chances = SOURCE.support(d)
    equal = torch.full((n,), 1 / n, dtype=torch.float64)
    found = feature_distances(samples)
    for trial, coordinate in itertools.product(range(4), range(2, d + 1)):
        network = source_solution(coordinate, d)
        source = distribution(network.features(points), chances)
        target = distribution(network.features(samples[trial]), equal)
        assert float(found[trial, coordinate - 2]) == pytest.approx(variation_by_events(source, target))


def test_source_features_and_the_distances_of_the_proof():
    points, chances = SOURCE.support(4)
    target, shares = TARGET.support(4)
    for coordinate, right in ((2, 0.56), (3, 0.49), (4, 0.49)):
        network = source_solution(coordinate, 4)
        source = distribution(network.features(points), chances)
        assert sorted(source.values()) == pytest.approx([0.01, 0.09, 0.09, 0.81])
        distance = variation_by_events(source, distribution(network.features(target), shares))
        assert distance == pytest.approx(right)
        assert distance != pytest.approx(0.40)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_minimum_norm_head_is_that_of_least_squares(rank):
    random = np.random.default_rng(rank)
    features = random.normal(size=(6, 12, rank)) @ random.normal(size=(6, rank, 4))
    targets = random.normal(size=(6, 12))
    found = minimum_norm_head(torch.from_numpy(features), torch.from_numpy(targets))
    for z, y, head in zip(features, targets, found, strict=True):
        assert head.numpy() == pytest.approx(np.linalg.lstsq(z, y, rcond=1e-10)[0], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_cycle_losses_are_those_of_the_networks(n):
    d = 5
    samples = TARGET.sample((30, n), d, generator(n))
    points, chances = SOURCE.support(d)
    found = cycle_losses(samples)
    for trial, coordinate in itertools.product(range(len(samples)), range(2, d + 1)):
        network = source_solution(coordinate, d)
        features = network.features(samples[trial]).numpy()
        head = np.linalg.lstsq(features, network.outputs(samples[trial]).numpy(), rcond=1e-10)[0]
        gaps = network.features(points).numpy() @ (head - network.theta.numpy())
        assert float(found[trial, coordinate - 2]) == pytest.approx((gaps**2 * chances.numpy()).sum(), abs=1e-12)


@pytest.mark.parametrize("n", [2, 10, 200])
def test_spurious_solutions_have_a_cycle_loss_of_018_on_every_sample(n):
    losses = cycle_losses(TARGET.sample((100, n), 6, generator(n)))
    assert torch.allclose(losses[:, 1:], torch.full_like(losses[:, 1:], 0.18))


def all_samples(n):
    """All target samples of n points for d = 3, up to signs: [4^n, n, 3], equally likely."""
    cells = torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]], dtype=torch.float64)
    return torch.stack([cells[list(places)] for places in itertools.product(range(4), repeat=n)])


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_cst_recovers_with_the_probability_of_two_nonzero_values(n):
    samples = all_samples(n)
    chosen = cycle_self_training(samples, generator())
    assert set(chosen.tolist()) <= {0, 2}
    assert float((chosen == 2).double().mean()) == pytest.approx(promises.cycle_recovers(n))
    codes = (2 * samples[..., 0] + samples[..., 1]).long()
    all_four = torch.stack([(codes == value).any(1) for value in range(4)]).all(0)
    assert bool((chosen[all_four] == 2).all())
    assert promises.cycle_recovers_printed(n) <= float(all_four.double().mean()) + 1e-12
    assert float(all_four.double().mean()) <= promises.cycle_recovers(n)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_adaptation_errs_with_the_probability_that_was_summed(n):
    samples = all_samples(n)
    distances = feature_distances(samples)
    less = (distances[:, 1] < distances[:, 0] - 1e-9).double().mean()
    equal = ((distances[:, 1] - distances[:, 0]).abs() <= 1e-9).double().mean()
    assert promises.adaptation_errs(n, 3) == pytest.approx(float(less + equal / 2))
    assert promises.adaptation_errs(n, 11) == pytest.approx(float(less + equal * 0.9))


def strictly(n):
    """The probability that spurious features are strictly nearer, so that no draw decides."""
    counts, chances = promises.samples_of_size(n)
    good, spurious = promises.cell_distances(counts)
    return float(chances[spurious < good - 1e-9].sum())


def test_the_counts_of_a_sample_are_multinomial():
    counts, chances = promises.samples_of_size(9)
    assert float(chances.sum()) == pytest.approx(1)
    assert len(counts) == 220
    second = torch.zeros(10, dtype=torch.float64).index_add_(0, counts[:, 1], chances)
    assert second.numpy() == pytest.approx(binom.pmf(np.arange(10), 9, 0.25))


def test_theorem_3_needs_more_samples_than_its_proof_says():
    assert strictly(50) < promises.adaptation_errs_printed(50)
    for n in (100, 150):
        assert promises.adaptation_errs(n, 3) < promises.adaptation_errs_printed(n)
        assert promises.adaptation_errs(n, 50) < promises.adaptation_errs_printed(n)


@pytest.mark.parametrize("n", [2, 20, 50, 80, 120, 200])
def test_the_corrected_constant_of_theorem_3_holds(n):
    assert promises.adaptation_errs_corrected(n) <= strictly(n)


def test_the_condition_behind_the_corrected_constant():
    """More than 0.18 of 01 and at least 0.19 of a nonzero x_1 put spurious features nearer; fewer need not."""
    counts, _ = promises.samples_of_size(50)
    good, spurious = promises.cell_distances(counts)
    shares = counts.double() / 50
    enough = (shares[:, 1] > 0.18 + 1e-9) & (shares[:, 2:].sum(1) >= 0.19)
    assert bool((spurious < good)[enough].all())
    assert not bool((spurious < good)[shares[:, 1] > 0.18 + 1e-9].all())
    assert not bool((spurious < good)[shares[:, 2:].sum(1) >= 0.19].all())


def test_the_product_form_of_target_features_holds_for_q_but_not_for_samples():
    """The proof writes the share of (0, 0) in a sample as a square of one marginal share."""
    samples = TARGET.sample((1, 50), 3, generator())
    first, second = samples[0, :, 0] == 0, samples[0, :, 1] == 0
    assert float((first & second).double().mean()) != pytest.approx(float(second.double().mean()) ** 2, abs=1e-3)
    points, chances = TARGET.support(3)
    both = (points[:, 0] == 0) & (points[:, 1] == 0)
    assert float(chances[both].sum()) == pytest.approx(float(chances[points[:, 1] == 0].sum()) ** 2)


def test_the_concentration_lemma_needs_its_factor_of_two():
    failed = []
    for n in range(1, 60):
        counts = np.arange(n + 1)
        for t in (0.05, 0.14, 0.3, 0.4, 0.49):
            tail = binom.pmf(counts, n, 0.5)[np.abs(counts / n - 0.5) > t + 1e-12].sum()
            assert tail <= 2 * np.exp(-2 * n * t**2)
            failed.append(tail > np.exp(-2 * n * t**2))
    assert any(failed)


@pytest.mark.parametrize("d", [3, 7])
def test_self_training_keeps_its_teachers_mistake(d):
    samples = TARGET.sample((6000, 12), d, generator())
    chosen = self_training(samples, generator(1))
    counts = torch.bincount(chosen, minlength=d + 1)[2:].double()
    expected = 6000 / (d - 1)
    assert float(((counts - expected).square() / expected).sum()) < (d - 2) + 5 * (2 * (d - 2)) ** 0.5


def test_spurious_classes_label_the_target_alike_and_the_good_one_by_chance():
    """Pseudo-labels do not tell spurious classes apart: the joint problem keeps l > 2, not l itself."""
    n = 3
    samples = all_samples(n)
    outputs = samples[..., :1].square() - samples[..., 1:].square()
    assert bool((outputs[..., 1:] == 0).all())
    alike = (outputs[..., 0] == 0).all(1).double().mean()
    assert float(alike) == 0.5**n


def test_feature_adaptation_takes_a_nearest_class():
    samples = TARGET.sample((300, 40), 6, generator())
    distances = feature_distances(samples)
    chosen = feature_adaptation(samples, generator(1))
    taken = distances.gather(1, (chosen - 2).unsqueeze(1)).squeeze(1)
    assert torch.allclose(taken, distances.amin(1))
    assert len(set(chosen.tolist())) == 5


def test_shares_agree_with_exact_probabilities():
    shares, quantities = exact_trials(d=5, n=6, trials=20_000, seed=11)
    for row in shares:
        tolerance = 4 * (row.exact * (1 - row.exact) / row.trials) ** 0.5
        assert row.share == pytest.approx(row.exact, abs=tolerance)
        low, high = row.interval
        assert low < row.share < high
    assert [row.exact for row in quantities] == pytest.approx([0.56, 0.49, 0, 0.18, 0, 0.5])


def test_the_largest_table_and_its_seed():
    shares, quantities = exact_trials(d=50, n=200, trials=1000, seed=0)
    again, _ = exact_trials(d=50, n=200, trials=1000, seed=0)
    other, _ = exact_trials(d=50, n=200, trials=1000, seed=1)
    assert shares == again
    assert [row.hits for row in shares] != [row.hits for row in other]
    assert shares[2].hits == 1000
    assert quantities[3].mean == pytest.approx(0.18)
