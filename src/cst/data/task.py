"""Two domains that belong together. Training sees the source and the target; only evaluation sees the oracle."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from cst.data.domain import Domain
from cst.data.labels import UNKNOWN, encode_labels, known_labels
from cst.data.samples import Samples, SomeSamples

Inputs = TypeVar("Inputs", Domain, Samples)


@dataclass(frozen=True)
class Labelled(Generic[Inputs]):
    """Inputs with labels 0..K-1."""

    inputs: Inputs
    labels: Tensor


@dataclass(frozen=True)
class Oracle(Generic[Inputs]):
    """Labels of the target, for evaluation only: of its training samples, and a held-out test set.

    Of a target that is labelled in part the other labels are `UNKNOWN`.
    """

    target_labels: Tensor | None = None
    test: Labelled[Inputs] | None = None


@dataclass(frozen=True)
class Task:
    """A labelled source and an unlabelled target as they were read, and the names of the classes.

    Attributes:
        name: what the data are called.
        source: the labelled domain.
        labels: of the source, 0..K-1 [N].
        target: the unlabelled domain.
        classes: what the labels stand for.
        oracle: what evaluation may look at.
        notes: what the user should know of the data, one sentence each.
    """

    name: str
    source: Domain
    labels: Tensor
    target: Domain
    classes: tuple[Any, ...]
    oracle: Oracle[Domain] = Oracle()
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Of the data."""
        return self.source.kind

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)


@dataclass(frozen=True)
class EncodedTask:
    """A task as a model takes it."""

    source: Samples
    labels: Tensor
    target: Samples
    classes: tuple[Any, ...]
    oracle: Oracle[Samples] = Oracle()
    judges: Labelled[Samples] | None = None
    """Of the source, what training does not see."""

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def identity(self) -> str:
        """A short name for the inputs of both domains and the source's labels."""
        digest = hashlib.blake2b(self.labels.numpy().tobytes(), digest_size=16)
        for samples in (self.source, self.target):
            for content in samples.contents():
                digest.update(content)
        return digest.hexdigest()


def make_task(
    name: str,
    source: Domain,
    target: Domain,
    target_labels: Any = None,
    test: Domain | None = None,
    notes: Sequence[str] = (),
) -> Task:
    """A checked task; ``target_labels`` and ``test`` serve evaluation only."""
    same_kind(source.kind, target.kind)
    if source.labels is None:
        raise ValueError("The source has no labels: give class folders, or name the column with label=.")
    for role, domain in (("source", source), ("target", target)):
        if not len(domain):
            raise ValueError(f"The {role} is empty: give it at least one batch of samples.")
    labels, classes = encode_labels(source.labels)
    if len(labels) != len(source):
        raise ValueError(
            f"The source has {len(source)} inputs but {len(labels)} labels: give one label for each input."
        )
    truth = None if target_labels is None else known_labels(target_labels, classes, len(target))
    held_out = None if test is None else Labelled(test, known_labels(test.labels, classes, len(test)))
    sentences = (*source.notes, *target.notes, *source.left_out_note("source"), *target.left_out_note("target"))
    return Task(
        name,
        source,
        labels,
        replace(target, labels=None),  # they are the oracle's
        classes,
        Oracle(truth, held_out),
        (*notes, *sentences, *_alike(classes), *_labelled_part(truth)),
    )


def _alike(classes: tuple[Any, ...]) -> tuple[str, ...]:
    """A sentence for classes that differ in nothing but capitals."""
    seen: dict[str, Any] = {}
    for name in map(str, classes):
        other = seen.setdefault(name.lower(), name)
        if other != name:
            return (f"The classes '{other}' and '{name}' differ in capitals only: if they are one, write them alike.",)
    return ()


def same_kind(source: str, target: str) -> None:
    """Refuse two domains of which one holds images and the other text or numbers."""
    if source != target:
        raise ValueError(f"The source holds {source}, the target {target}: both must be of one kind.")


def _labelled_part(truth: Tensor | None) -> tuple[str, ...]:
    """A sentence for a target that is labelled in part."""
    if truth is None or UNKNOWN not in truth:
        return ()
    return (f"{int((truth != UNKNOWN).sum()):,} of the target's {len(truth):,} samples have a label to evaluate with.",)


def counts_aside(labels: Tensor, share: float) -> list[int]:
    """How many samples of each class are a share of them, never all.

    >>> counts_aside(torch.tensor([0] * 20 + [1]), 0.1)
    [2, 0]
    """
    return [min(round(share * count), max(count - 1, 0)) for count in torch.bincount(labels).tolist()]


def set_aside(task: EncodedTask, share: float, seed: int) -> EncodedTask:
    """The task with a share of each class of its source set aside to judge."""
    if not share:
        return task
    random = torch.Generator().manual_seed(seed)
    aside = torch.zeros(len(task.labels), dtype=torch.bool)
    for label, count in enumerate(counts_aside(task.labels, share)):
        places = (task.labels == label).nonzero().flatten()
        aside[places[torch.randperm(len(places), generator=random)[:count]]] = True
    if not aside.any():
        raise ValueError(f"hold_out={share:g} leaves nothing to judge by: no class of the source has enough samples.")
    kept, judging = (mask.nonzero().flatten() for mask in (~aside, aside))
    judges: Labelled[Samples] = Labelled(SomeSamples(task.source, judging), task.labels[judging])
    return replace(task, source=SomeSamples(task.source, kept), labels=task.labels[kept], judges=judges)


def subsample(task: EncodedTask, most: int) -> EncodedTask:
    """The task with at most ``most`` samples of its target, labelled ones first, otherwise spread evenly."""
    count, labels = len(task.target), task.oracle.target_labels
    if count <= most:
        return task
    known = torch.zeros(count, dtype=torch.bool) if labels is None else labels != UNKNOWN
    first = _evenly(known.nonzero().flatten(), most)
    positions = torch.cat([first, _evenly((~known).nonzero().flatten(), most - len(first))]).sort().values
    oracle = replace(task.oracle, target_labels=None if labels is None else labels[positions])
    return replace(task, target=SomeSamples(task.target, positions), oracle=oracle)


def _evenly(positions: Tensor, most: int) -> Tensor:
    if len(positions) <= most:
        return positions
    return positions[torch.linspace(0, len(positions) - 1, most).long()]
