"""What the processes of these tests do: importable by all of them."""

import os
import signal
from pathlib import Path

import numpy as np
import torch
from torch import nn

from cst.config import Config
from cst.data.images import ImageFiles
from cst.data.samples import own_rows
from cst.engine import setup
from cst.engine.callbacks import Callback
from cst.engine.evaluation import DomainView
from cst.engine.joining import joined
from cst.engine.train import train
from cst.files import write_text_aside
from cst.grammar import parse_method
from cst.models.model import Model
from cst.ranks import group, rows
from cst.tasks.own import task_in_memory
from cst.terms.contract import Term

STEPS, EPOCHS = 3, 2
KEPT = 5
"""The step after which weights are looked at."""
OPTIONS = {
    # Thresholds that the first steps reach, so that these terms have a gradient.
    "fixmatch": {"fixmatch.threshold": 0.3},
    "fixmatch+tsallis": {"fixmatch.threshold": 0.3},
    "mdd+fixmatch": {"fixmatch.threshold": 0.3},
    "cst-official": {"fixmatch.threshold": 0.3},
    "mean-teacher": {"mean-teacher.threshold": 0.3},
}


def blobs():
    """Three classes in six dimensions; the target is moved. (source, labels, target, target labels)"""
    random = np.random.default_rng(0)
    centres, labels = 3 * random.normal(size=(3, 6)), np.arange(48) % 3
    source, target = (centres[labels] + random.normal(size=(48, 6)) for _ in range(2))
    return source.astype(np.float32), labels, (target + 0.5).astype(np.float32), labels


def network(norm=False):
    torch.manual_seed(1)
    norms = [nn.BatchNorm1d(16)] if norm else []
    return nn.Sequential(nn.Linear(6, 16), *norms, nn.Tanh(), nn.Linear(16, 8), nn.Tanh())


def configuration(method, **options):
    usual = {"epochs": EPOCHS, "steps_per_epoch": STEPS, "batch_size": 16}
    usual |= {"warmup_epochs": 0, "ramp_epochs": 0, "guard": 0.0}
    option = OPTIONS.get(method, {})
    return Config(**{"task": "arrays", "device": "cpu", "method": method, "option": option, **usual, **options})


def taught(method, module, **options):
    """Losses of each epoch, gradients of each step, weights after five steps and at the end, probabilities."""
    source, labels, target, truth = blobs()
    gradients, kept, objectives = [], {}, []

    def watched(objective, *parts, make=setup.make_optimizer):
        optimizer = make(objective, *parts)
        objectives.append(objective)
        optimizer.register_step_pre_hook(
            lambda *_: gradients.append([w.grad.clone() for w in objective.parameters() if w.grad is not None])
        )
        return optimizer

    class Watching(Callback):
        def on_step(self, step, total):
            if step == KEPT:
                state = objectives[0].state_dict()
                kept.update({name: value.clone() for name, value in state.items() if isinstance(value, torch.Tensor)})

    before, setup.make_optimizer = setup.make_optimizer, watched
    try:
        config = configuration(method, **options)
        task = task_in_memory((source, labels), target, truth)
        adapted = train(task, config, parse_method(method), module, callbacks=[Watching()], tell=lambda _: None)
    finally:
        setup.make_optimizer = before
    weights = {name: value.clone() for name, value in adapted.model.state_dict().items()}
    return {
        "losses": [record["loss"] for record in adapted.history],
        "gradients": gradients,
        "after five steps": kept,
        "weights": weights,
        "probabilities": torch.as_tensor(adapted.predict_proba(target)),
        "alike": are_alike(weights),
    }


def are_alike(weights):
    """Whether all processes have the same, to the last bit."""
    flat = torch.cat([value.double().flatten() for value in weights.values()]).unsqueeze(0)
    everybodys = rows.gathered(flat, group.count())
    return all(torch.equal(everybodys[0], other) for other in everybodys[1:])


def every_method(methods, norm=False, callbacks=(), tell=None, **options):
    """What each method has learned."""
    return {method: taught(method, network(norm), precision="64-true", **options) for method in methods}


def trains_in_mixed_precision(method):
    """Weights stay in float32, and are numbers."""
    kept = taught(method, network(), precision="bf16-mixed", steps_per_epoch=1)
    for value in kept["weights"].values():
        assert not value.is_floating_point() or value.dtype == torch.float32
        assert bool(value.isfinite().all())


def arithmetic(callbacks=(), tell=None):
    """Gradients of weights on both sides of the gathering, of inputs, of sums; of rows in odd numbers."""
    torch.manual_seed(0)
    inputs = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    before, after = nn.Linear(4, 5).double(), nn.Linear(5, 3).double()
    scale = torch.ones(4, dtype=torch.float64, requires_grad=True)  # a weight in front of the division

    def centred(part):
        features = before(part).tanh()
        return features - rows.total(features.sum(0)) / 7

    features = rows.divided(centred, inputs * scale)
    loss = after(features).logsumexp(0).square().sum()  # couples all rows
    weights = [*before.parameters(), *after.parameters(), scale]
    (of_inputs,) = torch.autograd.grad(loss, inputs, retain_graph=True)
    loss.backward()
    rows.average_gradients(weights)
    torch.manual_seed(3)
    noisy = rows.divided(lambda part: nn.functional.dropout(part.new_ones(len(part), 50)), torch.zeros(7, 2))
    return {
        "count": group.count(),
        "loss": loss.detach(),
        "inputs": of_inputs,
        "weights": [weight.grad for weight in weights],
        "few rows": rows.divided(lambda part: 2 * part, torch.ones(1, 2)),
        "noise": noisy,
        "next number": torch.rand(()),
        "asked": [rows.anyone(group.number() == place) for place in range(4)],
        "bf16": rows.divided(lambda part: 2 * part, torch.arange(7.0).bfloat16().unsqueeze(1)),
    }


def frozen_pictures(folder, callbacks=(), tell=None):
    """Crops of files that each process reads a part of."""
    pictures = ImageFiles(sorted(Path(folder).rglob("*.png")), 16)
    positions = torch.arange(7)
    crops = rows.gathered(own_rows(pictures, positions, seed=5), 7)
    torch.manual_seed(0)
    model = Model(nn.Sequential(nn.Flatten(), nn.Linear(3 * 256, 4)), nn.Linear(4, 2))
    view = DomainView(model, pictures, workers=0)
    return {"crops": crops, "features": view.features, "read": pictures.take(positions, 5)}


class Failing(Term):
    """A term that ends its process, or raises, in one of them."""

    def __init__(self, how="raise", step=7, place=1):
        super().__init__()
        self.how, self.step, self.place, self.taken = how, step, place, 0

    def forward(self, step):
        self.taken += 1
        if self.taken == self.step and group.number() == self.place:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("This picture cannot be read: remove it.")
        return step.target.features.square().mean()


def only_first_writes(folder, callbacks=(), tell=None):
    """Each process would write a file of its own."""
    write_text_aside(Path(folder) / f"{group.number()}.txt", "here")
    return rows.gathered(torch.tensor([group.number()]), group.count()).tolist()


def several(folder, methods, some, callbacks, tell):
    """All that three processes are asked, in one go: starting them takes longest."""
    return {
        "arithmetic": arithmetic(),
        "pictures": frozen_pictures(folder),
        "written": only_first_writes(folder),
        "methods": every_method(methods),
        "with batch norm": every_method(some, norm=True),
        "in slices": every_method(some, accumulate=3),
        "said": says(callbacks, tell),
    }


def in_one_group(job, callbacks=(), tell=None):
    """A job, as a process of the group that was started."""
    with joined(Config(device="cpu")):
        return job(callbacks=callbacks, tell=tell)


def says(callbacks, tell):
    tell("A sentence.")
    for callback in callbacks:
        callback.on_remark("A remark.")
    return group.count()
