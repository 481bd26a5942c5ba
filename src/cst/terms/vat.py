"""VAT: predictions that do not change in the direction that would change them most (Miyato et al., 2018)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Network, Problem, Step, Term


def divergence(expected: Tensor, logits: Tensor) -> Tensor:
    """``KL(p || q)``, mean over rows, of probabilities ``p`` and the softmax of ``logits``."""
    return F.kl_div(logits.log_softmax(-1), expected, reduction="batchmean")


def unit(direction: Tensor) -> Tensor:
    """Each sample's direction at unit length."""
    length: Tensor = direction.flatten(1).norm(dim=1).clamp_min(1e-12)
    return direction / length.view(-1, *[1] * (direction.ndim - 1))


def adversarial_direction(
    network: Network, inputs: Tensor, probs: Tensor, domain: str, radius: float, small: float, iterations: int
) -> Tensor:
    """The perturbation of length ``radius`` that changes the prediction most, by power iteration."""
    direction = unit(torch.randn_like(inputs))
    for _ in range(iterations):
        probe = (small * direction).requires_grad_()
        logits = network.classify(network.features(inputs + probe, domain, False), domain, False)
        (gradient,) = torch.autograd.grad(divergence(probs, logits), probe)
        direction = unit(gradient)
    return radius * direction


class VAT(Term):
    """``E KL(p(x) || p(x + r))`` with ``r`` the worst perturbation of a given length.

    The length is a share of the inputs' own spread: ``radius * std * sqrt(D)`` for inputs of D values, so that
    one value suits any scale of input.

    Args:
        problem: sizes.
        radius: the share.
        iterations: of the power method.
        source: smooth the source too, as VADA does.
    """

    ramped = True

    def __init__(self, problem: Problem, radius: float = 0.2, iterations: int = 1, source: bool = False) -> None:
        super().__init__(problem)
        self.radius, self.iterations, self.source = radius, iterations, source

    def forward(self, step: Step) -> Tensor:
        """The divergence at the worst perturbation."""
        views = [(step.target, "target")] + ([(step.source, "source")] if self.source else [])
        losses = []
        for view, domain in views:
            probs = view.probs.detach()
            length = self.radius * float(view.inputs.std()) * view.inputs[0].numel() ** 0.5
            shift = adversarial_direction(
                step.network, view.inputs, probs, domain, length, 0.05 * length, self.iterations
            )
            logits = step.network.classify(step.network.features(view.inputs + shift, domain, False), domain, False)
            losses.append(divergence(probs, logits))
        return sum(losses[1:], start=losses[0])
