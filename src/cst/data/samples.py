"""Inputs of a domain as a network takes them: counted, and taken by position."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from cst.ranks.rows import share

BLOCK = 65_536
"""Samples whose numbers are copied at a time."""
SOME = 64
"""Samples that are looked at where reading them all would take long."""


class Samples(Protocol):
    """Inputs that can be counted and taken by position."""

    @property
    def decodes(self) -> bool:
        """Whether taking a sample is work, which other processes can do ahead of time."""

    def __len__(self) -> int: ...

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """The inputs at ``indices`` [N, ...]; with a seed, crops of larger files are drawn at random."""

    def contents(self) -> Iterator[bytes]:
        """What tells these samples from others; of what takes long to read, a part."""


@dataclass(frozen=True)
class TensorSamples:
    """Inputs in memory: taking a batch is one indexing; bytes become 0..1."""

    inputs: Tensor
    decodes = False

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """Index the tensor."""
        return scaled(self.inputs[indices])

    def contents(self) -> Iterator[bytes]:
        """All numbers, a block at a time."""
        for block in torch.split(self.inputs, BLOCK):
            yield block.contiguous().numpy().tobytes()


def own_rows(samples: Samples, positions: Tensor, seed: int | None = None) -> Tensor:
    """Of what must be decoded this process' rows, of anything else all; crops are those of one process."""
    rows = share(len(positions)) if samples.decodes else slice(0, len(positions))
    if seed is None or rows.start == 0:
        return samples.take(positions[rows], seed)
    if "before" not in inspect.signature(samples.take).parameters:  # of another package: all are drawn
        return samples.take(positions, seed)[rows]
    return samples.take(positions[rows], seed, before=rows.start)  # type: ignore[call-arg]


def scaled(inputs: Tensor) -> Tensor:
    """Bytes as numbers 0..1, numbers as they are."""
    return inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs


@dataclass(frozen=True)
class DatasetSamples:
    """Inputs of a map-style dataset; where an item is a pair, its first part. Labels are left where they are."""

    dataset: Any
    convert: Callable[[Any], Tensor] = field(default=torch.as_tensor)
    decodes = False

    def __len__(self) -> int:
        return len(self.dataset)

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """Load the items one by one."""
        items = [self.convert(input_of(self.dataset[int(i)])) for i in indices]
        shapes = {tuple(item.shape) for item in items}
        if len(shapes) > 1:
            raise ValueError(f"The dataset's inputs have different shapes ({sorted(shapes)}): bring them to one.")
        return torch.stack(items)

    def contents(self) -> Iterator[bytes]:
        """Some of the items."""
        return some_contents(self)


def input_of(item: Any) -> Any:
    """The input of a dataset's item, which may be a pair of input and label."""
    return item[0] if isinstance(item, tuple | list) else item


def some_contents(samples: Samples) -> Iterator[bytes]:
    """The first and last samples, and some between them."""
    indices = torch.linspace(0, len(samples) - 1, min(SOME, len(samples))).long()
    yield samples.take(indices).contiguous().numpy().tobytes()


@dataclass(frozen=True)
class SomeSamples:
    """Some of the samples of a domain."""

    whole: Samples
    positions: Tensor

    @property
    def decodes(self) -> bool:
        """As the whole."""
        return self.whole.decodes

    def __len__(self) -> int:
        return len(self.positions)

    def take(self, indices: Tensor, seed: int | None = None, before: int = 0) -> Tensor:
        """Take from the whole."""
        if before:
            return self.whole.take(self.positions[indices], seed, before=before)  # type: ignore[call-arg]
        return self.whole.take(self.positions[indices], seed)

    def contents(self) -> Iterator[bytes]:
        """Some of them."""
        return some_contents(self)
