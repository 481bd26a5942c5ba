"""SENTRY: a committee of random augmentations decides whether to trust or to doubt (Prabhu et al., 2021)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cst.functional import tsallis_entropy
from cst.terms.contract import Epoch, Problem, Step, Term

QUEUE = 256


class Sentry(Term):
    """Selective entropy optimisation by predictive consistency, with a term for diversity.

    If most of the committee's augmentations are classified like the plain input, the entropy of one that
    agrees is minimised; if most are not, that of one that disagrees is maximised. The diversity
    term ``mean_i sum_c p_ic log q_c`` keeps predictions from gathering in the classes ``q`` that were
    predicted most of late.

    Args:
        committee: how many augmentations, an odd number.
        diversity: weight of the diversity term.

    The entropies enter with either sign, so that without the diversity term the loss lies within ``log K`` of zero.
    The diversity term is negative: a logarithm of shares.

    >>> import math
    >>> from cst.terms.example import loss_on_example
    >>> plain, diverse = (loss_on_example(Sentry(diversity=weight)) for weight in (0.0, 0.1))
    >>> abs(plain) < math.log(3), diverse < plain
    (True, True)
    """

    ramped = True
    augments = True

    def __init__(self, committee: int = 3, diversity: float = 0.1) -> None:
        super().__init__()
        self.committee, self.diversity = committee, diversity
        self.consistent: Tensor | int = 0
        self.seen = 0

    def setup(self, problem: Problem) -> None:
        """Begin with recent predictions that are spread evenly over the classes."""
        super().setup(problem)
        self.recent: Tensor
        self.register_buffer("recent", torch.arange(QUEUE) % problem.num_classes)

    def start_epoch(self, epoch: Epoch) -> None:
        """Count afresh."""
        self.consistent, self.seen = 0, 0

    def forward(self, step: Step) -> Tensor:
        """Entropy down where the committee agrees, up where it does not, and diversity; a scalar."""
        label = step.target.logits.detach().argmax(-1)
        probs = torch.stack([self._augmented_probs(step) for _ in range(self.committee)])
        agrees = probs.detach().argmax(-1) == label
        consistent = agrees.sum(0) > self.committee / 2
        entropy = tsallis_entropy(probs, 1.0)
        # Of the augmentations on the majority's side, the last one is trained.
        of_majority = agrees == consistent
        order = torch.arange(1, self.committee + 1, device=label.device).unsqueeze(1)
        last = (of_majority * order).argmax(0)
        chosen = entropy.gather(0, last.unsqueeze(0)).squeeze(0)
        # The sum stays on its device until the metrics are asked for: a step does not wait for it.
        self.consistent = self.consistent + consistent.sum()
        self.seen += len(label)
        signed = torch.where(consistent, chosen, -chosen).mean()
        return signed + self.diversity * self._gathering(step.target.probs, label)

    def _augmented_probs(self, step: Step) -> Tensor:
        """Predictions [N, K] for one more augmentation of the target."""
        assert step.batch.augment
        features = step.network.features(step.batch.augment(step.batch.target), "target", False)
        return step.network.classify(features, "target", False).softmax(-1)

    def _gathering(self, probs: Tensor, labels: Tensor) -> Tensor:
        self.recent.copy_(torch.cat([labels, self.recent])[:QUEUE])
        shares = torch.bincount(self.recent, minlength=self.num_classes) / QUEUE
        return (probs * shares.clamp_min(1e-6).log()).sum(-1).mean()

    def metrics(self) -> dict[str, Any]:
        """The share of the target on which the committee agreed."""
        return {"consistent_share": round(float(self.consistent) / max(self.seen, 1), 4)}
