"""Texts: a column of a table, or a list of strings; encoded as the token numbers of the backbone's tokenizer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.data.columns import identifiers
from cst.data.domain import Domain, Reading, RowNames
from cst.data.readers import is_table, read_labels, read_table
from cst.kinds.contract import (
    MAYBE,
    NO,
    SURELY,
    TEXTS,
    Encoder,
    Kind,
    Limits,
    TooLargeError,
    as_sequence,
    paths_or_texts,
)
from cst.spelling import opening

if TYPE_CHECKING:
    from torch import Tensor

    from cst.config import Settings
    from cst.data.augmentations import Augmentations
    from cst.data.readers.tables import Table
    from cst.data.texts import TokenSamples

TOKENIZER = "tokenizer"
"""The folder that a saved model keeps its tokenizer in."""


@dataclass(frozen=True)
class TextEncoder:
    """Texts as token numbers, at most ``max_length`` of each."""

    place: str
    max_length: int
    shape = ()

    @cached_property
    def tokenizer(self) -> Any:
        """Of the backbone, or the one that a saved model kept."""
        from cst.hub import load_tokenizer

        return load_tokenizer(self.place)

    def encode(self, items: Sequence[str], role: str = "new") -> TokenSamples:
        """Texts as samples."""
        from cst.data.texts import TokenSamples

        return TokenSamples.of(as_sequence(items), self.tokenizer, self.max_length)

    def save(self, folder: Path) -> None:
        """Keep the tokenizer with the model."""
        self.tokenizer.save_pretrained(str(folder / TOKENIZER))


class Text(Kind):
    """Texts, of which the tokens lie in memory."""

    name, size_unit = "text", "words"
    pipeline = "text-classification"
    asks_for = TEXTS
    backbone = "minilm"
    fields = ("max_length", "pooling")
    reads_column = True

    def usual(self, pretrained: bool) -> Mapping[str, Any]:
        """A pretrained transformer: few epochs of AdamW, after a warm-up, on normalised features."""
        return {
            "epochs": 3,
            "batch_size": 16,
            "lr": 1e-3,
            "backbone_lr": 0.1,
            "optimizer": "adamw",
            "ramp_epochs": 1.0,
            "warmup_epochs": 0.5,
            "feature_norm": True,
        }

    def claims_path(self, path: Path, reading: Reading) -> int:
        """A table of which a column of text is named."""
        return SURELY if reading.text is not None and is_table(path) else NO

    def claims_table(self, table: Table, reading: Reading) -> int:
        """One of which a column of text is named."""
        return SURELY if reading.text is not None else NO

    def claims_items(self, items: Any) -> int:
        """A list of strings."""
        texts = paths_or_texts(items)
        return MAYBE if texts and all(isinstance(text, str) for text in texts) else NO

    def is_item(self, text: str | os.PathLike[str]) -> bool:
        """A string that is no path of anything."""
        return not os.path.exists(text)

    def read_path(self, path: Path, reading: Reading) -> Domain:
        """The column of text; rows without any are left out."""
        return self.read_table(read_table(path), reading)

    def read_table(self, table: Table, reading: Reading) -> Domain:
        """The same of a table."""
        from cst.data.readers.tables import texts_of

        columns, labels = table.columns, read_labels(table, reading)
        assert reading.text is not None
        texts = texts_of(columns, table.where, reading.text)
        empty = [row for row, text in enumerate(texts) if not text.strip()]
        if empty and (reading.strict or len(empty) == len(texts)):
            raise ValueError(
                f"{opening(table.where)}, row {empty[0]}: column '{reading.text}' has no text; fill it in or drop the "
                "row."
            )
        names = list(columns) if reading.carry else []
        carried = {name: columns[name] for name in names if name == reading.text or identifiers(columns, [name])}
        domain = Domain(self.name, texts, RowNames(len(texts)), labels, carried=carried)
        return domain.without(empty, "rows have no text", "row ")

    def read_items(self, items: Any, reading: Reading) -> Domain:
        """The strings themselves."""
        texts = paths_or_texts(items) or ()
        return Domain(self.name, texts, RowNames(len(texts)))

    def encoding(self, domain: Domain, settings: Settings, raw: bool) -> dict[str, Any]:
        """How many tokens are read."""
        return {"max_length": settings.max_length}

    def encoder(self, encoding: Mapping[str, Any], backbone: str, home: Path | None) -> TextEncoder:
        """The tokenizer that the model was saved with, else the backbone's own."""
        from cst.hub import place_of

        kept = home is not None and (home / TOKENIZER).is_dir()
        return TextEncoder(str(home / TOKENIZER) if kept and home else place_of(backbone), encoding["max_length"])

    def received(self, values: Sequence[Any], encoder: Encoder, limits: Limits) -> tuple[Any, tuple[str, ...]]:
        """The strings themselves; what looks like a path is a text."""
        for number, value in enumerate(values, 1):
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"Text {number} is {'empty' if isinstance(value, str) else 'not a string'}.")
            if len(value) > limits.characters:
                raise TooLargeError(f"Text {number} has more than {limits.characters:,} characters: shorten it.")
        return list(values), ()

    def examples(self, encoder: Encoder) -> Tensor:
        """Two texts of different length."""
        import torch

        return encoder.encode(["a", "a longer text"]).take(torch.arange(2))

    def explained(self, encoder: Encoder) -> dict[str, Any]:
        """Token numbers of the tokenizer that lies beside the model."""
        from cst.tokens import NO_TOKEN

        assert isinstance(encoder, TextEncoder)
        words = "numbers of the tokens, special ones included; shorter texts are filled up"
        return {"values": words, "tokenizer": TOKENIZER, "max_length": encoder.max_length, "filled_with": NO_TOKEN}

    @property
    def augmentations(self) -> Augmentations:
        """Tokens are hidden: a few, or a fifth."""
        from cst.data.augmentations import TOKENS

        return TOKENS

    def fingerprint(self, item: str) -> bytes:
        """The text without its capitals and repeated spaces."""
        return " ".join(item.lower().split()).encode("utf-8", "replace")

    def cells(self, domain: Domain, position: int) -> tuple[tuple[str, str], ...]:
        """The text."""
        return (("", str(domain.items[position])),)

    def size(self, item: str) -> int:
        """Words."""
        return len(item.split())


KIND = Text()
