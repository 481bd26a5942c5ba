"""The terms of the bound for a model: against scikit-learn, sampling and hand-made tasks."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from cst.data.samples import TensorSamples
from cst.data.task import EncodedTask
from cst.models.model import Model
from cst.theory.report import bound_report
from encoded import encoded_in_memory


class Rounded(nn.Module):
    def forward(self, inputs):
        return inputs.float()


def clouds(shift, seed=0, count=150):
    """Three classes in four dimensions; the target is moved."""
    random = np.random.default_rng(seed)
    centres = np.eye(4)[:3] * 4 + 1
    labels = np.repeat(np.arange(3), count)
    source = centres[labels] + random.normal(size=(3 * count, 4))
    target = centres[labels] + random.normal(size=(3 * count, 4)) + shift
    return source.astype(np.float32), labels, target.astype(np.float32)


@pytest.fixture(scope="module")
def fitted():
    source, labels, target = clouds(np.array([0.7, -0.7, 0, 0]))
    head = nn.Linear(4, 3)
    with torch.no_grad():
        centred = source - source.mean(0)
        weights = np.linalg.lstsq(centred, np.eye(3)[labels] - 1 / 3, rcond=None)[0]
        head.weight.copy_(torch.from_numpy(weights.T))
        head.bias.copy_(torch.from_numpy(-(source.mean(0) @ weights)))
    return Model(nn.Identity(), head), source, labels, target


def test_the_terms_against_scikit_learn_and_sampling(fitted):
    model, source, labels, target = fitted
    task = encoded_in_memory((source, labels), target, target_labels=labels)
    report = bound_report(model, task, q=0.1, epsilon=0.2, radius=0.05)
    own = model(torch.from_numpy(target)).argmax(1).numpy()
    scale = np.sqrt((target**2).mean())
    ridge = Ridge(alpha=1e-3, fit_intercept=False).fit(target / scale, np.eye(3)[own])
    on_source, on_target = ridge.predict(source / scale), ridge.predict(target / scale)
    assert report.cycle_source_error == pytest.approx((on_source.argmax(1) != labels).mean())
    assert report.disagreement == pytest.approx((on_target.argmax(1) != own).mean())
    assert 0 < report.disagreement < 0.2
    assert report.oracle_error == pytest.approx((own != labels).mean())
    assert report.oracle_class_gap == pytest.approx(0)
    assert report.lipschitz == pytest.approx(np.linalg.norm(ridge.coef_, axis=1).max(), rel=1e-4)
    assert report.bound == pytest.approx(
        report.cycle_source_error + report.disagreement + 0.2 + report.robustness / 0.1
    )
    random = np.random.default_rng(1)
    shares = []
    for points, scores in ((source, on_source), (target, on_target)):
        changed = np.zeros(len(points), bool)
        for _ in range(300):
            move = random.normal(size=points.shape)
            move *= 0.05 / np.linalg.norm(move, axis=1, keepdims=True)
            changed |= ridge.predict(points / scale + move).argmax(1) != scores.argmax(1)
        shares.append(changed.mean())
    assert np.mean(shares) <= report.robustness <= np.mean(shares) + 0.02
    assert report.robustness > 0


def test_lemma_3_and_theorem_2_of_the_report(fitted):
    model, source, labels, target = fitted
    task = encoded_in_memory((source, labels), target)
    report = bound_report(model, task, q=0.1, epsilon=0.2, radius=0.05)
    slack = 1 - 2 * report.lipschitz * 0.05
    assert report.tau == pytest.approx(slack * 0.1)
    assert report.robustness <= report.robustness_by_confidence == pytest.approx((1 - report.mean_margin) / slack)
    assert report.cycle_margin_loss >= report.cycle_source_error
    assert report.target_margin_loss >= report.disagreement
    assert report.margin_bound == pytest.approx(
        report.cycle_margin_loss + report.target_margin_loss + (1 - report.mean_margin) / report.tau + 0.2
    )
    assert report.margin_bound >= report.bound
    wide = bound_report(model, task, radius=100.0)
    assert wide.robustness == 1
    assert (wide.tau, wide.robustness_by_confidence, wide.margin_bound) == (None, None, None)


def test_larger_neighbourhoods_are_less_robust_and_expand_more(fitted):
    model, source, labels, target = fitted
    report = bound_report(model, encoded_in_memory((source, labels), target))
    assert report.radius == pytest.approx(report.neighbour_distance / 2)
    robustness = [row.robustness for row in report.radii]
    expansion = [row.expansion for row in report.radii]
    assert robustness == sorted(robustness)
    assert robustness[0] < robustness[-1]
    assert expansion[0] == 0
    assert report.radii[0].bound is None


def test_of_a_partly_labelled_target_the_oracle_sees_the_labelled_part(fitted):
    model, source, labels, target = fitted
    known = labels == 1
    partly = np.where(known, labels, np.nan)
    report = bound_report(model, encoded_in_memory((source, labels), target, partly))
    own = model.eval()(torch.as_tensor(target, dtype=torch.float32)).argmax(1).numpy()
    assert report.oracle_error == pytest.approx((own != labels)[known].mean())
    assert report.oracle_class_gap == pytest.approx(1 - known.mean())


def test_without_target_labels_there_is_no_oracle_figure(fitted):
    model, source, labels, target = fitted
    report = bound_report(model, encoded_in_memory((source, labels), target))
    assert (report.oracle_error, report.oracle_class_gap) == (None, None)
    assert not report.refuted
    assert report.record()["oracle"] == {}


def test_a_bound_below_the_true_error_refutes_the_assumption():
    """Each class of the target lies where another class of the source does: robust, consistent and wrong."""
    source, labels, _ = clouds(0)
    target = np.concatenate([source[labels == (c + 1) % 3] for c in range(3)])
    truth = np.repeat(np.arange(3), 150)
    head = nn.Linear(4, 3)
    with torch.no_grad():
        head.weight.copy_(torch.tensor([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]))
        head.bias.zero_()
    task = encoded_in_memory((source, labels), target, target_labels=truth)
    report = bound_report(Model(nn.Identity(), head), task, q=0.05, epsilon=0.05, radius=1e-4)
    assert report.oracle_error > 0.9
    assert report.bound < 0.5
    assert report.refuted
    assert report.record()["oracle"]["error"] == report.oracle_error


def test_whole_numbers_are_not_moved():
    inputs = torch.randint(0, 9, (60, 4), generator=torch.Generator().manual_seed(0))
    labels = torch.arange(60) % 3
    task = EncodedTask(TensorSamples(inputs), labels, TensorSamples(inputs.flip(0)), (0, 1, 2))
    torch.manual_seed(0)
    report = bound_report(Model(Rounded(), nn.Linear(4, 3)), task)
    assert (report.input_radius, report.input_robustness) == (None, None)


def test_the_report_leaves_the_model_as_it_was(fitted):
    model, source, labels, target = fitted
    model.train()
    bound_report(model, encoded_in_memory((source, labels), target))
    assert model.training
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("options", "words"), [({"q": 0.0}, "q= must lie"), ({"epsilon": 2.0}, "epsilon"), ({"radius": -1.0}, "positive")]
)
def test_options_that_make_no_sense_are_refused(fitted, options, words):
    model, source, labels, target = fitted
    with pytest.raises(ValueError, match=words):
        bound_report(model, encoded_in_memory((source, labels), target), **options)
