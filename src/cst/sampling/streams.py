"""Endless shuffled batches of positions, as a function of the step: nothing to save, nothing to restore."""

from __future__ import annotations

import torch
from torch import Tensor


class Stream:
    """Batches of positions in a domain of ``size`` samples, shuffled anew at every pass.

    The batch of a step depends on ``seed`` and the step's number only, so that a resumed run sees
    what the uninterrupted one would have seen. What does not fill a batch waits for another pass.

    Args:
        size: samples in the domain, at least ``batch_size``.
        batch_size: positions in a batch.
        seed: of the shuffles.

    >>> stream = Stream(size=7, batch_size=3, seed=0)
    >>> stream.per_pass, len(torch.cat([stream.batch(0), stream.batch(1)]).unique())
    (2, 6)
    >>> bool((stream.batch(5) == Stream(7, 3, seed=0).batch(5)).all())
    True
    """

    def __init__(self, size: int, batch_size: int, seed: int) -> None:
        self.size, self.batch_size, self.seed = size, batch_size, seed
        self.per_pass = size // batch_size
        self._orders: dict[int, Tensor] = {}

    def batch(self, step: int) -> Tensor:
        """Positions [batch_size] of step number ``step``."""
        passes, place = divmod(step, self.per_pass)
        return self._order(passes)[place * self.batch_size : (place + 1) * self.batch_size]

    def _order(self, passes: int) -> Tensor:
        """The order of a pass; that of the present pass is kept."""
        if passes not in self._orders:
            self._orders = {passes: self._shuffle(passes)}
        return self._orders[passes]

    def _shuffle(self, passes: int) -> Tensor:
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + passes) % 2**63)
        return torch.randperm(self.size, generator=generator)
