"""The paper's figures: one file a figure, each from numbers to words and a sheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cst.analysis.plates import (
    alphas,
    bars,
    classes,
    confidence,
    embedding,
    round_trip,
    selection,
    tsallis,
    variation,
)
from cst.analysis.plates.contract import Absent, Plate
from cst.spelling import unknown

if TYPE_CHECKING:
    from cst.analysis.subject import Subject

__all__ = ["PLATES", "Absent", "Plate", "plates"]

_MODULES = (classes, variation, selection, tsallis, round_trip, confidence, alphas, bars, embedding)
PLATES: dict[str, Callable[[Sequence[Subject]], Plate | Absent]] = {module.NAME: module.plate for module in _MODULES}
"""All figures by name, in the paper's order."""


def plates(runs: Sequence[Subject], names: Sequence[str] | None = None) -> list[Plate | Absent]:
    """The figures of some runs, all or those that are named; what cannot be drawn says why."""
    for name in names or ():
        if name not in PLATES:
            raise ValueError(f"only=: {unknown('figure', name, PLATES)}")
    return [make(runs) for name, make in PLATES.items() if not names or name in names]
