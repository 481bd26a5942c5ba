"""VAT: predictions that do not change in the direction that would change them most (Miyato et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.terms.contract import Step, Term
from cst.tokens import present

RADIUS, TOKEN_RADIUS = 0.2, 0.005


def divergence(expected: Tensor, logits: Tensor) -> Tensor:
    """``KL(p || q)``, mean over rows, of probabilities ``p`` and the softmax of ``logits``.

    Args:
        expected: p [N, K].
        logits: of q [N, K].

    Returns:
        A scalar. A certain prediction is ``log 2`` away from that of a coin.

    >>> divergence(torch.tensor([[1.0, 0.0]]), torch.zeros(1, 2))
    tensor(0.6931)
    """
    return F.kl_div(logits.log_softmax(-1), expected, reduction="batchmean")


def unit(direction: Tensor) -> Tensor:
    """Each sample's direction [N, ...] at unit length.

    >>> unit(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    length: Tensor = direction.flatten(1).norm(dim=1).clamp_min(1e-12)
    return direction / length.view(-1, *[1] * (direction.ndim - 1))


def adversarial_direction(
    logits_of: Callable[[Tensor], Tensor], shape: Tensor, probs: Tensor, small: Tensor | float, iterations: int
) -> Tensor:
    """The unit direction of each sample that changes ``logits_of(shift)`` most, by power iteration.

    Args:
        logits_of: shifts [N, ...] -> logits [N, K].
        shape: a tensor of the shape of the shifts [N, ...].
        probs: predictions without a shift [N, K].
        small: length of the shifts that are tried.
        iterations: of the power method.

    Returns:
        Directions [N, ...]. Where the first input alone matters, the direction is along the first axis.

    >>> weight = torch.tensor([[5.0, -5.0], [0.0, 0.0]])
    >>> direction = adversarial_direction(lambda r: r @ weight, torch.zeros(1, 2), torch.full((1, 2), 0.5), 0.1, 1)
    >>> bool(torch.allclose(direction.abs(), torch.tensor([[1.0, 0.0]])))
    True
    """
    direction = unit(torch.randn_like(shape))
    for _ in range(iterations):
        probe = (small * direction).requires_grad_()
        (gradient,) = torch.autograd.grad(divergence(probs, logits_of(probe)), probe)
        direction = unit(gradient)
    return direction


def spread(inputs: Tensor) -> Tensor:
    """Standard deviation over the batch: of each feature for vectors and tokens, of each channel for images.

    Args:
        inputs: vectors [N, d], token vectors [N, L, d], or images [N, C, H, W].

    Returns:
        [1, d], [1, 1, d] or [1, C, 1, 1].

    >>> spread(torch.tensor([[0.0, 5.0], [2.0, 5.0]]))
    tensor([[1., 0.]])
    """
    if inputs.ndim == 3:
        known = inputs[present(inputs)]
        return known.std(0, correction=0).view(1, 1, -1)
    over = (0, 2, 3) if inputs.ndim == 4 else (0,)
    return inputs.std(over, keepdim=True, correction=0)


def sizes(inputs: Tensor) -> Tensor:
    """How many values each sample has, as a column that multiplies the batch; missing tokens do not count.

    Args:
        inputs: vectors [N, d], token vectors [N, L, d], or images [N, C, H, W].

    Returns:
        [N, 1, ...], with as many dimensions as the inputs.

    >>> tokens = torch.zeros(2, 3, 4)
    >>> tokens[1, 2] = torch.nan  # the second sequence has two tokens
    >>> sizes(tokens).flatten(), sizes(torch.zeros(1, 7))
    (tensor([12.,  8.]), tensor([[7.]]))
    """
    values = torch.full((len(inputs),), float(inputs[0].numel()), device=inputs.device)
    if inputs.ndim == 3:
        values = present(inputs).sum(1) * float(inputs.shape[-1])
    return values.view(-1, *[1] * (inputs.ndim - 1))


class VAT(Term):
    """``E KL(p(x) || p(x + r))`` with ``r`` the worst perturbation of a given length.

    Lengths are measured in standard deviations of the inputs, so that one radius suits any scale of
    input: ``|r / std| = radius * sqrt(D)`` for inputs of D values.

    Args:
        radius: the share; 0.2, or 0.005 for the word vectors of text, which are many and meet in one mean.
        iterations: of the power method.

    A perturbation of no length changes nothing; a longer one changes more.

    >>> from cst.terms.example import loss_on_example
    >>> none, short, long = (loss_on_example(VAT(radius=radius)) for radius in (0.0, 0.1, 0.2))
    >>> abs(none) < 1e-6, none < short < long
    (True, True)
    """

    ramped = True
    perturbs = True

    domain: ClassVar[str] = "target"
    """Whose inputs are perturbed."""

    def __init__(self, radius: float | None = None, iterations: int = 1) -> None:
        super().__init__()
        self.radius, self.iterations = radius, iterations

    def forward(self, step: Step) -> Tensor:
        """The divergence at the worst perturbation, a scalar."""
        view = step.source if self.domain == "source" else step.target
        with step.network.without_dropout():  # or the direction that changes most would be the one of the noise
            return self._smoothness(step, view.inputs, self.domain)

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


class SourceVAT(VAT):
    """VAT on the source, ``E_P KL(p(x) || p(x + r))``: a term of its own, with its own weight, as in VADA.

    What stands in for the source's loss can so silence it too, as DIRT-T's refinement does.

    >>> from cst.terms.example import loss_on_example
    >>> loss_on_example(SourceVAT()) > 0, loss_on_example(SourceVAT()) != loss_on_example(VAT())
    (True, True)
    """

    domain = "source"
