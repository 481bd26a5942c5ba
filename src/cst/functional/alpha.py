"""The entropic index by the round trip: equation 10 and Appendix B.3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.functional.round_trip import design, pseudo_labels, regression_targets, scores_on_source

ALPHAS = tuple(round(1.0 + 0.1 * i, 1) for i in range(11))
"""The grid of Appendix B.3: 1.0, 1.1, ..., 2.0."""


class AlphaSelection(NamedTuple):
    """What the round trip says of every alpha.

    Attributes:
        alpha: the middle of those that are as good as the best.
        losses: the reverse loss [A] of each.
        tied: those whose loss is within one standard error of the least.
    """

    alpha: float
    losses: Tensor
    tied: tuple[float, ...]


def select_alpha(
    source_features: Tensor,
    source_labels: Tensor,
    target_features: Tensor,
    num_classes: int,
    alphas: Sequence[float] = ALPHAS,
    l2: float = 1e-3,
    *,
    normalize: bool = False,
    bias: bool = False,
    centred: bool = False,
    relative: bool = False,
    balanced: bool = False,
    temperature: float = 1.0,
    start: Tensor | None = None,
    iterations: int = 20,
    weight_decay: float = 1e-3,
    max_samples: int | None = None,
    seed: int = 0,
    every: int = 1,
) -> AlphaSelection:
    """Choose the entropic index by the round trip of equation 10 and Appendix B.3.

    For each alpha a source head is trained on fixed features, as far as ``iterations`` steps take it,
    ``theta_s,a = argmin L_P(theta) + E_Q S_a(softmax(theta z))`` (cross-entropy on the source); it
    labels the target; a ridge head fitted to those labels is judged on the source by
    :func:`reverse_loss`. The alpha with the smallest reverse loss wins. The loss is a mean over samples: alphas whose
    loss exceeds the least by no more than one standard error of the difference are as good, and the middle of them is
    taken.

    All A heads are one batched problem: their parameters are the columns of one matrix [d, A*K], and their A target
    heads share one Cholesky factorisation. The heads descend by accelerated steps which are preconditioned by a bound
    of the curvature, ``(Z_s^T Z_s / N_s + Z_t^T Z_t / (N_t T^2)) / 2``, the softmax having one of at most 1/2 in the
    logits: features of any scale and correlation need few of them.

    Args:
        source_features: Z_s [N_s, d].
        source_labels: integers [N_s].
        target_features: Z_t [N_t, d].
        num_classes: K.
        alphas: the candidates, in order.
        l2: ridge of the target heads; with ``normalize``, ``bias`` and ``centred`` as in
            :func:`reverse_loss`.
        relative: as in :func:`reverse_loss`.
        balanced: whether the entropy is :func:`balanced_tsallis_entropy`.
        temperature: T, by which logits are divided in the entropy.
        start: the head [d + 1, K], its last row the bias, from which all source heads begin; zero if not given.
        iterations: descent steps for the source heads.
        weight_decay: ridge of the source heads, which keeps their minimum finite.
        max_samples: draw at most this many samples of each domain.
        seed: of that draw.
        every: the source heads are trained on every so-manieth of these samples, and judged on all; judging is cheap.

    The source says that the first feature's sign is the class. The Gibbs entropy drags the second target point to the
    wrong side, the Gini impurity leaves it where it is:

    >>> source, labels = torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])
    >>> target = torch.tensor([[-1.0, 3.0], [-0.6, -3.0], [1.0, -3.0], [1.2, -3.0]])
    >>> options = {"alphas": (1.0, 2.0), "bias": True, "weight_decay": 0.1}
    >>> alpha, losses, tied = select_alpha(source, labels, target, num_classes=2, **options)
    >>> alpha, [round(loss, 2) for loss in losses.tolist()], tied
    (2.0, [0.25, 0.01], (2.0,))
    """
    if len(alphas) == 0:
        raise ValueError("alphas is empty: give at least one candidate, for instance (1.0, 1.5, 2.0).")
    generator = torch.Generator().manual_seed(seed)
    keep_s = _draw(source_features, max_samples, generator)
    keep_t = _draw(target_features, max_samples, generator)
    z_s, y_s, z_t = source_features[keep_s].detach(), source_labels[keep_s], target_features[keep_t].detach()

    def entropy(logits: Tensor, alpha: Tensor) -> Tensor:
        return _entropy_gradient(logits, alpha, balanced=balanced, temperature=temperature)

    with torch.autocast(z_s.device.type, enabled=False):
        heads = _heads_under_each_alpha(
            z_s[::every],
            y_s[::every],
            z_t[::every],
            num_classes,
            alphas,
            entropy,
            start,
            iterations,
            weight_decay,
            temperature,
        )
        labels = pseudo_labels((design(z_t.float(), bias=True) @ heads).view(-1, len(alphas), num_classes))
    targets = regression_targets(labels, num_classes, centred)
    options = {"normalize": normalize, "bias": bias, "relative": relative}
    scores = scores_on_source(z_s, z_t, targets.flatten(1), l2, **options)
    source_targets = regression_targets(y_s, num_classes, centred).to(scores.dtype)
    return _least((scores.view(-1, len(alphas), num_classes) - source_targets.unsqueeze(1)).square().mean(2), alphas)


def _least(losses: Tensor, alphas: Sequence[float]) -> AlphaSelection:
    """Of losses [N, A]: the alphas within one standard error of the least mean, and the middle of them."""
    means = losses.mean(0)
    excess = losses - losses[:, int(means.argmin())].unsqueeze(1)
    error = excess.std(0) / len(losses) ** 0.5 if len(losses) > 1 else torch.zeros_like(means)
    tied = tuple(float(a) for a, tie in zip(alphas, (excess.mean(0) <= error).tolist(), strict=True) if tie)
    return AlphaSelection(tied[len(tied) // 2], means, tied)


def _heads_under_each_alpha(
    z_s: Tensor,
    y_s: Tensor,
    z_t: Tensor,
    num_classes: int,
    alphas: Sequence[float],
    entropy_gradient: Callable[[Tensor, Tensor], Tensor],
    start: Tensor | None,
    iterations: int,
    weight_decay: float,
    temperature: float,
) -> Tensor:
    """The source heads [d + 1, A*K] trained with each alpha, all of them at once; their last row is the bias.

    Descent stays in the span of the features and the start: where that is smaller than the features' space, its
    coordinates stand for them.
    """
    z_s, z_t = design(z_s.float(), bias=True), design(z_t.float(), bias=True)
    span = torch.cat([z_s, z_t] if start is None else [z_s, z_t, start.mT]).mT
    basis = torch.linalg.qr(span).Q if span.shape[0] > span.shape[1] else None
    if basis is not None:
        z_s, z_t, start = z_s @ basis, z_t @ basis, None if start is None else basis.mT @ start
    heads = z_s.new_zeros(z_s.shape[1], len(alphas) * num_classes) if start is None else start.repeat(1, len(alphas))
    index = torch.as_tensor(alphas, dtype=z_s.dtype, device=z_s.device).unsqueeze(-1)
    onehot = F.one_hot(y_s, num_classes).to(z_s.dtype).unsqueeze(1)
    shape, moved = (-1, len(alphas), num_classes), torch.zeros_like(heads)
    curvature = 0.5 * z_s.mT @ z_s / len(z_s) + 0.5 / temperature**2 * z_t.mT @ z_t / len(z_t)
    curvature.diagonal().add_(max(weight_decay, 1e-6 * float(curvature.trace())))
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(curvature))
    for step in range(iterations):
        ahead = heads + step / (step + 3) * moved
        source = (z_s @ ahead).view(shape).softmax(-1) - onehot
        entropy = entropy_gradient((z_t @ ahead).view(shape), index)
        gradient = z_s.mT @ source.flatten(1) / len(z_s) + z_t.mT @ entropy.flatten(1) / len(z_t)
        following = ahead - inverse @ gradient.add_(ahead, alpha=weight_decay)
        heads, moved = following, following - heads
    return heads if basis is None else basis @ heads


def _entropy_gradient(logits: Tensor, alpha: Tensor, *, balanced: bool, temperature: float) -> Tensor:
    """N times that of the mean entropy of N samples in the logits [N, A, K], for each alpha [A, 1]."""
    scaled = logits / temperature
    gradient = _balanced_gradient if balanced else _tsallis_gradient
    return gradient(scaled, alpha) / temperature


def _tsallis_gradient(logits: Tensor, alpha: Tensor) -> Tensor:
    """Of :func:`tsallis_entropy` in the logits: ``-a p (r - <p, r>)`` with ``r = (p^(a-1) - 1) / (a - 1)``."""
    probs, ratio = _probs_and_ratio(logits, alpha)
    return -alpha * probs * (ratio - (probs * ratio).sum(-1, keepdim=True))


def _balanced_gradient(logits: Tensor, alpha: Tensor) -> Tensor:
    """Of N times :func:`balanced_tsallis_entropy` in the logits [N, A, K].

    With ``g(p) = -p r``, ``g'(p) = -1 - a r``, the mass ``m_c`` and the entropy ``e_c`` of a class, the derivative in
    ``p_ic`` is ``N/K (g'(p_ic) / m_c - e_c / m_c^2)``; the softmax does the rest.
    """
    probs, ratio = _probs_and_ratio(logits, alpha)
    mass = probs.sum(0).clamp_min(torch.finfo(probs.dtype).tiny)
    entropy = -(probs * ratio).sum(0)
    scale = len(logits) / logits.shape[-1] / mass
    slope = ratio.mul_(-alpha * scale).sub_(scale * (1 + entropy / mass))
    return slope.sub_((probs * slope).sum(-1, keepdim=True)).mul_(probs)


def _probs_and_ratio(logits: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """``p`` and ``(p^(a-1) - 1) / (a - 1)``, which is ``log p`` at one."""
    log_probs = logits.log_softmax(-1)
    power = (alpha - 1).squeeze(-1)
    gibbs = power.abs() < 1e-6
    ratio = (log_probs * power.unsqueeze(-1)).expm1_().div_(power.masked_fill(gibbs, 1.0).unsqueeze(-1))
    ratio[:, gibbs] = log_probs[:, gibbs]
    return log_probs.exp_(), ratio


def _draw(features: Tensor, max_samples: int | None, generator: torch.Generator) -> Tensor:
    """Indices of at most ``max_samples`` rows, in order."""
    order = torch.randperm(len(features), generator=generator)[:max_samples]
    return order.sort().values.to(features.device)
