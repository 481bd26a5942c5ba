"""Which pseudo-labels are right? How well a score tells, over all thresholds (Section 2.1, Figure 2 right)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cst.functional import tsallis_entropy

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Roc:
    """The curve from (0, 0) to (1, 1), one point for each threshold, and the area below it.

    Attributes:
        false_positives: the share of wrong pseudo-labels above the threshold.
        true_positives: the share of right ones above it.
        area: the chance that a right one has a higher score than a wrong one, ties counted half.
    """

    false_positives: Numbers
    true_positives: Numbers
    area: float

    def thinned(self, most: int = 200) -> Roc:
        """At most so many points of the curve, its ends among them; the area stays that of the whole."""
        if len(self.false_positives) <= most:
            return self
        places = np.linspace(0, len(self.false_positives) - 1, most).round().astype(int)
        return Roc(self.false_positives[places], self.true_positives[places], self.area)


def roc(scores: Any, right: Any) -> Roc | None:
    """The curve of scores [N], of which the higher ones should belong to what is right [N].

    ``None`` where all are right, or none: there is nothing to tell apart.

    >>> roc([0.9, 0.8, 0.3], [True, False, True]).area
    0.5
    """
    values, positive = np.asarray(scores, dtype=np.float64), np.asarray(right, dtype=bool)
    if positive.all() or not positive.any():
        return None
    order = np.argsort(-values, kind="stable")
    values, positive = values[order], positive[order]
    last = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)  # equal scores share a threshold
    hits, misses = np.cumsum(positive)[last], np.cumsum(~positive)[last]
    true = np.concatenate([[0.0], hits / hits[-1]])
    false = np.concatenate([[0.0], misses / misses[-1]])
    area = float(np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2))
    return Roc(false, true, area)


def criteria(probs: Any) -> dict[str, Numbers]:
    """The scores that the paper compares, of probabilities [N, K]: confidence, and entropy with its sign turned."""
    precise = probs.double()
    return {"confidence": precise.amax(-1).numpy(), "entropy": -tsallis_entropy(precise, 1.0).numpy()}
