"""One whole step of CST on a tiny network against the same step written by hand in NumPy."""

import numpy as np
import pytest
import torch
from torch import nn

from cst.engine.objective import Objective
from cst.grammar import parse_method
from cst.models.model import Model
from cst.terms.contract import Batch, Step
from cst.updates.sgd import Plain

N, INPUTS, FEATURES, CLASSES = 12, 5, 4, 3
LR, L2, ALPHA, RAMP, EPOCHS = 0.1, 1e-2, 1.4, 2.0, 0.5


def numpy_step(xs, ys, xt, weight, head, bias, alpha):
    """Gradients of L_P(theta_s) + L_P(theta_t) + w S_alpha for tanh features, chain rule by hand."""

    def softmax(x):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    onehot = np.eye(CLASSES)
    zs, zt = np.tanh(xs @ weight.T), np.tanh(xt @ weight.T)
    ps, pt = softmax(zs @ head.T + bias), softmax(zt @ head.T + bias)

    source_logits = (ps - onehot[ys]) / N
    power = (pt ** (alpha - 1) - 1) / (alpha - 1)
    tsallis_logits = EPOCHS / RAMP * -alpha * pt * (power - (pt * power).sum(1, keepdims=True)) / N

    pseudo = onehot[pt.argmax(1)]
    inverse = np.linalg.inv(zt.T @ zt + L2 * np.eye(FEATURES))
    target_head = inverse @ zt.T @ pseudo
    residual = 2 * (zs @ target_head - onehot[ys]) / (N * CLASSES)
    v = inverse @ zs.T @ residual
    cycle_zs = residual @ target_head.T
    cycle_zt = pseudo @ v.T - zt @ (v @ target_head.T + target_head @ v.T)

    grad_zs = source_logits @ head + cycle_zs
    grad_zt = tsallis_logits @ head + cycle_zt
    grad_weight = (grad_zs * (1 - zs**2)).T @ xs + (grad_zt * (1 - zt**2)).T @ xt
    grad_head = source_logits.T @ zs + tsallis_logits.T @ zt
    grad_bias = source_logits.sum(0) + tsallis_logits.sum(0)
    losses = {
        "source": -np.log(ps[np.arange(N), ys]).mean(),
        "cycle": ((zs @ target_head - onehot[ys]) ** 2).mean(),
        "tsallis": ((1 - (pt**alpha).sum(1)) / (alpha - 1)).mean(),
    }
    return weight - LR * grad_weight, head - LR * grad_head, bias - LR * grad_bias, losses


@pytest.mark.parametrize("alpha", [ALPHA, 1.0 + 1e-9, 2.0])
def test_one_step_of_cst(alpha):
    random = np.random.default_rng(3)
    xs, xt = random.normal(size=(N, INPUTS)), random.normal(size=(N, INPUTS)) + 0.3
    ys = random.integers(CLASSES, size=N)
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Linear(INPUTS, FEATURES, bias=False), nn.Tanh())
    model = Model(backbone, nn.Linear(FEATURES, CLASSES)).double()
    weight, head, bias = (p.detach().numpy().copy() for p in model.parameters())
    expected_weight, expected_head, expected_bias, expected = numpy_step(xs, ys, xt, weight, head, bias, alpha)

    head_options, plain = "normalize=false, centred=false", "balanced=false, temperature=1.0"
    method = parse_method(f"source+cycle(l2={L2}, {head_options})+tsallis(alpha={alpha}, {plain})")
    sizes = {"num_classes": CLASSES, "feature_dim": FEATURES, "num_target": N}
    objective = Objective(method, model, **sizes, ramp_epochs=RAMP).double()
    batch = Batch(*(torch.tensor(a) for a in (xs, ys, xt)), target_indices=torch.arange(N))
    update = Plain(torch.optim.SGD(model.parameters(), lr=LR), lambda loss: loss.backward())
    losses = update.take(objective, Step(model, batch, epochs=EPOCHS))

    for name, value in expected.items():
        assert float(losses[name].detach()) == pytest.approx(value, rel=1e-6), name
    found = [p.detach().numpy() for p in model.parameters()]
    for ours, theirs in zip(found, (expected_weight, expected_head, expected_bias), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
    assert np.abs(found[0] - weight).max() > 1e-4
