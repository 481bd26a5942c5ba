"""Models that earlier versions saved: ``model.json`` of format 1 or 2 beside a ``config.yaml`` and ``model.pt``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from cst.models.backbones import CUSTOM

FORMATS = (1, 2)


def completed(folder: Path, values: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The description as it is now: ``names`` lay in the configuration, the length of features in the weights."""
    options = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    weights = torch.load(folder / "model.pt", map_location="cpu", weights_only=True, mmap=True)
    shared = {name: options[name] for name in names if options.get(name) is not None}
    encodings = {
        "images": {"image_size": options.get("image_size")},
        "text": {"max_length": options.get("max_length")},
        "arrays": {
            "shape": values["shape"],
            "bytes_in": values.get("bytes_in", False),
            "columns": values.get("columns", []),
            "raw": values["backbone"] == CUSTOM,
        },
    }
    first = weights["head.0.weight" if shared.get("bottleneck") else "head.weight"]
    return {
        "kind": values["kind"],
        "classes": values["classes"],
        "encoding": encodings[values["kind"]],
        "backbone": values["backbone"],
        "feature_dim": first.shape[1],
        "architecture": values.get("architecture", {}),
        **shared,
    }
