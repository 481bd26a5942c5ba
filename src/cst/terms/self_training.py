"""Standard self-training, equation 2: cross-entropy to the pseudo-labels of a source model."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.functional import pseudo_labels
from cst.terms.contract import Epoch, Problem, Step, Term

UNLABELLED = -1


class SelfTraining(Term):
    """Train on the source alone, label the whole target once, go on with both.

    Args:
        problem: sizes.
        start: the share of the run after which the source model labels the target.
        refresh: label it anew at every epoch from there on (the teacher-student variant of
            Section 2) instead of keeping the source model's labels (equation 2).
    """

    def __init__(self, problem: Problem, start: float = 0.25, refresh: bool = False) -> None:
        super().__init__(problem)
        if not 0 <= start < 1:
            raise ValueError(f"self-training: start must lie in [0, 1), got {start}.")
        self.start, self.refresh = start, refresh
        self.labels: Tensor
        self.register_buffer("labels", torch.full((problem.num_target,), UNLABELLED))

    def start_epoch(self, epoch: Epoch) -> None:
        """Label the target when the time has come."""
        labelled = bool((self.labels != UNLABELLED).all())
        if epoch.number >= self.start * epoch.total and (self.refresh or not labelled):
            self.labels.copy_(pseudo_labels(epoch.target_logits()))

    def forward(self, step: Step) -> Tensor:
        """Mean cross-entropy to the pseudo-labels; zero before there are any."""
        labels = self.labels[step.target.indices]
        if (labels == UNLABELLED).all():
            return step.target.logits.sum() * 0
        return F.cross_entropy(step.target.logits, labels)
