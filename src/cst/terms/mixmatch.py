"""MixMatch: guessed labels, sharpened and mixed with the labelled ones (Berthelot et al., 2019)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Problem, Step, Term


def sharpen(probs: Tensor, temperature: float) -> Tensor:
    """``p^(1/T)``, normalised."""
    powered = probs ** (1 / temperature)
    return powered / powered.sum(-1, keepdim=True)


class MixMatch(Term):
    """Mixup over source and two views of the target; stands in for the plain source loss.

    ``CE`` on the mixed source and squared error on the mixed target, whose labels are the sharpened mean
    prediction over the views.

    Args:
        problem: sizes.
        temperature: of the sharpening.
        mixup: parameter of the Beta distribution.
        consistency: weight of the target's part at full ramp.
        ramp: share of the run over which that weight grows.
    """

    views = ("source", "target", "strong")
    random_views = True
    mixes = True

    def __init__(
        self,
        problem: Problem,
        temperature: float = 0.5,
        mixup: float = 0.75,
        consistency: float = 10.0,
        ramp: float = 0.5,
    ) -> None:
        super().__init__(problem)
        if min(temperature, mixup, ramp) <= 0:
            raise ValueError("mixmatch: temperature, mixup and ramp must be positive.")
        self.temperature, self.mixup, self.consistency, self.ramp = temperature, mixup, consistency, ramp

    def replaces(self, step: Step) -> tuple[str, ...]:
        """The supervised loss is taken on mixed samples."""
        return ("source",)

    def forward(self, step: Step) -> Tensor:
        """Loss on the mixed batch."""
        guess = sharpen((step.target.probs + step.strong.probs).detach() / 2, self.temperature)
        inputs = torch.cat([step.batch.source, step.batch.target, step.batch.strong])  # type: ignore[list-item]
        labels = torch.cat([F.one_hot(step.labels, self.problem.num_classes).to(guess.dtype), guess, guess])
        share = float(torch.distributions.Beta(self.mixup, self.mixup).sample())
        share = max(share, 1 - share)
        order = torch.randperm(len(inputs), device=inputs.device)
        mixed = share * inputs + (1 - share) * inputs[order]
        wanted = share * labels + (1 - share) * labels[order]
        count = len(step.labels)
        source, target = (
            self._logits(step, part, domain) for part, domain in ((mixed[:count], "source"), (mixed[count:], "target"))
        )
        supervised = F.cross_entropy(source, wanted[:count])
        unsupervised = (target.softmax(-1) - wanted[count:]).square().mean()
        return supervised + self.consistency * min(1.0, step.progress / self.ramp) * unsupervised

    def _logits(self, step: Step, inputs: Tensor, domain: str) -> Tensor:
        return step.network.classify(step.network.features(inputs, domain, False), domain, False)
