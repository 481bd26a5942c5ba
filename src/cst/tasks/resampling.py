"""The subsets of Section 2.1 and Appendix C: the same task with a shift of the domain, of the labels, or none."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from cst.data.labels import UNKNOWN
from cst.data.task import Oracle, Task

PER_CLASS = 1000
LABEL_SHIFT = (1800, 1440, 1152, 922, 737, 590, 472, 377, 302, 240, 193, 154)
"""Labelled samples of each class under label shift, as the paper gives them for twelve classes."""


def shifted_counts(num_classes: int) -> list[int]:
    """Labelled samples of each class under label shift; beyond the paper's twelve they go on falling by a fifth."""
    more = [max(1, round(LABEL_SHIFT[-1] * 0.8 ** (c + 1))) for c in range(num_classes - len(LABEL_SHIFT))]
    return [*LABEL_SHIFT[:num_classes], *more]


def resampled(task: Task, how: str, seed: int) -> Task:
    """Labelled and unlabelled subsets of a task.

    ``iid``: both from the target's domain, without overlap. ``covariate-shift``: the first from the source, the
    second from the target. ``label-shift``: both from the target's domain, the first with class sizes that fall.
    Where a class has fewer samples than the paper draws, all counts shrink by the same factor. This is an
    experiment on labelled data: it reads the target's labels to draw by class, before training begins.
    """
    truth = task.oracle.target_labels
    if truth is None or UNKNOWN in truth:
        raise ValueError(
            f"resample={how} draws by class and so needs all labels of the target: give them with target_labels=."
        )
    random = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(truth), generator=random)
    even = [PER_CLASS] * task.num_classes
    counts = shifted_counts(task.num_classes) if how == "label-shift" else even
    if how == "covariate-shift":
        labels = task.labels
        scale = min(_room(labels, counts, task.classes), _room(truth, even, task.classes))
        first = _first_of_each(labels, torch.randperm(len(labels), generator=random), counts, scale)
        source, source_labels = task.source.at(first.tolist()), labels[first]
        second = _first_of_each(truth, order, even, scale)
    else:
        scale = _room(truth, [a + b for a, b in zip(counts, even, strict=True)], task.classes)
        first = _first_of_each(truth, order, counts, scale)
        source, source_labels = task.target.at(first.tolist()), truth[first]
        left = order[~torch.isin(order, first)]
        second = _first_of_each(truth, left, even, scale)
    sizes = f"{len(first):,} labelled and {len(second):,} unlabelled samples"
    return dataclasses.replace(
        task,
        source=source,
        labels=source_labels,
        target=task.target.at(second.tolist()),
        oracle=Oracle(truth[second], task.oracle.test),
        notes=(*task.notes, f"Resampled ({how}): {sizes}."),
    )


def _room(labels: Tensor, counts: list[int], classes: tuple[Any, ...]) -> float:
    """The factor by which the counts counts must shrink so that every class has enough samples."""
    available = torch.bincount(labels, minlength=len(counts)).tolist()
    if 0 in available:
        raise ValueError(
            f"Class '{classes[available.index(0)]}' is missing in one domain: resampling needs it in both."
        )
    return float(min(1.0, *(have / want for have, want in zip(available, counts, strict=True))))


def _first_of_each(labels: Tensor, order: Tensor, counts: list[int], scale: float) -> Tensor:
    """The first positions of every class in a random order."""
    scaled = [max(1, int(scale * count)) for count in counts]
    return torch.cat([order[labels[order] == c][:count] for c, count in enumerate(scaled)])
