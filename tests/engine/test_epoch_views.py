"""Passes over whole domains at the boundary of epochs: shared, and only those that somebody asks for."""

from collections import Counter
from typing import ClassVar

import pytest
import torch

import cst
from cst.config import Config
from cst.engine.evaluation import EVALUATION_BATCH, DomainView, Evaluation
from cst.engine.setup import set_up, settle
from cst.tasks.own import task_in_memory

SHORT = {"epochs": 3, "steps_per_epoch": 2, "batch_size": 16}


class Reader(cst.Term):
    """Looks at the whole target before each epoch."""

    def forward(self, step):
        return step.target.features.square().mean()

    seen: ClassVar[list[torch.Tensor]]

    def start_epoch(self, epoch):
        self.seen.append(epoch.target.logits)


class Another(Reader):
    """A second one."""


@pytest.fixture
def passes(monkeypatch):
    """How often each domain goes through the network as a whole, by domain."""
    counted = Counter()
    original = DomainView._features

    def counting(view):
        counted[view.domain, len(view.samples)] += 1
        return original(view)

    monkeypatch.setattr(DomainView, "_features", counting)
    return counted


@pytest.fixture(autouse=True)
def seen():
    """What both terms have seen at the start of each epoch."""
    Reader.seen, Another.seen = [], []
    return Reader.seen, Another.seen


def test_a_sampling_rule_two_terms_and_the_oracle_share_one_pass(passes, seen, shifted_blobs):
    source, labels, target, truth = shifted_blobs
    method = ["balanced", Reader(), Another()]
    adapted = cst.adapt((source, labels), target, method, target_labels=truth, **SHORT)
    # One before the first epoch, and one after each, which the oracle and the next epoch share; one for the verdict.
    assert passes == {("target", 120): 1 + 3 + 1, ("source", 160): 1}
    assert len(adapted.history) == 3
    assert "accuracy" in adapted.history[-1]["oracle"]
    first, second = seen
    assert len(first) == len(second) == 3
    assert all(one is other for one, other in zip(first, second, strict=True)), "the very tensor"
    assert not torch.equal(first[0], first[1]), "of the present weights"
    for record, after in zip(adapted.history, first[1:], strict=False):
        accuracy = (after.argmax(1).numpy() == truth).mean()
        assert record["oracle"]["accuracy"] == pytest.approx(accuracy, abs=1e-6)


def test_the_backbone_is_called_no_more_often_than_that(passes, shifted_blobs, monkeypatch):
    """The same, counted where the work is done: batches in evaluation mode."""
    source, labels, target, truth = shifted_blobs
    calls = []

    class Backbone(torch.nn.Linear):
        def forward(self, inputs):
            if not self.training:
                calls.append(len(inputs))
            return super().forward(inputs)

    rows = torch.tensor(target).repeat(3, 1)
    options = {"target_labels": list(truth) * 3, **SHORT}
    monkeypatch.setattr("cst.engine.train.look_after_adapting", lambda *_: ({}, None))
    cst.adapt((source, labels), rows, ["balanced", Reader(), Another()], Backbone(5, 4), **options)
    counted = Counter(calls)
    assert counted.pop(2) == 1, "two inputs, by which the length of features is found"
    assert counted == {EVALUATION_BATCH: 2 * 4, 360 - 2 * EVALUATION_BATCH: 4}


def test_what_nobody_asks_for_is_not_computed(passes, shifted_blobs):
    source, labels, target, _ = shifted_blobs
    cst.adapt((source, labels), target, "cst", **SHORT)
    only = {("source", 160): 1, ("target", 120): 1}
    assert passes == only, "no labels of the target, no term that looks at whole domains: the verdict alone does"


def test_a_part_that_is_watched_is_passed_apart_from_the_whole(passes, shifted_blobs, monkeypatch):
    monkeypatch.setattr("cst.engine.setup.WATCHED", 40)
    source, labels, target, truth = shifted_blobs
    options = {"target_labels": truth, **SHORT}
    cst.adapt((source, labels), target, ["balanced", Reader(), Another()], **options)
    assert passes == {("target", 120): 3 + 1, ("target", 40): 3, ("source", 160): 1}


def test_for_logits_alone_features_are_neither_asked_for_nor_kept(shifted_blobs, monkeypatch):
    monkeypatch.setattr("cst.engine.train.look_after_adapting", lambda *_: ({}, None))
    asked = property(lambda view: pytest.fail("nobody needs all features of a domain"))
    monkeypatch.setattr(DomainView, "features", asked)
    source, labels, target, truth = shifted_blobs
    method = ["balanced", Reader(), Another()]
    adapted = cst.adapt((source, labels), target, method, target_labels=truth, **SHORT)
    assert adapted.predict(target).shape == (120,)


@pytest.fixture
def training(shifted_blobs):
    source, labels, target, truth = shifted_blobs
    task = task_in_memory((source, labels), target, truth)
    return set_up(task, *settle(Config(batch_size=16), task))


def test_features_that_are_there_are_used_and_others_are_not_kept(passes, training):
    light, full = (DomainView(training.model, training.task.target, "target") for _ in range(2))
    logits = light.logits
    assert "features" not in vars(light)
    assert light.logits is logits
    assert passes == {("target", 120): 1}
    assert full.features.shape == (120, 256)
    torch.testing.assert_close(full.logits, logits)
    assert passes == {("target", 120): 2}


def test_all_figures_of_a_model_need_one_pass_of_each_domain(passes, training):
    evaluation = Evaluation(training.model, training.task)
    assert evaluation.figures(oracle=False)
    assert evaluation.figures(oracle=True)
    assert passes == {("source", 160): 1, ("target", 120): 1}


def test_a_view_leaves_the_model_as_it_was(training):
    model = training.model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    logits = DomainView(model, training.task.target, "target").logits
    assert model.training
    assert not logits.requires_grad
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in before.items())
