"""What a kind of data must say of itself. A new kind (audio, time series, graphs) is one new file beside this one."""

from __future__ import annotations

import os
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cst.data.domain import Domain, Reading
from cst.spelling import opening

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from torch import Tensor

    from cst.config import Settings
    from cst.data.augmentations import Augmentations
    from cst.data.readers.tables import Table
    from cst.data.samples import Samples
    from cst.data.stream import Stream

FILES, TEXTS, ROWS = "files", "texts", "rows"
"""What a request to a served model may hold."""

NO, MAYBE, SURELY = range(3)
"""Whether a kind claims some data; the strongest claim wins."""


class TooLargeError(ValueError):
    """A request asks for more than a served model gives."""


@dataclass(frozen=True)
class Limits:
    """The most that one request to a served model may ask for.

    Attributes:
        body: bytes.
        count: samples.
        pixels: of a picture.
        characters: of a text, or of a cell of a table.
    """

    body: int = 20 * 2**20
    count: int = 128
    pixels: int = 50_000_000
    characters: int = 100_000


class Encoder(Protocol):
    """Makes samples of raw items, for one model."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Of one encoded input; empty for sequences of tokens, which have no common one."""

    def encode(self, items: Any, role: str = "new") -> Samples:
        """Items as the model takes them; ``role`` is what an error calls them: source, target, test or new."""

    def save(self, folder: Path) -> None:
        """Write what must lie beside a saved model."""


class Kind(ABC):
    """All that depends on the kind of data: reading, encoding, augmentation, fingerprints, usual settings."""

    name: str
    """What the data are called, in the plural."""
    pipeline: str = "tabular-classification"
    """What hubs call a classifier of such data."""
    unit: str = "row"
    """What one sample is: a row or a file."""
    size_unit: str
    """What the size of a sample counts."""
    backbone: str = "auto"
    """What the backbone ``auto`` stands for; ``auto`` again where the shape of the inputs decides."""
    fields: tuple[str, ...] = ()
    """Settings that mean something for this kind only."""
    reads_column: bool = False
    """Whether a column of a table must be named to find such data in it."""
    asks_for: str = ""
    """What a request to a served model holds: `FILES`, `TEXTS` or `ROWS`; nothing if it cannot be served."""
    least_steps: int = 1
    """Of an epoch, with a backbone from scratch: where samples are few, they are seen several times."""
    has_columns: bool = False
    """Whether columns of a table can be chosen as inputs."""

    def usual(self, pretrained: bool) -> Mapping[str, Any]:
        """Settings that differ from those of `cst.config.defaults.ALWAYS`, with a pretrained backbone or another."""
        return {}

    def quick(self, backbone: str) -> Mapping[str, Any]:
        """Settings on top of the usual ones with which a backbone can be adapted on a CPU in bearable time."""
        return {}

    def explained_by_shares(self, source: Domain, labels: Any, target: Domain) -> bool:
        """Whether the target looks like the source's classes in other shares; False where that cannot be told."""
        return False

    def claims_path(self, path: Path, reading: Reading) -> int:
        """Whether a file or folder holds such data: `NO`, `MAYBE` or `SURELY`."""
        return NO

    def claims_table(self, table: Table, reading: Reading) -> int:
        """The same for a data frame or a dataset with named columns."""
        return NO

    @abstractmethod
    def claims_items(self, items: Any) -> int:
        """The same for what else is in memory."""

    def is_item(self, text: str | os.PathLike[str]) -> bool:
        """Whether a string or path is one sample itself, and not where samples are to be read from."""
        return False

    def read_path(self, path: Path, reading: Reading) -> Domain:
        """What a file or folder holds that this kind has claimed."""
        raise ValueError(f"{path}: {self.name} cannot be read from files.")

    def read_table(self, table: Table, reading: Reading) -> Domain:
        """What a table holds that this kind has claimed."""
        raise ValueError(f"{opening(table.where)}: {self.name} cannot be read from tables.")

    def stream(self, path: Path, reading: Reading) -> Stream:
        """The same without labels, in parts; files that cannot be read are found when their turn comes."""
        from cst.data.stream import Stream

        return Stream.of(self.read_path(path, reading), path)

    @abstractmethod
    def read_items(self, items: Any, reading: Reading) -> Domain:
        """What is in memory, without labels."""

    @abstractmethod
    def encoding(self, domain: Domain, settings: Settings, raw: bool) -> dict[str, Any]:
        """How a model will take such data, as plain values; ``raw`` if the network is the user's own."""

    @abstractmethod
    def encoder(self, encoding: Mapping[str, Any], backbone: str, home: Path | None) -> Encoder:
        """What encodes so; ``home`` is the folder of a saved model, if it is one."""

    def received(self, values: Sequence[Any], encoder: Encoder, limits: Limits) -> tuple[Any, tuple[str, ...]]:
        """Items of what a stranger's request holds, and what to say of them; never a file of this machine.

        Args:
            values: contents of files as bytes, or what stands in a JSON list.
            encoder: what will encode them.
            limits: the most that is taken.
        """
        raise ValueError(f"A model of {self.name} cannot be served.")

    def examples(self, encoder: Encoder) -> Tensor:
        """Two encoded inputs, of no meaning."""
        import torch

        return torch.zeros(2, *encoder.shape)

    def explained(self, encoder: Encoder) -> dict[str, Any]:
        """How items become inputs, for somebody who has to do it without cst."""
        return {}

    @property
    @abstractmethod
    def augmentations(self) -> Augmentations:
        """Random changes of inputs that suit such data."""

    @abstractmethod
    def fingerprint(self, item: Any) -> bytes:
        """What is equal for items that people would call the same."""

    @abstractmethod
    def size(self, item: Any) -> int:
        """How large an item is, in `size_unit`."""

    def thumbnail(self, item: Any, side: int) -> Picture | None:
        """A small picture of an item, if it is one."""
        return None

    def cells(self, domain: Domain, position: int) -> tuple[tuple[str, str], ...]:
        """A sample in words, where it is no picture: names and values; a text has one value without a name."""
        return ()

    def remarks(self, source: Domain, target: Domain) -> tuple[str, ...]:
        """What a careful person would ask about two domains before training, one sentence each."""
        return ()

    def refusal(self, source: Domain, target: Domain) -> str:
        """Why no model can take two domains together, or an empty text."""
        return ""


def as_sequence(items: Any) -> Sequence[Any]:
    """Items that can be counted and indexed; there must be some."""
    if hasattr(items, "columns"):
        raise ValueError("The inputs are a data frame: give one column of it, frame['name'].")
    sequence = items if isinstance(items, Sequence) else list(items)
    if not len(sequence):
        raise ValueError("There are no new inputs: give at least one.")
    return sequence


def paths_or_texts(items: Any) -> list[Any] | None:
    """A row of strings and paths as a list; ``None`` for anything else in memory."""
    array_or_series = hasattr(items, "ndim") and hasattr(items, "tolist")
    if array_or_series and items.ndim == 1:
        items = items.tolist()
    elif hasattr(items, "to_list") and len(getattr(items, "shape", ())) == 1:  # a series of polars
        items = items.to_list()
    if not isinstance(items, Sequence) or isinstance(items, str | bytes):
        return None
    if not any(isinstance(item, str | os.PathLike) for item in items):
        return None
    for place, item in enumerate(items):
        if not isinstance(item, str | os.PathLike):
            raise ValueError(
                f"Item {place} of the texts or paths is {reprlib.repr(item)}: fill it in, or leave it out."
            )
    return list(items)
