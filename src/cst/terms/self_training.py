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
        start: the share of the run after which the source model labels the target.
        refresh: label it anew at every epoch from there on (the teacher-student variant of
            Section 2) instead of keeping the source model's labels (equation 2).

    A model that has just labelled the target agrees with its labels: the loss is below ``log K``.

    >>> import math
    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(SelfTraining()) < math.log(3)
    True
    >>> loss_on_example(SelfTraining(start=0.95)) == 0  # the example's epoch is the one numbered 9 of 10
    True
    """

    def __init__(self, start: float = 0.25, refresh: bool = False) -> None:
        super().__init__()
        if not 0 <= start < 1:
            raise ValueError(f"self-training: start must lie in [0, 1), got {start}.")
        self.start, self.refresh = start, refresh
        self.labelled = False

    def setup(self, problem: Problem) -> None:
        """Make room for one label [N_t] for each sample of the target."""
        super().setup(problem)
        self.labels: Tensor
        self.register_buffer("labels", torch.full((problem.num_target,), UNLABELLED))

    def start_epoch(self, epoch: Epoch) -> None:
        """Label the target when the time has come."""
        # The labels are what a checkpoint brings back; steps read this answer and need not wait for a device.
        self.labelled = bool((self.labels != UNLABELLED).all())
        if epoch.number >= self.start * epoch.total and (self.refresh or not self.labelled):
            self.labels.copy_(pseudo_labels(epoch.target.logits))
            self.labelled = True

    def forward(self, step: Step) -> Tensor:
        """Mean cross-entropy to the pseudo-labels, a scalar; zero before there are any."""
        if not self.labelled:
            return step.target.logits.sum() * 0
        return F.cross_entropy(step.target.logits, self.labels[step.target.indices])
