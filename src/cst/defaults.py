"""What a careful person would choose, for each kind of data and backbone."""

from __future__ import annotations

import dataclasses
from typing import Any

from cst.config import Config
from cst.methods import Method
from cst.recipes import find_recipe

FROM_SCRATCH = ("mlp", "cnn", "dtn", "lenet", "auto", "custom")
"""Backbones that know nothing yet, or of which we know nothing."""

ALWAYS: dict[str, Any] = {
    "epochs": 20,
    "batch_size": 64,
    "lr": 0.02,
    "backbone_lr": 1.0,
    "optimizer": "sgd",
    "schedule": "step",
    "ramp_epochs": 2.0,
    "warmup_epochs": 0.0,
    "batch_norm": "per-domain",
    "feature_norm": False,
    "head": "linear",
    "bottleneck": 0,
    "standardize": "dataset",
    "augment": "none",
    "freeze": 0,
    "pooling": "mean",
    "max_length": 128,
    "image_size": 32,
}
PRETRAINED_IMAGES = {"lr": 0.01, "backbone_lr": 0.1, "batch_size": 32, "image_size": 224}
IMAGE_FILES = {"augment": "mild"}
TEXT = {
    "epochs": 3,
    "batch_size": 16,
    "lr": 1e-3,
    "backbone_lr": 0.1,
    "optimizer": "adamw",
    "schedule": "cosine",
    "ramp_epochs": 1.0,
    "warmup_epochs": 0.5,
    "feature_norm": True,
}

BEST_FOR = {"images": "efficientnet-lite0", "text": "minilm"}
"""The backbone that ``auto`` stands for; for arrays their shape decides."""


ONLY_FOR = {"max_length": "text", "pooling": "text", "image_size": "images"}
"""Fields that mean something for one kind of data only."""


def usual(kind: str, backbone: str) -> dict[str, Any]:
    """The usual value of every field that may be left open."""
    chosen = dict(ALWAYS)
    if kind == "text":
        return {**chosen, **TEXT}
    if backbone not in FROM_SCRATCH:
        chosen |= PRETRAINED_IMAGES
    if kind == "images":
        chosen |= IMAGE_FILES
    return chosen


def with_defaults(config: Config, method: Method, kind: str) -> Config:
    """The configuration with every field filled in that does not depend on the size of the data.

    What the user wrote comes first, then the recipe, then the method, then the kind of data.
    """
    recipe = find_recipe(config.recipe, kind) if config.recipe else {}
    recipe = {name: value for name, value in recipe.items() if ONLY_FOR.get(name, kind) == kind}
    backbone = recipe.pop("backbone", "auto")
    terms = {part.name for part in method.terms}
    settings: dict[str, Any] = {
        key: _open(getattr(config, key), recipe.pop(key, ()), terms) for key in ("weight", "option")
    }
    if config.backbone != "auto":
        backbone = config.backbone
    if backbone == "auto":
        backbone = BEST_FOR.get(kind, backbone)
    for name, needed in ONLY_FOR.items():
        if kind != needed and getattr(config, name) not in (None, usual(kind, backbone)[name]):
            raise ValueError(f"--{name.replace('_', '-')} is for {needed}, but the data are {kind}: leave it out.")
    config = dataclasses.replace(config, task=config.task_name, backbone=backbone, **settings)
    config = config.filled(**recipe).filled(**method.defaults)
    return config.filled(**{name: value for name, value in usual(kind, backbone).items() if name != "batch_size"})


def _open(own: tuple[str, ...], wanted: tuple[str, ...], terms: set[str]) -> tuple[str, ...]:
    """The user's settings of terms, after the recipe's for terms that the method has and the user did not set."""
    given = {setting.partition("=")[0] for setting in own}
    left = [s for s in wanted if s.partition("=")[0] not in given and s.partition("=")[0].partition(".")[0] in terms]
    return (*left, *own)
