"""All that a validator sees: what a model makes of samples of both domains."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Mixed:
    """Target samples mixed with others: ``share * x_i + (1 - share) * x_partner(i)``.

    Attributes:
        partners: the place of the other sample among the target's [M].
        share: of the first sample, more than a half.
        logits: of the mixtures [M, K].
    """

    partners: Tensor
    share: float
    logits: Tensor


@dataclass(frozen=True)
class Outputs:
    """Features, logits and labels; arrays of any library become tensors. There is no place for labels of the target.

    Attributes:
        source_features: [N, d], of samples that training did not see where there are such.
        source_labels: integers [N].
        source_logits: [N, K].
        target_features: [M, d].
        target_logits: [M, K].
        view_logits: of another view of the same target samples [M, K], where there is one.
        mixed: of mixtures of them, where inputs can be mixed.

    >>> import numpy as np
    >>> one, two = np.eye(3, dtype=np.float32), np.array([0, 1, 2])
    >>> Outputs(one, two, one, one, one).num_classes
    3
    """

    source_features: Tensor
    source_labels: Tensor
    source_logits: Tensor
    target_features: Tensor
    target_logits: Tensor
    view_logits: Tensor | None = None
    mixed: Mixed | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if value is not None and field.name != "mixed":
                object.__setattr__(self, field.name, torch.as_tensor(value))
        if self.source_logits.shape[-1] != self.target_logits.shape[-1]:
            raise ValueError("Source and target logits have different numbers of classes: give those of one model.")
        for name in ("source", "target"):
            counts = {len(getattr(self, f"{name}_{what}")) for what in ("features", "logits")}
            if name == "source":
                counts.add(len(self.source_labels))
            if len(counts) > 1:
                raise ValueError(f"The {name}'s arrays have different lengths: {sorted(counts)}.")

        if (
            len(self.source_labels)
            and not 0 <= int(self.source_labels.min()) <= int(self.source_labels.max()) < self.num_classes
        ):
            raise ValueError(f"The source's labels must be whole numbers from 0 to {self.num_classes - 1}.")

    @property
    def num_classes(self) -> int:
        """K."""
        return self.target_logits.shape[-1]
