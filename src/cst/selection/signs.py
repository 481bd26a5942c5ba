"""What can be seen of a model without labels of the target, in plain numbers: they go into records and checkpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from cst.functional import pseudo_labels
from cst.selection.outputs import Outputs
from cst.selection.round_trip import head_agreement
from cst.selection.validators import scores

FEW = 0.6
"""Of the classes that predictions were spread over when the warm-up ended: below it they have collapsed."""
NAMED = 5
"""Classes that a sentence names."""


def signs(outputs: Outputs) -> dict[str, Any]:
    """Scores by all validators, the pseudo-labels, the share of each class, and how far the two heads agree.

    >>> one, labels = torch.eye(3), torch.tensor([0, 1, 2])
    >>> [round(share, 2) for share in signs(Outputs(one, labels, one, one, one))["shares"]]
    [0.33, 0.33, 0.33]
    """
    labels = pseudo_labels(outputs.target_logits)
    shares = (torch.bincount(labels, minlength=outputs.num_classes) / len(labels)).tolist()
    return {
        "scores": {name: round(score, 6) for name, score in scores(outputs).items()},
        "shares": [round(share, 6) for share in shares],
        "heads_agree": round(head_agreement(outputs.target_features, outputs.target_logits), 6),
        "labels": labels.tolist(),
    }


def changed_share(before: Sequence[int], after: Sequence[int]) -> float:
    """The share of samples whose label is another one than before.

    >>> changed_share([0, 1, 2, 2], [0, 1, 2, 1])
    0.25
    """
    return sum(first != second for first, second in zip(before, after, strict=True)) / len(before)


def spread_over(shares: Sequence[float]) -> float:
    """Over how many classes predictions are spread: the exponential of the shares' entropy, 1 to K.

    >>> spread_over([0.5, 0.5, 0.0])
    2.0
    """
    return math.exp(-sum(share * math.log(share) for share in shares if share > 0))


def collapse(before: Sequence[float], after: Sequence[float], classes: Sequence[Any]) -> str:
    """A sentence if predictions have gathered in few classes since the warm-up ended, or an empty text.

    >>> collapse([0.25] * 4, [0.24, 0.26, 0.25, 0.25], "abcd")
    ''
    >>> print(collapse([0.25] * 4, [0.9, 0.05, 0.05, 0.0], "abcd"))
    Predictions gather in few classes: they are spread over 1.5 instead of 4.0; 'a' has 90 % of the target.
    """
    first, now = spread_over(before), spread_over(after)
    if now >= FEW * first and (max(after) < 1 or max(before) == 1):
        return ""
    most = max(range(len(after)), key=lambda place: after[place])
    return (
        f"Predictions gather in few classes: they are spread over {now:.1f} instead of {first:.1f}; "
        f"'{classes[most]}' has {after[most]:.0%} of the target."
    ).replace("%", " %")


def never_predicted(shares: Sequence[float], classes: Sequence[Any]) -> str:
    """A sentence if some classes are never predicted, or an empty text.

    >>> never_predicted([0.5, 0.5, 0.0], ["ant", "bee", "cow"])
    "1 of 3 classes is never predicted: 'cow'."
    """
    absent = [str(name) for name, share in zip(classes, shares, strict=True) if share == 0]
    if not absent:
        return ""
    more = f" and {len(absent) - NAMED} more" if len(absent) > NAMED else ""
    named = ", ".join(f"'{name}'" for name in absent[:NAMED]) + more
    return f"{len(absent)} of {len(shares)} classes {'is' if len(absent) == 1 else 'are'} never predicted: {named}."
