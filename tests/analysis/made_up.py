"""Tables and snapshots that tests make up."""

import numpy as np
import torch
from safetensors.torch import save_file

from conftest import write_csv

CLASSES = ("low", "middle", "high")
SHORT = {"epochs": 3, "steps_per_epoch": 8}
NASTY = "<script>alert(1)</script>\"'&"
"""What must never be more than text."""


def write_tables(folder, classes=CLASSES, columns=("a", "b", "c")):
    """A source with labels and a shifted target with some of them in a column of its own."""
    random = np.random.default_rng(0)
    centres = 3 * random.normal(size=(len(classes), len(columns)))

    def rows(count, shift):
        labels = random.integers(len(classes), size=count)
        inputs = centres[labels] + random.normal(size=(count, len(columns))) + shift
        return [[*values.round(3), classes[label]] for values, label in zip(inputs, labels, strict=True)]

    folder.mkdir(parents=True, exist_ok=True)
    source = write_csv(folder / "source.csv", [[*columns, "label"], *rows(90, 0)])
    target = write_csv(folder / "target.csv", [[*columns, "truth"], *rows(70, 1.2)])
    return source, target


def snapshot_of(count=30, classes=3, shift=0.0, seed=0):
    """Tensors of a snapshot, made up."""
    random = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % classes

    def domain(name, move):
        logits = 3 * torch.nn.functional.one_hot(labels, classes) + torch.randn(count, classes, generator=random)
        return {
            f"{name}_positions": torch.arange(count),
            f"{name}_logits": logits.half(),
            f"{name}_features": (torch.randn(count, 8, generator=random) + 6 * labels[:, None] + move).half(),
        }

    return {**domain("source", 0.0), **domain("target", shift), "source_labels": labels}


def add_snapshots(folder):
    """As if the run had kept them."""
    save_file(snapshot_of(shift=4.0), folder / "before.safetensors")
    save_file(snapshot_of(shift=0.5, seed=1), folder / "after.safetensors")
