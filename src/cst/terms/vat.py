"""VAT: predictions that do not change in the direction that would change them most (Miyato et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Problem, Step, Term
from cst.tokens import present

RADIUS, TOKEN_RADIUS = 0.2, 0.005


def divergence(expected: Tensor, logits: Tensor) -> Tensor:
    """``KL(p || q)``, mean over rows, of probabilities ``p`` and the softmax of ``logits``."""
    return F.kl_div(logits.log_softmax(-1), expected, reduction="batchmean")


def unit(direction: Tensor) -> Tensor:
    """Each sample's direction at unit length."""
    length: Tensor = direction.flatten(1).norm(dim=1).clamp_min(1e-12)
    return direction / length.view(-1, *[1] * (direction.ndim - 1))


def adversarial_direction(
    logits_of: Callable[[Tensor], Tensor], shape: Tensor, probs: Tensor, small: Tensor | float, iterations: int
) -> Tensor:
    """The unit direction of each sample that changes ``logits_of(shift)`` most, by power iteration."""
    direction = unit(torch.randn_like(shape))
    for _ in range(iterations):
        probe = (small * direction).requires_grad_()
        (gradient,) = torch.autograd.grad(divergence(probs, logits_of(probe)), probe)
        direction = unit(gradient)
    return direction


def spread(inputs: Tensor) -> Tensor:
    """Standard deviation over the batch: of each feature for vectors and tokens, of each channel for images."""
    if inputs.ndim == 3:
        known = inputs[present(inputs)]
        return known.std(0, correction=0).view(1, 1, -1)
    over = (0, 2, 3) if inputs.ndim == 4 else (0,)
    return inputs.std(over, keepdim=True, correction=0)


def sizes(inputs: Tensor) -> Tensor:
    """How many values each sample has, as a column that multiplies the batch; missing tokens do not count."""
    values = torch.full((len(inputs),), float(inputs[0].numel()), device=inputs.device)
    if inputs.ndim == 3:
        values = present(inputs).sum(1) * float(inputs.shape[-1])
    return values.view(-1, *[1] * (inputs.ndim - 1))


class VAT(Term):
    """``E KL(p(x) || p(x + r))`` with ``r`` the worst perturbation of a given length.

    Lengths are measured in standard deviations of the inputs, so that one radius suits any scale of
    input: ``|r / std| = radius * sqrt(D)`` for inputs of D values.

    Args:
        problem: sizes.
        radius: the share; 0.2, or 0.005 for the word vectors of text, which are many and meet in one mean.
        iterations: of the power method.
        source: smooth the source too, as VADA does.
    """

    ramped = True
    perturbs = True

    def __init__(
        self, problem: Problem, radius: float | None = None, iterations: int = 1, source: bool = False
    ) -> None:
        super().__init__(problem)
        self.radius, self.iterations, self.source = radius, iterations, source

    def forward(self, step: Step) -> Tensor:
        """The divergence at the worst perturbation."""
        views = [(step.target, "target")] + ([(step.source, "source")] if self.source else [])
        with step.network.without_dropout():  # or the direction that changes most would be the one of the noise
            losses = [self._smoothness(step, view.inputs, domain) for view, domain in views]
        return sum(losses[1:], start=losses[0])

    def _smoothness(self, step: Step, inputs: Tensor, domain: str) -> Tensor:
        start = step.network.continuous(inputs)
        scale = spread(start.detach())

        def logits_of(shift: Tensor) -> Tensor:
            moved = step.network.features(start + scale * shift, domain, False)
            return step.network.classify(moved, domain, False)

        shape = torch.where(start.isnan(), 0.0, start).detach()
        with torch.no_grad():  # the same statistics for the plain inputs as for the perturbed ones
            probs = logits_of(torch.zeros_like(shape)).softmax(-1)
        radius = self.radius if self.radius is not None else (TOKEN_RADIUS if start.ndim == 3 else RADIUS)
        length = radius * sizes(start).sqrt()
        direction = adversarial_direction(logits_of, shape, probs, 0.05 * length, self.iterations)
        return divergence(probs, logits_of(length * direction))
