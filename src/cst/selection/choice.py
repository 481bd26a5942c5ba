"""One of several models of the same data, chosen without labels of the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cst.selection.validators import ranked


@dataclass(frozen=True)
class Choice:
    """Which model, why, and what the scores say of each.

    Attributes:
        name: of the chosen one.
        why: a sentence.
        ranks: the mean rank of each model over the scores that decide, 1 for the best.
    """

    name: str
    why: str
    ranks: Mapping[str, float]

    def record(self) -> dict[str, Any]:
        """Plain values for a file."""
        return asdict(self)


def choose(candidates: Mapping[str, Mapping[str, Any]]) -> Choice:
    """The model that the scores speak for; ``candidates`` has the signs of each, after adapting and before."""
    ranks = ranked({name: signs["after"]["scores"] for name, signs in candidates.items()})
    name = min(ranks, key=lambda name: ranks[name])
    return Choice(name, "", ranks)
