"""Feature extractors by name: small ones that train from scratch, and the way to the pretrained ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

from torch import Tensor, nn

from cst.config import Config
from cst.models.frozen import Frozen
from cst.models.model import standardization
from cst.models.pretrained import FAMILIES, NAMES, image_backbone, is_image_backbone
from cst.models.text import MINILM, text_backbone
from cst.spelling import unknown


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


BACKBONES: dict[str, Callable[[tuple[int, ...]], nn.Module]] = {"mlp": mlp, "cnn": cnn, "dtn": dtn, "lenet": lenet}


KNOWN = ("auto", *BACKBONES, *NAMES, MINILM, *(f"{family}:NAME" for family in FAMILIES))


def build_backbone(name: str, shape: tuple[int, ...]) -> nn.Module:
    """The backbone called ``name`` for inputs of ``shape``, from scratch; ``auto`` picks by the shape."""
    if name == "auto":
        name = "cnn" if len(shape) == 3 else "mlp"
    if name not in BACKBONES:
        raise ValueError(unknown("backbone", name, KNOWN))
    return BACKBONES[name](shape)


def build_network(
    config: Config,
    kind: str,
    shape: tuple[int, ...],
    standardize: Callable[[], nn.Module],
    architecture: dict[str, Any] | None = None,
) -> tuple[nn.Module, nn.Module, dict[str, Any]]:
    """What happens to inputs first, the backbone that is trained, and its architecture in plain values.

    Args:
        config: names the backbone, its weights and the layers to freeze.
        kind: of the data.
        shape: of one input.
        standardize: makes the standardisation by the data for a backbone from scratch.
        architecture: of an earlier call; the weights are then random, to be loaded by the caller.
    """
    name = config.backbone
    if kind == "text":
        return text_backbone(config, architecture)
    if name in BACKBONES or name == "auto":
        if config.freeze or config.weights not in (None, "none"):
            raise ValueError(f"Backbone '{name}' starts from scratch: leave out --freeze and --weights.")
        return standardization(config, standardize), build_backbone(name, shape), {}
    if name == MINILM:
        raise ValueError(f"Backbone '{name}' reads text, but the data are not: choose another.")
    if not is_image_backbone(name):
        raise ValueError(unknown("backbone", name, KNOWN))
    if len(shape) != 3 or shape[0] != 3:
        raise ValueError(f"Backbone '{name}' takes images in three channels, but one input has shape {shape}.")
    described = architecture or None
    steps = image_backbone(name, "none" if architecture is not None else config.weights, described)
    plain = getattr(getattr(steps.layers[0], "network", None), "config", None)
    count = config.freeze or 0
    if count >= len(steps.layers):
        most = len(steps.layers) - 1
        advice = f"freeze at most {most}" if most else "leave out --freeze"
        raise ValueError(f"--freeze {count} leaves nothing of '{name}' to train: {advice}.")
    prepare = standardization(config, steps.standardize)
    if count:
        prepare = Frozen(nn.Sequential(prepare, *steps.layers[:count]), _is_feature_map)
    return prepare, nn.Sequential(*steps.layers[count:]), json.loads(plain.to_json_string()) if plain else {}


def _is_feature_map(inputs: Tensor) -> bool:
    return inputs.shape[1] != 3
