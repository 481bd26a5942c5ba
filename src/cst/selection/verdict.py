"""Did adapting help? One word, and the evidence for it, without labels of the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cst.selection.signs import collapse, never_predicted
from cst.selection.validators import VALIDATORS

ADAPTED, UNCLEAR, HARMED, COLLAPSED = WORDS = ("adapted", "no clear gain", "harmed", "collapsed")
UNLEARNED = 0.5
"""Error on the source from which on it counts as not learned."""
HUGE = 100.0
"""A mean loss that no term has in a run that goes well."""


@dataclass(frozen=True)
class Verdict:
    """What became of a run.

    Attributes:
        word: one of `WORDS`.
        sentences: what it rests on, and what else a person should know.
        evidence: of each sign its name for people, and its value before and after adapting.
        reliability: how often such a verdict was right where labels could tell.
    """

    word: str
    sentences: tuple[str, ...]
    evidence: Mapping[str, Mapping[str, Any]]
    reliability: str = ""

    def record(self) -> dict[str, Any]:
        """Plain values for a file."""
        return asdict(self) | {"sentences": list(self.sentences)}


def judge(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    classes: Sequence[Any],
    held: bool = False,
    loss: float = 0.0,
) -> Verdict:
    """The verdict on a model from its `cst.selection.signs` when the warm-up ended and at the end.

    Args:
        before: empty where there was no warm-up, so that there is nothing to compare with.
        after: of the finished model.
        classes: their names.
        held: whether the run stayed with the source.
        loss: the last epoch's mean.
    """
    remarks = _remarks(after, classes, loss)
    evidence = _evidence(before, after)
    gathered = collapse(before["shares"], after["shares"], classes) if before else ""
    if gathered or max(after["shares"]) == 1.0:
        return Verdict(COLLAPSED, (*filter(None, [gathered]), *remarks), evidence)
    return Verdict(UNCLEAR, remarks, evidence)


def _remarks(after: Mapping[str, Any], classes: Sequence[Any], loss: float) -> tuple[str, ...]:
    """What a person should know of any finished model."""
    shares, remarks = after["shares"], []
    if max(shares) == 1.0:
        remarks.append(f"Every prediction on the target is '{classes[shares.index(1.0)]}'.")
    elif sentence := never_predicted(shares, classes):
        remarks.append(sentence)
    error = 1 - after["scores"]["source-accuracy"]
    if error > UNLEARNED:
        remarks.append(f"The source was not learned: {100 * error:.0f} % of its own samples are labelled wrongly.")
    if loss > HUGE:
        remarks.append(f"The loss of the last epoch is {loss:,.0f}: lower the learning rate (lr=).")
    return tuple(remarks)


def _evidence(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    earlier = before.get("scores", {})
    return {
        name: {"label": VALIDATORS[name].summary, "before": earlier.get(name), "after": score}
        for name, score in after["scores"].items()
    }
