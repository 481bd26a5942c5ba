"""FixMatch: the confident label of the weak view teaches the strong view (Sohn et al., 2020)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from cst.functional import pseudo_labels
from cst.terms.contract import Problem, Step, Term


class FixMatch(Term):
    """``mean_i [max p_i >= threshold] CE(strong_i, argmax p_i)``, the mean taken over the whole batch."""

    views = ("source", "target", "strong")
    random_views = True

    def __init__(self, problem: Problem, threshold: float = 0.95) -> None:
        super().__init__(problem)
        self.threshold = threshold
        self.confident, self.seen = 0.0, 0

    def start_epoch(self, epoch: object) -> None:
        """Count the confident samples afresh."""
        self.confident, self.seen = 0.0, 0

    def forward(self, step: Step) -> Tensor:
        """Masked cross-entropy of the strong view."""
        confident = (step.target.probs.detach().amax(-1) >= self.threshold).to(step.target.probs.dtype)
        self.confident += float(confident.sum())
        self.seen += len(confident)
        loss = F.cross_entropy(step.strong.logits, pseudo_labels(step.target.logits), reduction="none")
        return (loss * confident).mean()

    def metrics(self) -> dict[str, object]:
        """The share of the target that passed the threshold."""
        return {"fixmatch_share": round(self.confident / max(self.seen, 1), 4)}
