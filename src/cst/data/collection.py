"""What a folder or a table holds, before anything is decoded, and how it becomes samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from cst.config import Config

if TYPE_CHECKING:
    from cst.data.domains import Samples, Task
    from cst.data.views import Views

Kind = Literal["images", "text", "arrays"]


@dataclass(frozen=True)
class Wanted:
    """What a reader should look for.

    Attributes:
        text: the column that holds the text; without it a table holds numbers.
        label: the column, or the file, that holds the labels.
        labels: whether labels are wanted; those of a target are not looked at.
        columns: the columns that are inputs, in this order; without them all but the label.
        strict: refuse a file that cannot be read, or a row without text, instead of leaving it out.
        label_flag: the option that named the label.
        gaps: whether labels may be missing, as some of a target may.
    """

    text: str | None = None
    label: str | None = None
    labels: bool = True
    columns: tuple[str, ...] = ()
    strict: bool = False
    label_flag: str = "--label"
    gaps: bool = False


@dataclass(frozen=True)
class Collection:
    """Items of one domain as they were found.

    Attributes:
        kind: ``images`` for paths or encoded pictures, ``text`` for strings, ``arrays`` for a rectangular array.
        items: one for each sample.
        names: what to call each sample: a file or a row.
        labels: of any type, if there are any.
        unreadable: files, or rows without text, that were left out.
        columns: where the numbers of a table come from.
        notes: what else was noticed, one sentence each.
    """

    kind: Kind
    items: Sequence[Any]
    names: Sequence[str]
    labels: Sequence[Any] | None = None
    unreadable: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    @property
    def fault(self) -> str:
        """What is wrong with those that were left out."""
        return "rows have no text" if self.kind == "text" else "files cannot be read"

    def without(self, bad: Sequence[int], word: str = "") -> Collection:
        """All but the samples at these places, which are called by name, with a word in front, as left out."""
        if not bad:
            return self
        kept = sorted(set(range(len(self))) - set(bad))
        labels = None if self.labels is None else [self.labels[i] for i in kept]
        names, left_out = ([self.names[i] for i in places] for places in (kept, bad))
        unreadable = tuple(word + name for name in left_out)
        return replace(self, items=Part(self.items, kept), names=names, labels=labels, unreadable=unreadable)


class Part(Sequence[Any]):
    """Some items of a sequence, which are read when they are asked for."""

    def __init__(self, items: Sequence[Any], places: Sequence[int]) -> None:
        self.items, self.places = items, places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, place: Any) -> Any:
        return self.items[self.places[place]]


def samples_of(kind: str, items: Any, config: Config, domain: str = "new", tokenizer: Any = None) -> Samples:
    """Samples that a network can take, of raw items; the tokenizer is the backbone's if none is given."""
    from cst.data.arrays import samples_from

    if kind == "images":
        from cst.data.images import ImageFiles

        assert config.image_size
        return ImageFiles(items, config.image_size)
    if kind == "text":
        from cst.data.texts import TokenSamples
        from cst.models.text import find_tokenizer

        assert config.max_length
        return TokenSamples.of(items, tokenizer or find_tokenizer(config), config.max_length)
    return samples_from(items, domain)


def same_kind(source: str, target: str) -> None:
    """Refuse two domains of which one holds images and the other text or numbers."""
    if source != target:
        raise ValueError(f"The source holds {source}, the target {target}: both must be of one kind.")


def views_of(kind: str) -> Views:
    """The random views that suit a kind of data."""
    from cst.data import views

    return {"images": views.PHOTOS, "text": views.TOKENS}.get(kind, views.ARRAYS)


def task_of(
    source: Collection,
    target: Collection,
    config: Config,
    name: str,
    target_labels: Sequence[Any] | None = None,
    test: Collection | None = None,
    notes: Sequence[str] = (),
    tokenizer: Any = None,
) -> Task:
    """A checked task; ``target_labels`` and ``test`` serve evaluation only."""
    from cst.data.arrays import encode_labels, known_labels, labelled_part, same_inputs
    from cst.data.domains import Labelled, Oracle, Task

    same_kind(source.kind, target.kind)
    if source.labels is None:
        raise ValueError("The source has no labels: give class folders, or name the column with --label.")
    for domain, collection in (("source", source), ("target", target)):
        if not len(collection):
            raise ValueError(f"The {domain} is empty: give it at least one batch of samples.")
    labels, classes = encode_labels(source.labels)
    if len(labels) != len(source):
        raise ValueError(
            f"The source has {len(source)} inputs but {len(labels)} labels: give one label for each input."
        )
    inputs, others = (
        samples_of(c.kind, c.items, config, d, tokenizer) for c, d in ((source, "source"), (target, "target"))
    )
    if source.kind == "arrays":
        same_inputs(inputs, others)
    truth = None if target_labels is None else known_labels(target_labels, classes, len(target))
    held_out = None
    if test is not None:
        assert test.labels is not None
        held_out = Labelled(
            samples_of(test.kind, test.items, config, "test", tokenizer), known_labels(test.labels, classes, len(test))
        )
    left_out = [
        f"{len(c.unreadable)} of the {domain}'s {c.fault} and are left out: {some(c.unreadable)}."
        for domain, c in (("source", source), ("target", target))
        if c.unreadable
    ]
    return Task(
        name,
        Labelled(inputs, labels),
        others,
        classes,
        Oracle(truth, held_out),
        (*notes, *source.notes, *target.notes, *left_out, *labelled_part(truth)),
        source.kind,
        views_of(source.kind),
        source.columns,
    )


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
