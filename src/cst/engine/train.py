"""From a task and a configuration to an adapted model."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from cst.config import Config
from cst.data.domains import Samples, Task, TensorSamples
from cst.defaults import usual, with_defaults
from cst.engine.evaluation import evaluate
from cst.engine.fit import Listener, Trainer
from cst.engine.run import Run
from cst.grammar import adjusted, parse_method
from cst.methods import Method
from cst.models.backbones import build_network
from cst.models.model import Model, NormalizedFeatures, Standardize, feature_dim, head, standardization
from cst.models.pretrained import is_image_backbone

if TYPE_CHECKING:
    from cst.adapted import Adapted

MOVABLE = ("source", "target", "target_labels")
"""Where data lie may change between the parts of a run."""
CUSTOM = "custom"
"""What a configuration calls a backbone that was given as a module."""


def resolve(config: Config, task: Task) -> tuple[Config, Method]:
    """The configuration with every open field decided, and the method it names."""
    config = with_defaults(config, parse_method(config.method), task.kind)
    method = adjusted(parse_method(config.method), config.weight, config.option)
    if config.warmup_epochs and config.epochs and config.warmup_epochs >= config.epochs:
        raise ValueError(
            f"warmup_epochs ({config.warmup_epochs:g}) leaves none of the {config.epochs} epochs to adapt in: lower it."
        )
    smaller, larger = sorted((len(task.source), len(task.target)))
    if smaller < 2:
        raise ValueError(f"The {_smaller(task)} has one sample only: a batch needs at least two.")
    if config.batch_size is not None and config.batch_size > smaller:
        raise ValueError(
            f"The batch size of {config.batch_size} is larger than the {_smaller(task)} ({smaller} samples): "
            f"choose a batch_size of at most {smaller}."
        )
    config = config.filled(batch_size=min(usual(task.kind, config.backbone)["batch_size"], smaller))
    assert config.batch_size
    return config.filled(steps_per_epoch=max(1, larger // config.batch_size)), method


def _smaller(task: Task) -> str:
    return "source" if len(task.source) <= len(task.target) else "target"


def build_model(task: Task, config: Config, backbone: nn.Module | None = None) -> tuple[Model, int, dict[str, Any]]:
    """The model for a task, freshly initialised, the length of its features, and its architecture in plain values.

    Inputs of a backbone by name are standardised: with the statistics of its pretraining, or with the source's.
    A module that the user brings gets the inputs as they are. On request each image is standardised by itself.
    """
    example = task.source.samples.take(torch.arange(2))
    if config.standardize == "image" and example.ndim != 4:
        raise ValueError("--standardize image is for images, but the data are none: leave it out.")
    if task.kind == "arrays" and config.standardize != "image" and is_image_backbone(config.backbone):
        _check_scale(task.source.samples, config.backbone)
    prepare = standardization(config, nn.Identity)
    architecture: dict[str, Any] = {}
    if backbone is None:
        shape = tuple(example.shape[1:])
        prepare, backbone, architecture = build_network(config, task.kind, shape, partial(_standardize, task))
    else:
        backbone = copy.deepcopy(backbone)
    dim = feature_dim(nn.Sequential(prepare, backbone), example)
    if config.feature_norm:
        backbone = NormalizedFeatures(backbone, dim)
    source_head = head(dim, task.num_classes, config.bottleneck or 0, config.head or "linear")
    return Model(backbone, source_head, config.batch_norm or "per-domain", prepare), dim, architecture


def _check_scale(samples: Samples, backbone: str) -> None:
    """A pretrained backbone brings its own standardisation, of values 0..1."""
    some = samples.take(torch.arange(min(len(samples), 64)))
    least, most = float(some.min()), float(some.max())
    if least < -1e-3 or most > 1 + 1e-3:
        raise ValueError(
            f"Backbone '{backbone}' takes images with values 0..1, but the source has {least:g} to {most:g}: "
            "give bytes (uint8), or divide by the largest value."
        )


def _standardize(task: Task) -> Standardize:
    """By feature for vectors, by channel for images; of some thousand source samples, or some hundred if decoded."""
    samples = task.source.samples
    count = min(len(samples), 4096 if isinstance(samples, TensorSamples) else 512)
    rows = torch.linspace(0, len(samples) - 1, count).long()
    inputs = samples.take(rows)
    over = (0, 2, 3) if inputs.ndim == 4 else (0,)
    mean = inputs.mean(over, keepdim=True)[0]
    std = inputs.std(over, keepdim=True, correction=0)[0]
    return Standardize(mean, torch.where(std > 1e-6, std, torch.ones_like(std)))


def train(
    task: Task,
    config: Config,
    backbone: nn.Module | None = None,
    resume: bool = False,
    overwrite: bool = False,
    listener: Listener | None = None,
) -> Adapted:
    """Train, or go on training, and return the adapted model.

    With ``config.out`` the run is written there; ``resume`` continues it after its last finished epoch.
    """
    from cst.adapted import Adapted, Inputs
    from cst.models.text import find_tokenizer

    config, method = resolve(config, task)
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        model, dim, architecture = build_model(task, config, backbone)
        trainer = Trainer(model, task, method, config, dim, listener=listener)
    trainer.run = run = _open_run(config, resume, overwrite)  # last, so that a mistake above leaves no folder
    with run.claimed() if run else nullcontext():
        history = trainer.fit()
    model.eval()
    adapted = Adapted(
        model,
        task.classes,
        config,
        history,
        Inputs(
            kind=task.kind,
            shape=task.input_shape if task.kind == "arrays" else (),
            backbone=CUSTOM if backbone is not None else config.backbone,
            bytes_in=task.target.bytes_in,
            columns=task.columns,
            architecture=architecture,
        ),
        find_tokenizer(config) if task.kind == "text" and backbone is None else None,
    )
    if run:
        try:
            result = evaluate(model, trainer.task, config.workers)
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
            raise trainer.diverged(trainer.epochs - 1, "the weights are not finite") from None
        adapted.save(run.folder)
        run.save_result(result)
    return adapted


def _open_run(config: Config, resume: bool, overwrite: bool) -> Run | None:
    if config.out is None:
        return None
    if not resume:
        return Run.create(Path(config.out), config, overwrite)
    run = Run.open(Path(config.out))
    theirs, ours = ({k: v for k, v in c.to_dict().items() if k not in MOVABLE} for c in (run.config, config))
    if theirs != ours:
        changed = ", ".join(f"{key} was {theirs[key]}, now {ours[key]}" for key in ours if ours[key] != theirs.get(key))
        raise ValueError(f"{config.out} was started with another configuration ({changed}): resume it as it was.")
    return run
