"""Warm-up and ramps."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import cst
from cst.engine.objective import Objective
from cst.grammar import parse_method
from cst.models.model import Model


def test_other_terms_wait_for_the_source_and_then_grow():
    model = Model(nn.Linear(5, 5), nn.Linear(5, 3))
    sizes = {"num_classes": 3, "feature_dim": 5, "num_target": 20}
    objective = Objective(parse_method("cst"), model, **sizes, ramp_epochs=2, warmup_epochs=1)
    assert [objective.weight("source", epochs) for epochs in (0, 1, 9)] == [1, 1, 1]
    assert [objective.weight("cycle", epochs) for epochs in (0, 0.9, 1, 9)] == [0, 0, 1, 1]
    assert [objective.weight("tsallis", epochs) for epochs in (0, 0.9, 1, 2, 3, 9)] == [0, 0, 0, 0.5, 1, 1]


@pytest.mark.parametrize("method", ["cst", "mixmatch", "mcd", "cst+sam", "sentry", "mean-teacher"])
def test_a_run_that_only_warms_up_is_a_run_on_the_source(shifted_blobs, method):
    source, labels, target, _ = shifted_blobs
    settings = {"epochs": 1, "steps_per_epoch": 3, "warmup_epochs": 0.9, "batch_norm": "per-domain"}
    adapted = cst.adapt((source, labels), target, method, **settings)
    assert adapted.history[0]["loss"].keys() - {"discrepancy"} == {"source", "total"}
    if method in ("cst", "mixmatch", "mean-teacher"):
        plain = cst.adapt((source, labels), target, "source-only", **{**settings, "warmup_epochs": 0})
        ours, theirs = adapted.model.state_dict(), plain.model.state_dict()
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs if "target" not in name)


def warming():
    model = Model(nn.Linear(5, 4), nn.Linear(4, 3))
    sizes = {"num_classes": 3, "feature_dim": 4, "num_target": 10}
    return Objective(parse_method("cst"), model, **sizes, ramp_epochs=2, warmup_epochs="auto")


def test_a_warm_up_of_open_length_ends_when_the_source_is_learned():
    objective = warming()
    for epochs, loss in enumerate((1.0, 0.5, 0.3), start=1):
        objective.end_epoch(epochs, 40, loss)
        assert objective.weight("cycle", epochs) == 0
    objective.end_epoch(4, 40, 0.29)  # hardly less than before
    assert objective.weight("cycle", 4) == 1
    assert objective.weight("tsallis", 5) == 0.5, "ramps begin after it"
    objective.end_epoch(5, 40, 0.1)
    assert objective.warm_until == 4, "it does not begin again"


def test_it_takes_at_most_a_quarter_of_the_run_and_survives_a_checkpoint():
    objective, other = warming(), warming()
    objective.end_epoch(1, 8, 1.0)
    other.load_state_dict(objective.state_dict())
    other.end_epoch(2, 8, 0.1)
    assert other.warm_until == 2


def test_short_runs_have_no_open_warm_up(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    short, longer = (cst.adapt((source, labels), target, epochs=e, steps_per_epoch=1) for e in (3, 4))
    assert short.settings.warmup_epochs == 0
    assert longer.settings.warmup_epochs == "auto"
    assert "cycle" in short.history[0]["loss"]
    assert "cycle" not in longer.history[0]["loss"]
    assert "cycle" in longer.history[-1]["loss"]


def test_schedules_begin_when_the_warm_up_ends():
    objective = warming()
    assert [objective.progress(epochs, 10) for epochs in (0, 4)] == [0, 0]
    objective.end_epoch(1, 4, source_loss=1.0)
    assert objective.warm_until == 1
    assert [objective.progress(epochs, 4) for epochs in (0.5, 1, 2.5, 4)] == [0, 0, 0.5, 1]


def test_a_term_that_waits_through_an_epoch_is_not_told_of_it(monkeypatch):
    objective = warming()
    told = []
    monkeypatch.setattr(type(objective.terms["tsallis"]), "start_epoch", lambda self, epoch: told.append(epoch.number))
    for number in range(3):
        objective.start_epoch(SimpleNamespace(number=number))
    assert told == []  # nobody knows yet how long it will last
    objective.warm_until = 1.5
    for number in range(3):
        objective.start_epoch(SimpleNamespace(number=number))
    assert told == [1, 2]
    objective.warm_until = 2.0
    for number in range(3):
        objective.start_epoch(SimpleNamespace(number=number))
    assert told == [1, 2, 2]


def test_a_small_table_is_seen_several_times_in_an_epoch(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    adapted = cst.adapt((source, labels), target, "source-only", epochs=1)
    assert adapted.settings.steps_per_epoch == 50
    own = cst.adapt((source, labels), target, "source-only", backbone=nn.Linear(source.shape[1], 4), epochs=1)
    assert own.settings.steps_per_epoch == max(len(source), len(target)) // own.settings.batch_size
