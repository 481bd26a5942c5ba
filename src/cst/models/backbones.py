"""Feature extractors by name: small ones that train from scratch, and the way to the pretrained ones."""

from __future__ import annotations

import json
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from torch import Tensor, nn

from cst.hub import MINILM
from cst.models.frozen import Frozen
from cst.models.model import Standardize, StandardizeEach
from cst.models.parts import Parts
from cst.models.pretrained import FAMILIES, NAMES, image_backbone, is_image_backbone
from cst.models.text import text_parts
from cst.registry import Registry
from cst.spelling import unknown

if TYPE_CHECKING:
    from cst.models.spec import ModelSpec


def mlp(shape: tuple[int, ...], width: int = 256) -> nn.Sequential:
    """Two hidden layers with batch norm, for vectors."""
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(prod(shape), width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
    )


def cnn(shape: tuple[int, ...], width: int = 16, features: int = 128) -> nn.Sequential:
    """Three convolutions and a linear layer with batch norm, for small images of any size.

    Pooling halves the image after each convolution while it is large enough; the first convolution of a
    tiny image keeps its resolution.
    """
    if len(shape) != 3:
        raise ValueError(f"Backbone 'cnn' takes images [channels, height, width], but one input has shape {shape}.")
    channels = (shape[0], width, 2 * width, 4 * width)
    height, wide = shape[1:]
    layers: list[nn.Module] = []
    for place, (before, after) in enumerate(pairwise(channels)):
        layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        if min(height, wide) >= (16 if place == 0 else 8):
            layers.append(nn.MaxPool2d(2))
            height, wide = height // 2, wide // 2
    if (height, wide) != (4, 4):
        layers.append(nn.AdaptiveAvgPool2d(4))
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        nn.Linear(channels[-1] * 16, features, bias=False),
        nn.BatchNorm1d(features),
        nn.ReLU(),
    )


def _digit_images(name: str, shape: tuple[int, ...], side: int) -> None:
    if len(shape) != 3 or min(shape[1:]) < side:
        raise ValueError(f"Backbone '{name}' takes images of at least {side}x{side}, but one input has shape {shape}.")


def dtn(shape: tuple[int, ...]) -> nn.Sequential:
    """The network of the digits table (as CDAN uses it): three strided convolutions of 5x5, dropout, 512 features."""
    _digit_images("dtn", shape, 32)
    layers: list[nn.Module] = []
    for before, after, drop in ((shape[0], 64, 0.1), (64, 128, 0.3), (128, 256, 0.5)):
        layers += [
            nn.Conv2d(before, after, 5, stride=2, padding=2),
            nn.BatchNorm2d(after),
            nn.Dropout2d(drop),
            nn.ReLU(),
        ]
    side = [-(-length // 8) for length in shape[1:]]
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        nn.Linear(256 * prod(side), 512),
        nn.BatchNorm1d(512),
        nn.ReLU(),
        nn.Dropout(0.5),
    )


def lenet(shape: tuple[int, ...]) -> nn.Sequential:
    """Two convolutions of 5x5 with pooling, dropout, 500 features; no batch norm."""
    _digit_images("lenet", shape, 16)
    side = [((length - 4) // 2 - 4) // 2 for length in shape[1:]]
    return nn.Sequential(
        nn.Conv2d(shape[0], 20, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(20, 50, 5),
        nn.Dropout2d(0.5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(50 * prod(side), 500),
        nn.ReLU(),
        nn.Dropout(0.5),
    )


BACKBONES = Registry("backbone", "cst.backbones", {"mlp": mlp, "cnn": cnn, "dtn": dtn, "lenet": lenet})
"""Backbones that start from scratch: functions of the shape of one input."""

AUTO, CUSTOM = "auto", "custom"
"""The backbone that the shape of the inputs decides, and one that is the user's own module."""


def known_backbones() -> list[str]:
    """What a backbone may be called."""
    return [AUTO, *BACKBONES, *NAMES, MINILM, *(f"{family}:NAME" for family in FAMILIES)]


def is_pretrained(name: str) -> bool:
    """Whether a backbone knows something already."""
    return name not in BACKBONES and name not in (AUTO, CUSTOM)


def backbone_from_scratch(name: str, shape: tuple[int, ...]) -> nn.Module:
    """The backbone called ``name`` for inputs of ``shape``; ``auto`` picks by the shape."""
    if name == AUTO:
        name = "cnn" if len(shape) == 3 else "mlp"
    if name not in BACKBONES:
        raise ValueError(unknown("backbone", name, known_backbones()))
    return BACKBONES[name](shape)  # type: ignore[no-any-return]


def backbone_parts(spec: ModelSpec, weights: str) -> Parts:
    """What happens to inputs first, and the backbone that is trained.

    Args:
        spec: names the backbone, its architecture if it was built before, and the layers to freeze.
        weights: ``"pretrained"``, ``"none"`` for random ones, or a file.
    """
    name, shape = spec.backbone, spec.encoder.shape
    if not shape:
        return text_parts(spec, weights)
    if not is_pretrained(name):
        if spec.freeze or weights not in ("pretrained", "none"):
            raise ValueError(f"Backbone '{name}' starts from scratch: leave out freeze= and weights=.")
        return Parts(_standardization(spec, Standardize.open(shape)), backbone_from_scratch(name, shape))
    if name == MINILM:
        raise ValueError(f"Backbone '{name}' reads text, but the data are not: choose another.")
    if not is_image_backbone(name):
        raise ValueError(unknown("backbone", name, known_backbones()))
    if len(shape) != 3 or shape[0] != 3:
        raise ValueError(f"Backbone '{name}' takes images in three channels, but one input has shape {shape}.")
    steps = image_backbone(name, weights, spec.architecture or None)
    network_config = getattr(getattr(steps.layers[0], "network", None), "config", None)
    if spec.freeze >= len(steps.layers):
        most = len(steps.layers) - 1
        advice = f"freeze at most {most}" if most else "leave out freeze="
        raise ValueError(f"freeze={spec.freeze} leaves nothing of '{name}' to train: {advice}.")
    prepare = _standardization(spec, steps.standardize())
    if spec.freeze:
        prepare = Frozen(nn.Sequential(prepare, *steps.layers[: spec.freeze]), _is_feature_map)
    architecture = json.loads(network_config.to_json_string()) if network_config else {}
    return Parts(prepare, nn.Sequential(*steps.layers[spec.freeze :]), architecture)


def _standardization(spec: ModelSpec, usual: nn.Module) -> nn.Module:
    """Each image by itself if the model is to do so, else as usual."""
    return StandardizeEach() if spec.standardize == "image" else usual


def _is_feature_map(inputs: Tensor) -> bool:
    return inputs.shape[1] != 3
