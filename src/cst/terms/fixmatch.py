"""FixMatch: a confident label teaches the strong augmentation of the same sample (Sohn et al., 2020)."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from cst.functional import pseudo_labels
from cst.terms.contract import Epoch, Step, Term


class FixMatch(Term):
    """``mean_i [max p_i >= threshold] CE(strong_i, argmax p_i)``, the mean taken over the whole batch.

    Args:
        threshold: the confidence from which a label counts.
        track: let the pass of the strong view update the running statistics of batch norm too, as a plain
            training-mode pass does.

    A threshold that nobody reaches leaves nothing to learn; one that everybody reaches keeps the whole batch.

    >>> from cst.terms.example import loss_on_example
    >>> loss_on_example(FixMatch(threshold=1.1))
    0.0
    >>> fixmatch = FixMatch(threshold=0.0)
    >>> loss_on_example(fixmatch) > 0, fixmatch.metrics()
    (True, {'fixmatch_share': 1.0})
    """

    views = ("source", "target", "strong")
    augments = True

    def __init__(self, threshold: float = 0.95, track: bool = False) -> None:
        super().__init__()
        self.threshold, self.track = threshold, track
        self.confident: Tensor | int = 0
        self.seen = 0

    def start_epoch(self, epoch: Epoch) -> None:
        """Count the confident samples afresh."""
        self.confident, self.seen = 0, 0

    def forward(self, step: Step) -> Tensor:
        """Masked cross-entropy of the strongly augmented target, a scalar."""
        confident = step.target.probs.detach().amax(-1) >= self.threshold
        # The sum stays on its device until the metrics are asked for: a step does not wait for it.
        self.confident = self.confident + confident.sum()
        self.seen += len(confident)
        strong = step.strong_view(track=True) if self.track else step.strong
        loss = F.cross_entropy(strong.logits, pseudo_labels(step.target.logits), reduction="none")
        return (loss * confident.to(step.target.probs.dtype)).mean()

    def metrics(self) -> dict[str, Any]:
        """The share of the target that passed the threshold."""
        return {"fixmatch_share": round(float(self.confident) / max(self.seen, 1), 4)}
