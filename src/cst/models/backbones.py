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


def build_backbone(name: str, shape: tuple[int, ...]) -> nn.Module:
    """The backbone called ``name`` for inputs of ``shape``; ``auto`` picks by the shape."""
    if name == "auto":
        name = "cnn" if len(shape) == 3 else "mlp"
    if name not in BACKBONES:
        raise ValueError(unknown("backbone", name, ["auto", *BACKBONES]))
    return BACKBONES[name](shape)
