"""What a figure is before it is drawn: its numbers, its words, and how to draw it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cst.analysis.subject import Subject

MOST_PANELS = 12
"""Runs that have a panel of their own."""
MOST_NAMED = 3
"""Runs that a sentence names."""


@dataclass(frozen=True)
class Plate:
    """One figure.

    Attributes:
        name: of its file.
        title: what it shows.
        paper: the figure of the paper that it repeats.
        meaning: how to read it, one or two sentences.
        text: what it says, for who cannot see it.
        numbers: all that is drawn.
        draw: a sheet in the colours of a theme.
        notes: what is missing in it and why, one sentence each.
    """

    name: str
    title: str
    paper: str
    meaning: str
    text: str
    numbers: dict[str, Any]
    draw: Callable[[Theme], Figure]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Absent:
    """A figure that cannot be drawn, and why, in one sentence."""

    name: str
    title: str
    reason: str


def lack(runs: Sequence[Subject], what: str) -> str:
    """A sentence on what some runs lack."""
    names = "; ".join(run.name for run in runs[:MOST_NAMED])
    more = f" and {len(runs) - MOST_NAMED} more" if len(runs) > MOST_NAMED else ""
    return f"{what} ({names}{more})."


def note(title: str, runs: Sequence[Subject], what: str) -> tuple[str, ...]:
    """The same with the title of a figure, if there are such runs."""
    return (f"{title}: {lack(runs, what)}",) if runs else ()


def crowd(title: str, runs: Sequence[Subject], most: int = MOST_PANELS) -> tuple[str, ...]:
    """A sentence if not all runs have a panel."""
    return (f"{title}: drawn for the first {most} of {len(runs)} runs.",) if len(runs) > most else ()


def percent(share: float) -> str:
    """A share in a sentence.

    >>> percent(0.1234)
    '12.3 %'
    """
    return f"{100 * share:.1f} %"
