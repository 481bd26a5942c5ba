"""Numbers of the figures against independent references."""

import itertools
import statistics

import numpy as np
import pytest
import torch
from sklearn import metrics

from cst.analysis.margins import margin_histogram
from cst.analysis.plates.bars import accuracies
from cst.analysis.plates.embedding import embedding, mixing
from cst.analysis.plates.tsallis import binary_entropies
from cst.analysis.report.gallery import LEAST, MOST, chosen
from cst.analysis.report.sections import confusion_counts
from cst.analysis.roc import criteria, roc
from cst.analysis.shares import distances, least_error

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("levels", [2, 7, 10_000])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
def test_the_roc_curve_is_scikit_learns(levels, share):
    right = RANDOM.random(400) < share
    scores = np.round(RANDOM.normal(size=400) + right, 6)
    scores = np.floor(scores * levels) / levels  # few levels give many ties
    curve = roc(scores, right)
    false, true, _ = metrics.roc_curve(right, scores, drop_intermediate=False)
    np.testing.assert_allclose(curve.false_positives, false)
    np.testing.assert_allclose(curve.true_positives, true)
    assert curve.area == pytest.approx(metrics.roc_auc_score(right, scores))
    thin = curve.thinned(20)
    assert len(thin.false_positives) <= 20
    assert (thin.false_positives[-1], thin.true_positives[-1], thin.area) == (1, 1, curve.area)


def test_there_is_no_curve_where_nothing_is_to_be_told_apart():
    assert roc([0.1, 0.2], [True, True]) is None
    assert roc([0.1, 0.2], [False, False]) is None


def test_the_criteria_are_the_papers():
    probs = torch.softmax(torch.randn(50, 6, generator=torch.Generator().manual_seed(0)), -1)
    scores = criteria(probs)
    np.testing.assert_allclose(scores["confidence"], probs.max(1).values)
    plain = probs.double().numpy()
    np.testing.assert_allclose(scores["entropy"], (plain * np.log(plain)).sum(1), rtol=1e-6)


def test_total_variation_bounds_the_error_from_below():
    random = torch.Generator().manual_seed(0)
    for num_classes, _ in itertools.product((2, 3, 12), range(100)):
        bias = torch.rand(num_classes, generator=random) ** 3
        predicted = torch.multinomial(bias, 40, replacement=True, generator=random)
        labels = torch.randint(num_classes, (40,), generator=random)
        error = float((predicted != labels).double().mean())
        assert least_error(predicted, labels, num_classes) <= error + 1e-6


def test_the_bound_is_reached_by_some_order_of_the_same_pseudo_labels():
    from scipy.optimize import linear_sum_assignment

    random = np.random.default_rng(1)
    for _ in range(20):
        predicted, labels = random.integers(4, size=24) ** 2 // 3, random.integers(4, size=24)
        wrong = (predicted[:, None] != labels[None, :]).astype(float)
        best = wrong[linear_sum_assignment(wrong)].mean()
        assert least_error(torch.tensor(predicted), torch.tensor(labels), 4) == pytest.approx(best, abs=1e-6)


def test_distances_are_half_the_sum_of_differences():
    shares = RANDOM.dirichlet(np.ones(5), size=6)
    reference = RANDOM.dirichlet(np.ones(5))
    expected = np.abs(shares - reference).sum(1) / 2
    np.testing.assert_allclose(distances(shares.tolist(), reference.tolist()), expected, atol=1e-6)


def test_the_histogram_of_margins_is_numpys():
    probs = torch.softmax(3 * torch.randn(500, 4, generator=torch.Generator().manual_seed(0)).double(), -1)
    top = np.sort(probs.numpy(), 1)
    counts, _ = np.histogram(top[:, -1] - top[:, -2], bins=20, range=(0, 1))
    np.testing.assert_allclose(margin_histogram(probs), counts / 500)
    assert margin_histogram(torch.tensor([[1.0, 0.0]]))[-1] == 1


def test_binary_entropies_are_the_definition():
    numbers = binary_entropies()
    p = np.asarray(numbers["probability"][1:-1])
    for alpha in (1.2, 1.6, 2.0):
        expected = (1 - p**alpha - (1 - p) ** alpha) / (alpha - 1)
        np.testing.assert_allclose(numbers["entropy"][f"{alpha:.1f}"][1:-1], expected, atol=1e-5)
    gibbs = -p * np.log(p) - (1 - p) * np.log(1 - p)
    np.testing.assert_allclose(numbers["entropy"]["1.0"][1:-1], gibbs, atol=1e-5)
    assert {values[0] for values in numbers["entropy"].values()} == {0.0}


def test_bars_are_means_and_deviations():
    rows = [("a", "cst", 0.7), ("b", "cst", 0.5), ("a", "cst", 0.9), ("a", "dann", 0.6), ("a", "cst", 0.8)]
    table = accuracies(rows)
    assert table["a"]["cst"]["mean"] == pytest.approx(0.8)
    assert table["a"]["cst"]["deviation"] == pytest.approx(statistics.stdev([0.7, 0.9, 0.8]))
    assert (table["a"]["cst"]["runs"], table["b"]["cst"]["deviation"]) == (3, 0)


def test_domains_that_lie_on_each_other_mix_and_others_do_not():
    one, two = RANDOM.normal(size=(150, 4)), RANDOM.normal(size=(50, 4))
    assert mixing(one, two) == pytest.approx(1, abs=0.15)
    assert mixing(one, two + 20) == 0


@pytest.mark.parametrize(("count", "width"), [(40, 50), (4, 3), (30, 1)])
def test_the_plane_takes_many_few_and_flat_features(count, width):
    source, target = RANDOM.normal(size=(count, width)), RANDOM.normal(size=(count + 1, width))
    ours, theirs = embedding(source, target)
    assert (ours.shape, theirs.shape) == ((count, 2), (count + 1, 2))
    assert np.isfinite(ours).all()
    np.testing.assert_array_equal(embedding(source, target)[0], ours)


def test_the_confusion_is_scikit_learns():
    predicted, labels = RANDOM.integers(5, size=(2, 90))
    expected = metrics.confusion_matrix(labels, predicted, labels=range(5))
    assert confusion_counts(torch.tensor(predicted), torch.tensor(labels), 5) == expected.tolist()


@pytest.mark.parametrize("num_classes", [2, 10, 65, 200])
def test_examples_are_the_most_and_least_certain_of_each_class(num_classes):
    random = torch.Generator().manual_seed(0)
    predicted = torch.randint(num_classes, (3000,), generator=random)
    margins = torch.rand(3000, generator=random)
    examples = chosen(predicted, margins, num_classes)
    assert len(examples) == len({example.position for example in examples}) <= 96
    for number in {int(predicted[example.position]) for example in examples}:
        places = {side: [] for side in (MOST, LEAST)}
        for example in examples:
            if predicted[example.position] == number:
                places[example.certainty].append(float(margins[example.position]))
        of_class = sorted(margins[predicted == number].tolist())
        assert sorted(places[LEAST]) == of_class[: len(places[LEAST])]
        assert sorted(places[MOST]) == of_class[len(of_class) - len(places[MOST]) :]


def test_a_class_with_one_sample_is_shown_once():
    examples = chosen(torch.tensor([0, 1, 1]), torch.tensor([0.5, 0.9, 0.1]), 3)
    assert [(e.position, e.certainty) for e in examples] == [(0, MOST), (1, MOST), (2, LEAST)]
