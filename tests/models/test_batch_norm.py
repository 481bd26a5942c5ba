"""Whose statistics count: the decision between `joint` and `per-domain`."""

import copy

import torch
from torch import nn

from cst.models.model import Model
from cst.terms.contract import Batch, Step


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU())


def batch(strong=False):
    torch.manual_seed(1)
    source, target = torch.randn(16, 4), 5 + 2 * torch.randn(16, 4)
    return Batch(source, torch.arange(16) % 3, target, torch.arange(16), target.flip(0) if strong else None)


def test_per_domain_normalises_each_domain_by_its_own_batch():
    backbone = network()
    plain = copy.deepcopy(backbone)
    step = Step(Model(backbone, nn.Linear(6, 3)).train(), batch())
    torch.testing.assert_close(step.source.features, plain(step.batch.source))
    torch.testing.assert_close(step.target.features, plain(step.batch.target))


def test_joint_normalises_both_by_one_concatenated_batch():
    backbone = network()
    plain = copy.deepcopy(backbone)
    step = Step(Model(backbone, nn.Linear(6, 3), "joint").train(), batch())
    together = plain(torch.cat([step.batch.source, step.batch.target]))
    torch.testing.assert_close(step.source.features, together[:16])
    torch.testing.assert_close(step.target.features, together[16:])


def test_evaluation_uses_the_statistics_that_training_meant():
    model = Model(network(), nn.Linear(6, 3)).train()
    data = batch()
    for _ in range(200):
        step = Step(model, data)
        _ = step.source.features, step.target.features
    model.eval()
    norm = model.backbone[1]
    hidden_s, hidden_t = model.backbone[0](data.source), model.backbone[0](data.target)
    torch.testing.assert_close(norm.source.running_mean, hidden_s.mean(0), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(norm.target.running_mean, hidden_t.mean(0), rtol=1e-3, atol=1e-3)
    expected = norm.target(hidden_t).relu()
    torch.testing.assert_close(model.features(data.target, "target"), expected)
    assert not torch.allclose(model.features(data.target, "source"), expected)


def test_affine_parameters_are_shared():
    model = Model(network(), nn.Linear(6, 3))
    norm = model.backbone[1]
    assert norm.source.weight is norm.target.weight
    assert norm.source.bias is norm.target.bias
    assert len(list(model.backbone.parameters())) == 4
    twin = copy.deepcopy(model).backbone[1]
    assert twin.source.weight is twin.target.weight


def test_strong_views_and_second_passes_leave_no_trace():
    model = Model(network(), nn.Linear(6, 3)).train()
    step = Step(model, batch(strong=True), ("source", "target", "strong"))
    _ = step.source.features, step.target.features
    before = {k: v.clone() for k, v in model.state_dict().items() if "running" in k}
    _ = step.strong.features
    again = step.again()
    torch.testing.assert_close(again.target.features, step.target.features)
    _ = again.source.features
    after = model.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())


def test_joint_statistics_ignore_a_target_that_no_term_reads():
    model = Model(network(), nn.Linear(6, 3), "joint").train()
    step = Step(model, batch(), views=("source",))
    _ = step.source.features
    before = model.backbone[1].running_mean.clone()
    _ = step.target.features
    assert torch.equal(model.backbone[1].running_mean, before)


def test_networks_without_batch_norm_take_one_pass():
    for batch_norm in ("joint", "per-domain"):
        assert Model(nn.Linear(4, 6), nn.Linear(6, 3), batch_norm).shared_statistics


def test_a_bottleneck_with_batch_norm_separates_too():
    from cst.models.model import head

    model = Model(nn.Linear(4, 6), head(6, 3, bottleneck=5))
    assert not model.shared_statistics
    assert model(torch.randn(4, 4)).shape == (4, 3)


def test_second_passes_do_not_count_for_cumulative_averages():
    backbone = nn.Sequential(nn.BatchNorm1d(4, momentum=None))
    model = Model(backbone, nn.Linear(4, 3)).train()
    data = batch()
    for shift in (0.0, 1.0):
        moved = Batch(data.source, data.labels, data.target + shift, data.target_indices)
        step = Step(model, moved)
        _ = step.source.features, step.target.features, step.again().target.features
    torch.testing.assert_close(model.backbone[0].target.running_mean, data.target.mean(0) + 0.5)
