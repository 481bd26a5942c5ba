"""Feature extractors that train from scratch, by name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod

from torch import nn

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


def cnn(shape: tuple[int, ...], width: int = 32, features: int = 128) -> nn.Sequential:
    """Three convolutions and a linear layer with batch norm, for small images of any size."""
    if len(shape) != 3:
        raise ValueError(f"Backbone 'cnn' takes images [channels, height, width], but one input has shape {shape}.")
    channels = (shape[0], width, 2 * width, 2 * width)
    layers: list[nn.Module] = []
    side = min(shape[1:])
    for before, after in pairwise(channels):
        layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        if side >= 8:
            layers.append(nn.MaxPool2d(2))
            side //= 2
    return nn.Sequential(
        *layers,
        nn.AdaptiveAvgPool2d(4),
        nn.Flatten(),
        nn.Linear(channels[-1] * 16, features, bias=False),
        nn.BatchNorm1d(features),
        nn.ReLU(),
    )


BACKBONES: dict[str, Callable[[tuple[int, ...]], nn.Module]] = {"mlp": mlp, "cnn": cnn}


def build_backbone(name: str, shape: tuple[int, ...]) -> nn.Module:
    """The backbone called ``name`` for inputs of ``shape``; ``auto`` picks by the shape."""
    if name == "auto":
        name = "cnn" if len(shape) == 3 else "mlp"
    if name not in BACKBONES:
        raise ValueError(unknown("backbone", name, ["auto", *BACKBONES]))
    return BACKBONES[name](shape)
