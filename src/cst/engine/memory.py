"""Features gathered while training goes on, so that selecting alpha needs no pass of its own."""

from __future__ import annotations

from collections import deque

import torch
from torch import Tensor

from cst.functional import pseudo_labels
from cst.terms.contract import Step


class Memory:
    """The features of the last ``samples`` samples of each domain, with labels and pseudo-labels."""

    def __init__(self, samples: int, batch_size: int) -> None:
        self.batches: deque[tuple[Tensor, ...]] = deque(maxlen=max(1, samples // batch_size))

    def __bool__(self) -> bool:
        return bool(self.batches)

    @torch.no_grad()
    def add(self, step: Step) -> Tensor:
        """Keep what the step has computed and return the pseudo-labels of its target batch [N].

        Where no term has read the target, its pass is made here, and feeds the target's batch-norm statistics.
        """
        source, target = step.source.features.detach(), step.target.features.detach()
        labels = pseudo_labels(step.target.logits)
        self.batches.append((source, step.labels, target, labels))
        _ = step.source.logits  # a head with batch norm needs the source's statistics, whoever reads them
        return labels

    def stacked(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Source features, source labels, target features and target pseudo-labels."""
        first, second, third, fourth = (torch.cat(column) for column in zip(*self.batches, strict=True))
        return first, second, third, fourth

    def state_dict(self) -> list[tuple[Tensor, ...]]:
        """For a checkpoint."""
        return list(self.batches)

    def load_state_dict(self, batches: list[tuple[Tensor, ...]]) -> None:
        """From a checkpoint."""
        self.batches.clear()
        self.batches.extend(tuple(batch) for batch in batches)
