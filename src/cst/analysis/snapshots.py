"""What a run keeps of its model: outputs on some samples of both domains, before and after adaptation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from cst.files import reading
from cst.selection import Outputs

BEFORE, AFTER = "before", "after"
"""When the warm-up on the source ended, and when the run did."""


@dataclass(frozen=True)
class Snapshot:
    """Outputs of a model, and the places of the samples in their domains."""

    outputs: Outputs
    source_positions: Tensor
    target_positions: Tensor


def snapshot(folder: Path, name: str) -> Snapshot | None:
    """The snapshot `BEFORE` or `AFTER` adaptation in the folder of a run, if it is there."""
    from safetensors.torch import load_file

    path = folder / f"{name}.safetensors"
    if not path.is_file():
        return None
    with reading(path):
        tensors = load_file(path)
        outputs = Outputs(
            tensors["source_features"].float(),
            tensors["source_labels"].long(),
            tensors["source_logits"].float(),
            tensors["target_features"].float(),
            tensors["target_logits"].float(),
        )
        return Snapshot(outputs, tensors["source_positions"], tensors["target_positions"])
