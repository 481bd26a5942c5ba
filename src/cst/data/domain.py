"""A domain as it was read: raw items, whatever their origin, before any model has seen them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cst.data.columns import Column


@dataclass(frozen=True)
class Reading:
    """What a reader should look for.

    Attributes:
        text: the column that holds the text; without it a table holds numbers.
        label: the column, or the file, that holds the labels.
        labels: whether labels are read; those of a target are not looked at.
        columns: the columns that are inputs, as an earlier reading chose them.
        only: the columns that the user wants as inputs.
        drop: those that the user leaves out.
        carry: whether columns that tell rows apart are kept beside the inputs.
        strict: refuse a file that cannot be read, or a row without text, instead of leaving it out.
        fill: whether something stands in for a missing value; else it is refused.
        label_option: the option that named the label.
        gaps: whether labels may be missing, as some of a target may.
        role: what the domain is called in a message.
    """

    text: str | None = None
    label: str | None = None
    labels: bool = True
    columns: tuple[Column, ...] = ()
    only: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    carry: bool = False
    strict: bool = False
    fill: bool = True
    label_option: str = "label="
    gaps: bool = False
    role: str = "source"


@dataclass(frozen=True)
class Domain:
    """Samples as they were read.

    Attributes:
        kind: what the items are: the name of a `cst.kinds` object.
        items: one for each sample: paths or encoded pictures, texts, rows of an array.
        names: what to call each sample: a file or a row.
        labels: of any type, if there are any.
        left_out: files that cannot be read, or rows without text.
        fault: what is wrong with those.
        columns: where the numbers of a table come from.
        carried: columns that tell rows apart, to be written beside predictions.
        notes: what else was noticed, one sentence each.
    """

    kind: str
    items: Any
    names: Sequence[str]
    labels: Any = None
    left_out: tuple[str, ...] = ()
    fault: str = ""
    columns: tuple[Column, ...] = ()
    carried: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def without(self, bad: Sequence[int], fault: str, word: str = "") -> Domain:
        """All but the samples at these positions, whose names, with a word in front, are kept beside their fault."""
        if not bad:
            return self
        left_out = tuple(word + self.names[i] for i in bad)
        kept = self.at(sorted(set(range(len(self))) - set(bad)))
        return replace(kept, left_out=left_out, fault=fault)

    def at(self, positions: Sequence[int]) -> Domain:
        """The samples at these positions, in this order."""
        labels = None if self.labels is None else [self.labels[i] for i in positions]
        names = [self.names[i] for i in positions]
        carried = {name: [cells[i] for i in positions] for name, cells in self.carried.items()}
        items = _items_at(self.items, positions)
        return replace(self, items=items, names=names, labels=labels, carried=carried)

    def left_out_note(self, role: str) -> tuple[str, ...]:
        """A sentence on what was left out, if anything was."""
        if not self.left_out:
            return ()
        return (f"{len(self.left_out)} of the {role}'s {self.fault} and are left out: {some(self.left_out)}.",)


class SomeItems(Sequence[Any]):
    """Some items of a sequence, which are read when they are asked for."""

    def __init__(self, items: Sequence[Any], positions: Sequence[int]) -> None:
        self.items, self.positions = items, positions

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, place: Any) -> Any:
        return self.items[self.positions[place]]


class RowNames(Sequence[str]):
    """``"0"``, ``"1"``, ...: what rows are called, without a list of them."""

    def __init__(self, rows: int) -> None:
        self.rows = range(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: Any) -> Any:
        return [str(i) for i in self.rows[row]] if isinstance(row, slice) else str(self.rows[row])


def _items_at(items: Any, positions: Sequence[int]) -> Any:
    """An array is indexed; a sequence is read when its items are asked for."""
    return items[list(positions)] if hasattr(items, "shape") else SomeItems(items, positions)


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are.

    >>> some(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
