"""Learning rates as functions of the time since training began."""

from __future__ import annotations

import math


def rate(schedule: str, step: int, epoch: int, epochs: int) -> float:
    """The factor on the initial learning rate.

    ``step``: a tenth after each third of the run, the paper's 50 of 150 epochs. ``inverse``:
    ``(1 + 0.001 step)^-0.75``, the published code's. ``cosine``: half a wave down to zero, the same within an
    epoch. ``constant``: one.

    >>> [rate("step", 0, epoch, epochs=150) for epoch in (0, 50, 100)]
    [1.0, 0.1, 0.01]
    """
    if schedule == "step":
        return float(round(10.0 ** -(3 * epoch // epochs), 6))
    if schedule == "inverse":
        return float((1 + 0.001 * step) ** -0.75)
    if schedule == "cosine":
        return (1 + math.cos(math.pi * epoch / epochs)) / 2
    return 1.0
