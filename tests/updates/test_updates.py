import pytest
import torch
from torch import nn

from cst.engine.objective import Objective
from cst.grammar import parse_method
from cst.models.model import Model
from cst.terms.contract import Batch, Step
from cst.updates import UPDATES
from cst.updates.sam import SharpnessAware
from cst.updates.sgd import Plain


class Again:
    """A stand-in for a step that counts how often it is computed anew."""

    def __init__(self):
        self.count = 0

    def again(self, track=False):
        self.count += 1
        return self


def quartic(weight):
    return lambda step: {"total": (weight**4).sum() / 4}


@pytest.mark.parametrize(("adaptive", "rho"), [(False, 0.1), (True, 0.5)])
def test_sam_descends_with_the_gradient_of_the_worst_neighbour(adaptive, rho):
    start = torch.tensor([1.0, -2.0, 0.5])
    weight = nn.Parameter(start.clone())
    update = SharpnessAware(torch.optim.SGD([weight], lr=0.01), lambda loss: loss.backward(), rho, adaptive)
    step = Again()
    update.take(quartic(weight), step)

    gradient = start**3
    if adaptive:
        climb = rho * start**2 * gradient / (start.abs() * gradient).norm()
    else:
        climb = rho * gradient / gradient.norm()
    expected = start - 0.01 * (start + climb) ** 3
    torch.testing.assert_close(weight.detach(), expected)
    assert step.count == 1


def test_sam_returns_the_losses_before_the_climb():
    weight = nn.Parameter(torch.tensor([2.0]))
    update = SharpnessAware(torch.optim.SGD([weight], lr=0.01), lambda loss: loss.backward())
    assert float(update.take(quartic(weight), Again())["total"].detach()) == 4.0


def test_rho_follows_the_form():
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    assert SharpnessAware(optimizer, print).rho == 0.05
    assert SharpnessAware(optimizer, print, adaptive=True).rho == 0.5


@pytest.mark.parametrize(
    ("method", "passes"),
    [("cst+sam", 1), ("fixmatch+sam", 1), ("fixmatch(track=true)+sam", 2), ("cst-official", 4)],
)
def test_which_passes_feed_the_running_statistics(method, passes):
    """Both domains and the strong view, at the weights and at the perturbed ones: all of them in the published code."""
    torch.manual_seed(0)
    model = Model(nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5)), nn.Linear(5, 3), "joint").train()
    parsed = parse_method(method)
    objective = Objective(parsed, model, num_classes=3, feature_dim=5, num_target=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    update = UPDATES[parsed.update.name](optimizer, lambda loss: loss.backward(), **parsed.update.options)
    inputs = torch.randn(3, 8, 4)
    batch = Batch(inputs[0], torch.arange(8) % 3, inputs[1], torch.arange(8), strong=inputs[2])
    update.take(objective, Step(model, batch, objective.views))
    assert int(model.backbone[1].num_batches_tracked) == passes


def test_plain_takes_one_gradient_step():
    weight = nn.Parameter(torch.tensor([2.0]))
    step = Again()
    Plain(torch.optim.SGD([weight], lr=0.1), lambda loss: loss.backward()).take(quartic(weight), step)
    assert float(weight.detach()) == pytest.approx(2 - 0.1 * 8)
    assert step.count == 0
