"""The one table of metrics: what each is called, in which unit, whether it uses target labels, and its definition.

A metric with a definition is computed for every evaluated model. The others come from training: the losses' own
records, and what terms report. A name that is not in the table is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from torch import Tensor

    from cst.engine.evaluation import Evaluation


MANY = 200_000
"""Samples of a domain from which on their features are not kept, all together."""


@dataclass(frozen=True)
class Metric:
    """One figure of a run.

    Attributes:
        name: its key in records and results.
        label: what people read.
        unit: ``"%"`` for a share, shown times a hundred, or nothing.
        oracle: whether it looks at labels of the target.
        better: which way is better, if either is.
        compute: its definition; a number, a vector [K], or ``None`` where it cannot be computed.
    """

    name: str
    label: str
    unit: Literal["%", ""] = "%"
    oracle: bool = False
    better: Literal["up", "down", ""] = ""
    compute: Callable[[Evaluation], Any] | None = None

    def show(self, value: float) -> str:
        """A value as people read it.

        >>> metric("accuracy").show(0.8123), metric("alpha").show(1.5)
        ('81.2', '1.5')
        """
        return f"{100 * value:.1f}" if self.unit == "%" else f"{value:g}"


def distribution(labels: Tensor, num_classes: int) -> Tensor:
    """The share of each class [K] among labels [N]."""
    import torch

    return torch.bincount(labels, minlength=num_classes).float() / max(len(labels), 1)


def accuracy(predicted: Tensor, truth: Tensor) -> float:
    """The share of correct predictions."""
    return float((predicted == truth).float().mean())


def mean_class_accuracy(predicted: Tensor, truth: Tensor, num_classes: int) -> float:
    """The accuracy of each class that occurs, averaged over classes."""
    shares = [accuracy(predicted[truth == c], truth[truth == c]) for c in range(num_classes) if (truth == c).any()]
    return sum(shares) / len(shares)


def target_head_error(
    source_features: Tensor, source_labels: Tensor, target_features: Tensor, labels: Tensor, num_classes: int
) -> float:
    """Error on the source of the head that was fitted to the target's pseudo-labels (Figure 5, left).

    One definition for all methods, whatever options their cycle term has: raw features at unit scale,
    a ridge of 1e-3.
    """
    import torch

    from cst.functional import ridge_head

    scale = target_features.float().square().mean().sqrt().clamp_min(1e-12)
    targets = torch.nn.functional.one_hot(labels, num_classes).to(target_features.dtype)
    head = ridge_head(target_features / scale, targets, l2=1e-3)
    return 1 - accuracy((source_features.to(head.dtype) @ head).argmax(-1), source_labels)


def target_head_error_of_many(e: Evaluation) -> float:
    """The same where features of the whole target would not fit: sums over its blocks stand for them.

    The head depends on ``Z^T Z``, ``Z^T Y`` and the mean square of Z only.
    """
    import torch

    from cst.functional.round_trip import solve_shifted

    gram, right, count = torch.zeros(()).double(), torch.zeros(()).double(), 0
    for features, labels in zip(e.target.blocks(), e.target.split(e.pseudo_labels), strict=True):
        z = features.double()
        gram, right = gram + z.mT @ z, right + z.mT @ torch.nn.functional.one_hot(labels, e.num_classes).double()
        count += z.numel()
    scale = (gram.trace() / count).sqrt().clamp_min(1e-12)
    head = solve_shifted(gram / scale**2, right / scale, 1e-3)
    scores = torch.cat([(features.double() @ head).argmax(-1) for features in e.source.blocks()])
    return 1 - accuracy(scores, e.source_labels)


def _source_error(e: Evaluation) -> float:
    return 1 - accuracy(e.source.logits.argmax(-1), e.source_labels)


def _round_trip(e: Evaluation) -> float:
    if max(len(e.source.samples), len(e.target.samples)) > MANY:
        return target_head_error_of_many(e)
    return target_head_error(e.source.features, e.source_labels, e.target.features, e.pseudo_labels, e.num_classes)


def _pseudo_label_error(e: Evaluation) -> float | None:
    return None if e.known is None else 1 - accuracy(*e.known)


def _total_variation(e: Evaluation) -> float | None:
    from cst.functional import total_variation

    if e.known is None:
        return None
    predicted, truth = (distribution(labels, e.num_classes) for labels in e.known)
    return float(total_variation(predicted, truth))


def _accuracy(e: Evaluation) -> float | None:
    return None if e.judged is None else accuracy(*e.judged)


def _mean_class_accuracy(e: Evaluation) -> float | None:
    return None if e.judged is None else mean_class_accuracy(*e.judged, e.num_classes)


def _calibration_error(e: Evaluation) -> float | None:
    from cst.functional import calibration_error

    return None if e.judged_probs is None else calibration_error(*e.judged_probs)


METRICS = {
    metric.name: metric
    for metric in (
        # The round trip reads the features of both domains, so it comes first and logits follow from them.
        Metric("target_head_source_error", "target head's error on source", better="down", compute=_round_trip),
        Metric("source_error", "error on source", better="down", compute=_source_error),
        Metric(
            "pseudo_label_distribution",
            "share of each class among pseudo-labels",
            compute=lambda e: distribution(e.pseudo_labels, e.num_classes),
        ),
        Metric("accuracy", "accuracy", oracle=True, better="up", compute=_accuracy),
        Metric(
            "mean_class_accuracy",
            "mean class accuracy",
            oracle=True,
            better="up",
            compute=_mean_class_accuracy,
        ),
        Metric("pseudo_label_error", "pseudo-label error", oracle=True, better="down", compute=_pseudo_label_error),
        Metric(
            "total_variation",
            "total variation",
            oracle=True,
            better="down",
            compute=_total_variation,
        ),
        Metric(
            "calibration_error",
            "expected calibration error",
            oracle=True,
            better="down",
            compute=_calibration_error,
        ),
        Metric("batch_target_head_error", "target head's error on source, in batches of the epoch", better="down"),
        Metric("first_agreement", "target with one label under both domains' statistics, after the warm-up"),
        Metric("first_confidence", "mean probability of predictions on the target, after the warm-up"),
        Metric("changed_share", "target with another label than when the warm-up ended"),
        Metric("alpha", "selected alpha", unit=""),
        Metric("fixmatch_share", "share of the target above FixMatch's threshold"),
        Metric("labelled_share", "share of the target with a pseudo-label"),
        Metric("consistent_share", "share of the target on which views agree"),
    )
}


def metric(name: str) -> Metric:
    """The metric of that name; of an unknown one all that its name says."""
    return METRICS.get(name) or Metric(name, name.replace("_", " "), unit="")
