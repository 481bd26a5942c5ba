"""Which samples meet in a step: drawn independently, or by class from labels and pseudo-labels."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from cst.data.streams import Stream


class Uniform:
    """Independent shuffled passes over both domains.

    Args:
        labels: of the source.
        num_target: samples in the target.
        num_classes: K.
        batch_size: samples of each domain in a step.
        seed: of all draws.
    """

    def __init__(self, labels: Tensor, num_target: int, num_classes: int, batch_size: int, seed: int) -> None:
        self.labels, self.num_classes, self.batch_size, self.seed = labels, num_classes, batch_size, seed
        self.source = Stream(len(labels), batch_size, 2 * seed)
        self.target = Stream(num_target, batch_size, 2 * seed + 1)

    def start_epoch(self, target_logits: Callable[[], Tensor]) -> None:
        """Called before each epoch; a class-aware rule labels the target here."""

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Positions of the source's and the target's samples in step number ``step``."""
        return self.source.batch(step), self.target.batch(step)


class Balanced(Uniform):
    """Every class with the same probability: by label in the source, by pseudo-label in the target."""

    def start_epoch(self, target_logits: Callable[[], Tensor]) -> None:
        """Label the target anew."""
        self.pseudo_labels = target_logits().argmax(-1)

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Draw with replacement, with probability inverse to the class's size."""
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + step) % 2**63)
        source, target = (
            torch.multinomial(_inverse_frequency(labels, self.num_classes), self.batch_size, True, generator=generator)
            for labels in (self.labels, self.pseudo_labels)
        )
        return source, target


class Aligned(Balanced):
    """Implicit alignment: the same classes, equally often, in both batches (Jiang et al., 2020).

    Each step draws classes and then, for each, as many samples of that label from the source as of
    that pseudo-label from the target. Where no target sample is predicted as a class, any will do.
    """

    def __init__(
        self, labels: Tensor, num_target: int, num_classes: int, batch_size: int, seed: int, classes: int = 16
    ) -> None:
        super().__init__(labels, num_target, num_classes, batch_size, seed)
        if classes < 1:
            raise ValueError(f"ia: classes must be at least 1, got {classes}.")
        self.classes = classes

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Draw classes, then samples of each."""
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + step) % 2**63)
        order = torch.randperm(self.num_classes, generator=generator)[: min(self.classes, self.batch_size)]
        drawn = order.repeat(-(-self.batch_size // len(order)))[: self.batch_size].tolist()
        both = (self.labels, self.pseudo_labels)
        source, target = (torch.cat([_one_of(labels, c, generator) for c in drawn]) for labels in both)
        return source, target


def _inverse_frequency(labels: Tensor, num_classes: int) -> Tensor:
    counts = torch.bincount(labels, minlength=num_classes).clamp_min(1)
    return 1.0 / counts[labels]


def _one_of(labels: Tensor, wanted: int, generator: torch.Generator) -> Tensor:
    """The position of one sample with that label, or of any if there is none."""
    places = (labels == wanted).nonzero().squeeze(1)
    if not len(places):
        return torch.randint(len(labels), (1,), generator=generator)
    return places[torch.randint(len(places), (1,), generator=generator)]
