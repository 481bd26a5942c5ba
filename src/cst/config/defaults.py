"""What a careful person would choose where nothing else is known; kinds of data and methods have their own on top."""

from __future__ import annotations

from typing import Any

ALWAYS: dict[str, Any] = {
    "backbone": "auto",
    "weights": "pretrained",
    "freeze": 0,
    "pooling": "mean",
    "max_length": 128,
    "image_size": 32,
    "epochs": 20,
    "batch_size": 64,
    "accumulate": 1,
    "clip_gradient": 0.0,
    "lr": 0.02,
    "backbone_lr": 1.0,
    "optimizer": "sgd",
    "momentum": 0.9,
    "weight_decay": 1e-3,
    "schedule": "cosine",
    "ramp_epochs": 2.0,
    "warmup_epochs": "auto",
    "guard": 0.0,
    "batch_norm": "auto",
    "feature_norm": False,
    "head": "linear",
    "bottleneck": 0,
    "standardize": "dataset",
    "augment": "none",
    "views": 0,
    "select": "last",
    "hold_out": 0.0,
    "seed": 0,
    "device": "auto",
    "precision": "32-true",
    "log": (),
}
PRETRAINED_IMAGES: dict[str, Any] = {"lr": 0.01, "backbone_lr": 0.1, "batch_size": 32, "image_size": 224}
"""For a pretrained image backbone, whether it reads files or arrays."""
