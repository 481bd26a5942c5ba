"""Warm-up and ramps."""

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
    settings = {"epochs": 1, "steps_per_epoch": 3, "warmup_epochs": 0.9}
    adapted = cst.adapt((source, labels), target, method, **settings)
    assert adapted.history[0]["loss"].keys() - {"discrepancy"} == {"source", "total"}
    if method in ("cst", "mixmatch", "mean-teacher"):
        plain = cst.adapt((source, labels), target, "source-only", **{**settings, "warmup_epochs": 0})
        ours, theirs = adapted.model.state_dict(), plain.model.state_dict()
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs if "target" not in name)
