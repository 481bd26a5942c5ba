"""What the source model makes of the target when the warm-up ends: does it know it, and how sure is it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from cst.data.samples import SomeSamples
from cst.engine.evaluation import DomainView
from cst.engine.metrics import accuracy
from cst.engine.snapshots import Snapshot, evenly
from cst.functional import mean_confidence

if TYPE_CHECKING:
    from cst.engine.setup import Training


class FirstLook(NamedTuple):
    """The source model on the target.

    Attributes:
        confidence: the mean probability of its predictions.
        agreement: the share of the target that gets the same label under the target's batch-norm statistics and the
            source's; ``None`` where the model has one set only. A model that has learned what the domains have in
            common says the same under both, for the greater part. Where the answer hangs on the statistics,
            pseudo-labels are arbitrary, and adapting makes them certain.
    """

    confidence: float
    agreement: float | None


def first_look(training: Training, snapshot: Snapshot) -> FirstLook:
    """Look at the target with the statistics of both domains; labels of the target have no part in it."""
    logits = snapshot.outputs.target_logits
    agreement = None
    if not training.model.shared_statistics:
        agreement = accuracy(logits.argmax(-1), target_logits(training, "source").argmax(-1))
    return FirstLook(mean_confidence(logits), agreement)


def target_logits(training: Training, statistics: str = "target") -> Tensor:
    """Of some samples of the target [M, K], at the present weights."""
    some = SomeSamples(training.task.target, evenly(len(training.task.target)))
    return DomainView(training.model, some, statistics, training.workers).logits


def not_adapted(agreement: float, guard: float) -> str:
    """What the user should know of a run that stays with the source."""
    return (
        f"Not adapted: after the warm-up only {agreement:.0%} of the target get the same label under the batch-norm "
        f"statistics of both domains (guard={guard:g}), so that labels of the target would be arbitrary. The run stays "
        "with the source alone; guard=0 adapts all the same."
    )
