"""One of several models of the same data, chosen without labels of the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cst.selection.validators import ranked
from cst.selection.verdict import ADAPTED, COLLAPSED, HARMED

DECISIVE = ("class-confusion", "mixval")
"""Scores that decide among models with the same verdict."""


@dataclass(frozen=True)
class Choice:
    """Which model, why, and what speaks for each.

    Attributes:
        name: of the chosen one.
        why: a sentence.
        verdicts: the word for each model.
        ranks: the mean rank of each over the scores that decide, 1 for the best.
    """

    name: str
    why: str
    verdicts: Mapping[str, str]
    ranks: Mapping[str, float]

    def record(self) -> dict[str, Any]:
        """Plain values for a file."""
        return asdict(self)


def choose(verdicts: Mapping[str, str], scores: Mapping[str, Mapping[str, float]]) -> Choice:
    """The model with the best verdict; among equals the one that the decisive scores prefer, else the first.

    Args:
        verdicts: of each model, the strongest method first: it wins where nothing else tells.
        scores: of each model.

    >>> scores = {"cst": {"class-confusion": -0.1}, "source-only": {"class-confusion": -0.5}}
    >>> choose({"cst": "adapted", "source-only": "no clear gain"}, scores).name
    'cst'
    >>> choose({"cst": "harmed", "source-only": "no clear gain"}, scores).name
    'source-only'
    """
    ranks = ranked({name: _decisive(scores[name], scores.values()) for name in verdicts})
    name = min(verdicts, key=lambda name: (_badness(verdicts[name]), ranks[name]))
    return Choice(name, _why(name, verdicts), dict(verdicts), ranks)


def _why(name: str, verdicts: Mapping[str, str]) -> str:
    """The verdicts in words, and what decided among equals."""
    words = dict.fromkeys(verdicts.values())
    told = "; ".join(f"{word}: {', '.join(n for n in verdicts if verdicts[n] == word)}" for word in words)
    equal = sum(_badness(word) == _badness(verdicts[name]) for word in verdicts.values())
    among = " Of those with the best one it confuses classes least and keeps the labels of mixtures best."
    return f"Verdicts: {told}.{among if equal > 1 else ''}"


def _badness(word: str) -> int:
    return {COLLAPSED: 3, HARMED: 2, ADAPTED: 0}.get(word, 1)


def _decisive(scores: Mapping[str, float], every: Any) -> dict[str, float]:
    """Those of the decisive scores that all models have, to three digits."""
    return {name: round(scores[name], 3) for name in DECISIVE if all(name in each for each in every)}
