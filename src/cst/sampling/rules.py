"""Which samples meet in a step: drawn independently, or by class from labels and pseudo-labels."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.sampling.streams import Stream
from cst.terms.contract import Epoch


class Uniform:
    """Independent shuffled passes over both domains.

    Args:
        labels: of the source [N].
        num_target: samples in the target.
        num_classes: K.
        batch_size: samples of each domain in a step.
        seed: of all draws.

    A batch has no sample twice.

    >>> rule = Uniform(torch.tensor([0, 1, 0, 1, 0]), num_target=4, num_classes=2, batch_size=4, seed=0)
    >>> source, target = rule.batch(0)
    >>> len(source.unique()), target.sort().values
    (4, tensor([0, 1, 2, 3]))
    """

    def __init__(self, labels: Tensor, num_target: int, num_classes: int, batch_size: int, seed: int) -> None:
        self.labels, self.num_classes, self.batch_size, self.seed = labels, num_classes, batch_size, seed
        self.source = Stream(len(labels), batch_size, 2 * seed)
        self.target = Stream(num_target, batch_size, 2 * seed + 1)

    def start_epoch(self, epoch: Epoch) -> None:
        """Called before each epoch; a class-aware rule labels the target here."""

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Positions [batch_size] of the source's and of the target's samples in step number ``step``."""
        return self.source.batch(step), self.target.batch(step)


class Balanced(Uniform):
    """Every class with the same probability: by label in the source, by pseudo-label in the target.

    One sample in ten has the label 1, and half of the draws.

    >>> from types import SimpleNamespace
    >>> labels = torch.tensor([1] + 9 * [0])
    >>> rule = Balanced(labels, num_target=10, num_classes=2, batch_size=1000, seed=0)
    >>> rule.start_epoch(SimpleNamespace(target=SimpleNamespace(logits=torch.eye(2)[labels])))
    >>> [bool(abs(labels[drawn].float().mean() - 0.5) < 0.1) for drawn in rule.batch(0)]
    [True, True]
    """

    def start_epoch(self, epoch: Epoch) -> None:
        """Label the target anew."""
        self.pseudo_labels = epoch.target.logits.argmax(-1)

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Positions [batch_size] of each domain, drawn with replacement, with probability inverse to the class's size.

        They depend on the seed and on the number of the step alone.
        """
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

    Args:
        labels, num_target, num_classes, batch_size, seed: as in `Uniform`.
        classes: how many classes a step draws.

    >>> from types import SimpleNamespace
    >>> labels, predicted = torch.tensor([0, 0, 0, 1, 2]), torch.tensor([2, 1, 0, 2, 2, 2])
    >>> rule = Aligned(labels, num_target=6, num_classes=3, batch_size=4, seed=0, classes=2)
    >>> rule.start_epoch(SimpleNamespace(target=SimpleNamespace(logits=torch.eye(3)[predicted])))
    >>> source, target = rule.batch(0)
    >>> bool((labels[source] == predicted[target]).all()), len(labels[source].unique())
    (True, 2)
    """

    def __init__(
        self, labels: Tensor, num_target: int, num_classes: int, batch_size: int, seed: int, classes: int = 16
    ) -> None:
        super().__init__(labels, num_target, num_classes, batch_size, seed)
        if classes < 1:
            raise ValueError(f"ia: classes must be at least 1, got {classes}.")
        self.classes = classes

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """Draw classes, then samples of each: positions [batch_size] of each domain."""
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + step) % 2**63)
        order = torch.randperm(self.num_classes, generator=generator)[: min(self.classes, self.batch_size)]
        drawn = order.repeat(-(-self.batch_size // len(order)))[: self.batch_size].tolist()
        both = (self.labels, self.pseudo_labels)
        source, target = (torch.cat([_one_of(labels, c, generator) for c in drawn]) for labels in both)
        return source, target


def _inverse_frequency(labels: Tensor, num_classes: int) -> Tensor:
    counts = torch.bincount(labels, minlength=num_classes).clamp_min(1)
    return 1.0 / counts[labels]


def _one_of(labels: Tensor, label: int, generator: torch.Generator) -> Tensor:
    """The position [1] of one sample with that label, or of any if none has it."""
    positions = (labels == label).nonzero().squeeze(1)
    if not len(positions):
        return torch.randint(len(labels), (1,), generator=generator)
    return positions[torch.randint(len(positions), (1,), generator=generator)]
