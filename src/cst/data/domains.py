"""The two domains of a task. Training sees `Task.source` and `Task.target`; only evaluation sees `Task.oracle`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from cst.data.views import ARRAYS, Views


class Samples(Protocol):
    """Inputs that can be counted and taken by position."""

    @property
    def bytes_in(self) -> bool:
        """Whether the inputs came as bytes, which are scaled to 0..1."""

    def __len__(self) -> int: ...

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """The inputs at ``indices``, stacked; with a seed, crops of larger files are drawn at random."""


@dataclass(frozen=True)
class TensorSamples:
    """Inputs in memory: taking a batch is one indexing."""

    inputs: Tensor
    bytes_in: bool = False

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """Index the tensor; bytes become 0..1."""
        return scaled(self.inputs[indices])


def scaled(inputs: Tensor) -> Tensor:
    """Bytes as numbers 0..1, numbers as they are."""
    return inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs


@dataclass(frozen=True)
class DatasetSamples:
    """Inputs of a map-style dataset; where an item is a pair, its first part. Labels are left where they are."""

    dataset: Any
    convert: Callable[[Any], Tensor] = field(default=torch.as_tensor)
    bytes_in: bool = False

    def __len__(self) -> int:
        return len(self.dataset)

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """Load the items one by one."""
        items = [self.convert(input_of(self.dataset[int(i)])) for i in indices]
        shapes = {tuple(item.shape) for item in items}
        if len(shapes) > 1:
            raise ValueError(f"The dataset's inputs have different shapes ({sorted(shapes)}): bring them to one.")
        return torch.stack(items)


@dataclass(frozen=True)
class Part:
    """Some of the samples of a domain."""

    whole: Samples
    places: Tensor

    @property
    def bytes_in(self) -> bool:
        """As the whole."""
        return self.whole.bytes_in

    def __len__(self) -> int:
        return len(self.places)

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """Take from the whole."""
        return self.whole.take(self.places[indices], seed)


def input_of(item: Any) -> Any:
    """The input of a dataset's item, which may be a pair of input and label."""
    return item[0] if isinstance(item, tuple | list) else item


UNKNOWN = -1


@dataclass(frozen=True)
class Labelled:
    """A domain with labels 0..K-1."""

    samples: Samples
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Oracle:
    """Labels of the target, for evaluation only: of its training samples, and a held-out test set.

    Of a target that is labelled in part the other labels are `UNKNOWN`.
    """

    target_labels: Tensor | None = None
    test: Labelled | None = None


@dataclass(frozen=True)
class Task:
    """A labelled source, an unlabelled target, and the names of the classes."""

    name: str
    source: Labelled
    target: Samples
    classes: tuple[Any, ...]
    oracle: Oracle = Oracle()
    notes: tuple[str, ...] = ()
    """What the user should know of the data, one sentence each."""
    kind: str = "arrays"
    """``arrays``, ``images`` or ``text``."""
    views: Views = ARRAYS
    columns: tuple[str, ...] = ()
    """Names of the inputs, where they come from a table of numbers."""

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one input."""
        return tuple(self.source.samples.take(torch.tensor([0])).shape[1:])


def glimpse(task: Task, most: int) -> Task:
    """The task with at most ``most`` samples of its target, labelled ones first, otherwise spread evenly."""
    count, labels = len(task.target), task.oracle.target_labels
    if count <= most:
        return task
    known = torch.zeros(count, dtype=torch.bool) if labels is None else labels != UNKNOWN
    first = _evenly(known.nonzero().flatten(), most)
    places = torch.cat([first, _evenly((~known).nonzero().flatten(), most - len(first))]).sort().values
    oracle = replace(task.oracle, target_labels=None if labels is None else labels[places])
    return replace(task, target=Part(task.target, places), oracle=oracle)


def _evenly(places: Tensor, most: int) -> Tensor:
    if len(places) <= most:
        return places
    return places[torch.linspace(0, len(places) - 1, most).long()]
