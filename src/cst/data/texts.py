"""Texts as token numbers, padded to the longest of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from cst.data.values import whole_characters
from cst.tokens import padded


@dataclass(frozen=True)
class TokenSamples:
    """Token numbers of each text."""

    tokens: tuple[Tensor, ...]
    decodes = False

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Any, max_length: int) -> TokenSamples:
        """Tokens of every text, at most ``max_length`` of each."""
        wrong = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
        if wrong is not None:
            raise ValueError(f"Text {wrong} is {type(texts[wrong]).__name__}, not a string: fill in or drop such rows.")
        encoded = tokenizer(
            [whole_characters(text) for text in texts], truncation=True, max_length=max_length, padding=False
        )["input_ids"]
        return cls(tuple(torch.tensor(ids, dtype=torch.long) for ids in encoded))

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """Token numbers [N, longest]."""
        return padded([self.tokens[int(i)] for i in indices])

    def contents(self) -> Iterator[bytes]:
        """All tokens."""
        for tokens in self.tokens:
            yield tokens.numpy().tobytes()
