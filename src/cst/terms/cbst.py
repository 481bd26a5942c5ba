"""Class-balanced self-training in rounds, plain and regularised (Zou et al., 2018 and 2019)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Epoch, Problem, Step, Term

UNLABELLED = -1


def class_balanced_labels(probs: Tensor, portion: float) -> Tensor:
    """Labels [N] of the most confident ``portion`` of each predicted class, -1 elsewhere.

    ``k_c`` is the confidence at rank ``portion * N_c`` among the samples predicted as c; the label is
    ``argmax_c p_c / k_c`` where that ratio reaches one.

    Args:
        probs: predictions [N, K].
        portion: the share that is labelled, between 0 and 1.

    >>> probs = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    >>> class_balanced_labels(probs, 0.5)
    tensor([ 0, -1, -1,  1])
    """
    confidence, predicted = probs.max(-1)
    thresholds = torch.ones(probs.shape[-1], dtype=probs.dtype, device=probs.device)
    for c in sorted(set(predicted.tolist())):
        ranked = confidence[predicted == c].sort(descending=True).values
        thresholds[c] = ranked[max(0, round(portion * len(ranked)) - 1)]
    ratio, label = (probs / thresholds).max(-1)
    return torch.where(ratio >= 1, label, UNLABELLED)


class CBST(Term):
    """Cross-entropy to class-balanced pseudo-labels; every epoch is a round and labels a larger portion.

    Args:
        start: share of the run after which the first round begins.
        portion: labelled share of each class in the first round.
        growth: by how much the portion grows with each round.
        limit: the largest portion.
        smoothing: weight of the model regulariser ``KL(uniform || p)`` (CRST's MRKLD); 0 for CBST.

    Before the first round nothing has a label, and the loss is zero.

    >>> from cst.terms.example import loss_on_example
    >>> loss_on_example(CBST()) > 0
    True
    >>> loss_on_example(CBST(start=1.0)) == 0
    True
    """

    default_smoothing = 0.0

    def __init__(
        self,
        start: float = 0.15,
        portion: float = 0.2,
        growth: float = 0.05,
        limit: float = 0.8,
        smoothing: float | None = None,
    ) -> None:
        super().__init__()
        self.start, self.portion, self.growth, self.limit = start, portion, growth, limit
        self.smoothing = self.default_smoothing if smoothing is None else smoothing

    def setup(self, problem: Problem) -> None:
        """Make room for one label [N_t] for each sample of the target."""
        super().setup(problem)
        self.labels: Tensor
        self.register_buffer("labels", torch.full((problem.num_target,), UNLABELLED))

    def portion_in(self, epoch: Epoch) -> float:
        """The labelled share in this epoch's round; 0 before the first.

        >>> from types import SimpleNamespace
        >>> cbst = CBST(start=0.2, portion=0.25, growth=0.25, limit=0.5)
        >>> [cbst.portion_in(SimpleNamespace(number=number, total=10)) for number in (1, 2, 3, 9)]
        [0.0, 0.25, 0.5, 0.5]
        """
        rounds = epoch.number - self.start * epoch.total
        return min(self.limit, self.portion + self.growth * int(rounds)) if rounds >= 0 else 0.0

    def start_epoch(self, epoch: Epoch) -> None:
        """A new round: label the confident part of each class with the present model."""
        portion = self.portion_in(epoch)
        if portion > 0:
            self.labels.copy_(class_balanced_labels(epoch.target.logits.softmax(-1), portion))

    def forward(self, step: Step) -> Tensor:
        """Mean over the labelled samples of the batch, a scalar; zero where none has a label."""
        labels = self.labels[step.target.indices]
        chosen = labels != UNLABELLED
        if not chosen.any():
            return step.target.logits.sum() * 0
        log_probs = step.target.logits[chosen].log_softmax(-1)
        return F.nll_loss(log_probs, labels[chosen]) - self.smoothing * log_probs.mean()

    def metrics(self) -> dict[str, Any]:
        """The share of the target that has a label."""
        return {"labelled_share": round(float((self.labels != UNLABELLED).float().mean()), 4)}


class KLD(CBST):
    """CRST with the KLD model regulariser: CBST held back from certainty.

    ``CE(y, p) + a KL(u || p)`` equals, up to constants, ``1 + a`` times the cross-entropy to the soft label
    ``(y + a u) / (1 + a)``.

    >>> from cst.terms.example import loss_on_example
    >>> loss_on_example(KLD()) > loss_on_example(CBST())
    True
    >>> loss_on_example(KLD(smoothing=0.0)) == loss_on_example(CBST())
    True
    """

    default_smoothing = 0.1
