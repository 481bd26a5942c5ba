"""MixMatch: guessed labels, sharpened and mixed with the labelled ones (Berthelot et al., 2019)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Step, Term


def sharpen(probs: Tensor, temperature: float) -> Tensor:
    """``p^(1/T)``, normalised: [..., K] -> [..., K].

    >>> sharpen(torch.tensor([0.75, 0.25]), 0.5)
    tensor([0.9000, 0.1000])
    """
    powered = probs ** (1 / temperature)
    return powered / powered.sum(-1, keepdim=True)


class MixMatch(Term):
    """Mixup over source, target and augmented target; stands in for the plain source loss.

    ``CE`` on the mixed source and squared error on the mixed target, whose labels are the sharpened mean
    prediction over the target and its strong augmentation.

    Args:
        temperature: of the sharpening.
        mixup: parameter of the Beta distribution.
        consistency: weight of the target's part at full ramp.
        ramp: share of the run over which that weight grows.

    The example stands in the middle of a run: a ramp over the whole run gives half the weight.

    >>> from cst.terms.example import loss_on_example
    >>> none, half, full = (loss_on_example(MixMatch(consistency=c, ramp=r)) for c, r in ((0, 1), (10, 1), (10, 0.5)))
    >>> none < half < full, abs((full - none) - 2 * (half - none)) < 1e-5
    (True, True)
    """

    views = ("source", "target", "strong")
    augments = True
    mixes = True

    def __init__(
        self, temperature: float = 0.5, mixup: float = 0.75, consistency: float = 10.0, ramp: float = 0.5
    ) -> None:
        super().__init__()
        if min(temperature, mixup, ramp) <= 0:
            raise ValueError("mixmatch: temperature, mixup and ramp must be positive.")
        self.temperature, self.mixup, self.consistency, self.ramp = temperature, mixup, consistency, ramp

    def replaces(self, step: Step) -> tuple[str, ...]:
        """The supervised loss is taken on mixed samples."""
        return ("source",)

    def forward(self, step: Step) -> Tensor:
        """Loss on the mixed batch, a scalar."""
        guess = sharpen((step.target.probs + step.strong.probs).detach() / 2, self.temperature)
        inputs = torch.cat([step.batch.source, step.batch.target, step.batch.strong])  # type: ignore[list-item]
        labels = torch.cat([F.one_hot(step.labels, self.num_classes).to(guess.dtype), guess, guess])
        share = float(torch.distributions.Beta(self.mixup, self.mixup).sample())
        share = max(share, 1 - share)
        order = torch.randperm(len(inputs), device=inputs.device)
        mixed = share * inputs + (1 - share) * inputs[order]
        mixed_labels = share * labels + (1 - share) * labels[order]
        count = len(step.labels)
        source, target = (
            self._logits(step, part, domain) for part, domain in ((mixed[:count], "source"), (mixed[count:], "target"))
        )
        supervised = F.cross_entropy(source, mixed_labels[:count])
        unsupervised = (target.softmax(-1) - mixed_labels[count:]).square().mean()
        return supervised + self.consistency * min(1.0, step.progress / self.ramp) * unsupervised

    def _logits(self, step: Step, inputs: Tensor, domain: str) -> Tensor:
        return step.network.classify(step.network.features(inputs, domain, False), domain, False)
