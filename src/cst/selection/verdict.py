"""Did adapting help? One word, and the evidence for it, without labels of the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cst.selection.signs import changed_share, collapse, never_predicted, spread_over
from cst.selection.validators import VALIDATORS

ADAPTED, UNCLEAR, HARMED, COLLAPSED = WORDS = ("adapted", "no clear gain", "harmed", "collapsed")

BAD = (HARMED, COLLAPSED)

# Limits, found on the deciding half of the battery (docs/results/selection.md).
NARROWER = 0.75
"""Of the classes that predictions were spread over: below it rare classes are given up."""
MOVED, ONE_WAY = 0.09, 0.75
"""A shift of the classes' shares that counts, and the part of all changed labels from which on it goes one way."""
FEW_CLASSES = 3
"""Up to so many classes every correction goes one way, so that predictions must have become less firm, too."""
LESS_SURE = -0.03
"""A change of class confusion with which predictions on the target have come to confuse classes."""
TOUCHED = 0.02
"""The share of the target that must have got another label."""
FIRMER = 0.015
"""By how much more mixtures, or views, must keep their label."""
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
    sentences: Sequence[str]
    evidence: Mapping[str, Mapping[str, Any]]
    reliability: str = ""

    def record(self) -> dict[str, Any]:
        """Plain values for a file."""
        return asdict(self)

    @classmethod
    def of(cls, record: Any) -> Verdict | None:
        """The verdict that a file has, if it has one."""
        if not isinstance(record, Mapping) or "word" not in record:
            return None
        sentences, evidence = record.get("sentences", ()), record.get("evidence", {})
        return cls(str(record["word"]), tuple(sentences), evidence, str(record.get("reliability", "")))


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

    >>> scores = {"source-accuracy": 1.0, "class-confusion": -0.5, "mixval": 0.6}
    >>> before = {"scores": scores, "shares": [0.5, 0.5], "labels": [0, 0, 1, 1], "heads_agree": 0.9}
    >>> firmer = {**before, "scores": {**scores, "class-confusion": -0.1, "mixval": 0.7}, "labels": [0, 1, 0, 1]}
    >>> judge(before, firmer, ["ant", "bee"]).word
    'adapted'
    """
    remarks = _remarks(after, classes, loss)
    evidence = _evidence(before, after)
    if max(after["shares"]) == 1.0:
        return Verdict(COLLAPSED, remarks, evidence, RELIABILITY[COLLAPSED])
    if held:
        return Verdict(UNCLEAR, ("The run stayed with the source.", *remarks), evidence)
    if not before:
        return Verdict(UNCLEAR, ("There is no source model of the same run to compare with.", *remarks), evidence)
    word, reason = _word(before, after, classes)
    return Verdict(word, (reason, *remarks), evidence, RELIABILITY[word])


def went_back(after: Mapping[str, Any], verdict: Verdict, reason: str) -> Verdict:
    """The verdict on a source model that was taken in the place of a last epoch with a bad one."""
    evidence = _evidence({**after, "labels": []}, after)
    sentences = (f"The source model of the end of the warm-up is kept: the last epoch was {reason}",)
    return Verdict(UNCLEAR, sentences, evidence, verdict.reliability)


def _word(before: Mapping[str, Any], after: Mapping[str, Any], classes: Sequence[Any]) -> tuple[str, str]:
    """One of `WORDS`, and the sentence that it rests on; signs of harm come first."""
    if sentence := collapse(before["shares"], after["shares"], classes):
        return COLLAPSED, sentence
    spread = [spread_over(signs["shares"]) for signs in (before, after)]
    if spread[1] < NARROWER * spread[0]:
        return HARMED, f"Predictions are spread over {spread[1]:.1f} classes instead of {spread[0]:.1f}."
    changed = changed_share(before["labels"], after["labels"])
    moved = sum(abs(one - other) for one, other in zip(before["shares"], after["shares"], strict=True)) / 2
    name = "mixval" if _change(before, after, "mixval") is not None else "view-agreement"
    firmer = _change(before, after, name)
    few = len(classes) <= FEW_CLASSES and firmer is not None and firmer >= FIRMER
    if moved >= MOVED and moved >= ONE_WAY * changed and not few:
        return HARMED, (
            f"{_percent(changed)} of the target have another label than the source model gave, and {_percent(moved)} "
            "went the same way, from some classes to others: that is rarely right."
        )
    confusion = _change(before, after, "class-confusion") or 0.0
    if confusion <= LESS_SURE and changed >= -LESS_SURE:
        return HARMED, (
            f"{_percent(changed)} of the target have another label than the source model gave, and predictions confuse "
            f"classes more than before (by {-confusion:.2f})."
        )
    what = "mixtures of two samples" if name == "mixval" else "other views of samples"
    if changed < TOUCHED:
        return UNCLEAR, f"{_percent(changed)} of the target have another label than the source model gave."
    if firmer is None or firmer < FIRMER or confusion <= 0:
        kept = "" if firmer is None else f", and {what} do not keep their label more often ({_signed(firmer)})"
        return UNCLEAR, f"{_percent(changed)} of the target have another label than the source model gave{kept}."
    return ADAPTED, (
        f"{_percent(changed)} of the target have another label than the source model gave, {what} keep their label "
        f"more often ({_signed(firmer)}), and classes are confused less ({_signed(confusion)})."
    )


def _change(before: Mapping[str, Any], after: Mapping[str, Any], name: str) -> float | None:
    """By how much a score has risen, where there is one."""
    if name not in before["scores"] or name not in after["scores"]:
        return None
    return float(after["scores"][name] - before["scores"][name])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _signed(change: float) -> str:
    return f"{change:+.2f}"


def _remarks(after: Mapping[str, Any], classes: Sequence[Any], loss: float) -> tuple[str, ...]:
    """What a person should know of any finished model."""
    shares, remarks = after["shares"], []
    if max(shares) == 1.0:
        remarks.append(f"Every prediction on the target is '{classes[shares.index(1.0)]}'.")
    elif sentence := never_predicted(shares, classes):
        remarks.append(sentence)
    error = 1 - after["scores"]["source-accuracy"]
    if error > UNLEARNED:
        remarks.append(f"The source was not learned: {_percent(error)} of its samples are labelled wrongly.")
    if loss > HUGE:
        remarks.append(f"The loss of the last epoch is {loss:,.0f}: lower the learning rate (lr=).")
    return tuple(remarks)


def _evidence(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every sign for people: before, after."""
    earlier = before.get("scores", {})
    signs = {
        name: {"label": VALIDATORS[name].summary, "before": earlier.get(name), "after": score}
        for name, score in after["scores"].items()
        if name in VALIDATORS
    }
    signs["heads"] = {
        "label": "Do the source head and the target head say the same of the target?",
        "before": before.get("heads_agree"),
        "after": after["heads_agree"],
    }
    signs["classes"] = {
        "label": "Over how many classes are predictions on the target spread?",
        "before": round(spread_over(before["shares"]), 2) if before else None,
        "after": round(spread_over(after["shares"]), 2),
    }
    return signs


_STUDY = "Where labels could tell, on six tasks on which its limits were not tuned, "
RELIABILITY = {
    ADAPTED: f"{_STUDY}12 of 16 runs called so had gained half a point or more, and 2 had lost a point or more.",
    UNCLEAR: f"{_STUDY}12 of 24 runs called so had gained half a point or more, and 3 had lost a point or more.",
    HARMED: f"{_STUDY}5 of 6 runs called so had lost a point or more.",
    COLLAPSED: f"{_STUDY}2 of 2 runs called so had lost 16 points.",
}
"""How often each word was right in the study (docs/results/selection.md), with eight methods."""
