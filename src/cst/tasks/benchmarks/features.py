"""Features of a frozen pretrained network for a whole domain, computed once and kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cst.data.domain import Domain
from cst.files import reading, write_aside

if TYPE_CHECKING:
    from torch import Tensor, nn

BATCH = 32
VARIABLE = "CST_CACHE"


def kept_in() -> Path:
    """Where features lie: the folder that the environment names, or the user's own for such things."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cst"


def features_of(domain: Domain, name: str, network: str, make: Callable[[Sequence[Any]], Any]) -> Domain:
    """The domain as vectors: what ``make`` makes of its items, or what an earlier call kept under these names."""
    digest = hashlib.sha256("\n".join([network, *domain.names]).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    file = kept_in() / f"{name}-{network}-{digest}.npy"
    if not file.is_file():
        made = np.asarray(make(domain.items), dtype=np.float32)
        write_aside(file, lambda aside: _save(aside, made))
    with reading(file):
        vectors = np.load(file, allow_pickle=False)
    return replace(domain, kind="arrays", items=vectors)


def _save(path: Path, vectors: Any) -> None:
    with path.open("wb") as file:
        np.save(file, vectors)


def image_features(root: Path) -> tuple[str, Callable[[Sequence[Any]], Any]]:
    """ImageNet's ResNet-50 at 224 pixels: the weights in ``weights/resnet50-v1.pth`` of the data, or torchvision's."""
    file = root / "weights" / "resnet50-v1.pth"
    name = "resnet50-v1" if file.is_file() else "resnet50"

    def make(items: Sequence[Any]) -> Any:
        from torch import nn

        from cst.data.images import ImageFiles
        from cst.models.pretrained import image_backbone

        steps = image_backbone(name, str(file) if file.is_file() else "pretrained")
        return _outputs(nn.Sequential(steps.standardize(), *steps.layers), ImageFiles(items, 224))

    return name, make


def text_features(place: str) -> Callable[[Sequence[str]], Any]:
    """Of an encoder that transformers finds at ``place``: the mean of the last layer's token vectors."""

    def make(items: Sequence[str]) -> Any:
        from cst.data.texts import TokenSamples
        from cst.hub import load_tokenizer
        from cst.models.text import TextNetwork, load_transformer

        network = TextNetwork(load_transformer(place, "pretrained", None), "mean")
        return _outputs(network, TokenSamples.of(list(items), load_tokenizer(place), 128))

    return make


def _outputs(network: nn.Module, samples: Any) -> Any:
    import torch

    from cst.data.cached import example_for
    from cst.data.inference import quick
    from cst.data.loading import in_order

    network.eval()
    with torch.no_grad():
        passing = quick(network, example_for(network, samples), len(samples))
        outputs: list[Tensor] = [passing(inputs) for inputs in in_order(samples, BATCH, None, "features")]
    return torch.cat(outputs).numpy()
