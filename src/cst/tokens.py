"""Sequences of different length in one tensor, for every text model here.

A position without a token holds -1 among token numbers [N, L] and NaN among token vectors [N, L, d], so that the
tensor itself says which positions count.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

NO_TOKEN = -1


def present(tokens: Tensor) -> Tensor:
    """Which positions hold a token [N, L]."""
    return ~tokens[..., 0].isnan() if tokens.is_floating_point() else tokens != NO_TOKEN


def without(tokens: Tensor, hidden: Tensor) -> Tensor:
    """The same sequences with no token at the ``hidden`` positions [N, L]."""
    if tokens.is_floating_point():
        return tokens.masked_fill(hidden.unsqueeze(-1), torch.nan)
    return tokens.masked_fill(hidden, NO_TOKEN)


def padded(sequences: list[Tensor]) -> Tensor:
    """Sequences stacked, padded to the longest."""
    nothing = torch.nan if sequences[0].is_floating_point() else NO_TOKEN
    return pad_sequence(sequences, batch_first=True, padding_value=nothing)


def joined(first: Tensor, second: Tensor) -> Tensor:
    """Two batches in one; sequences of different length are padded."""
    if first.shape[1:] == second.shape[1:]:
        return torch.cat([first, second])
    return padded([*first, *second])
