"""The paper's equations as functions of tensors: no modules, no state, no configuration.

Shapes are written in brackets: N samples, d features, K classes, A values of alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = [
    "balanced_tsallis_entropy",
    "margin",
    "pseudo_labels",
    "reverse_loss",
    "ridge_head",
    "select_alpha",
    "total_variation",
    "tsallis_entropy",
]

ALPHAS = tuple(round(1.0 + 0.1 * i, 1) for i in range(11))
"""The grid of Appendix B.3: 1.0, 1.1, ..., 2.0."""


def tsallis_entropy(probs: Tensor, alpha: float | Tensor) -> Tensor:
    """Tsallis entropy of each row, Section 3.2: ``S_a(p) = (1 - sum_i p_i^a) / (a - 1)``.

    ``a = 1`` is the Gibbs entropy ``-sum p log p``, ``a = 2`` the Gini impurity ``1 - sum p^2``.

    Rows sum to one, so the definition equals ``-sum_i p_i (p_i^(a-1) - 1) / (a - 1)``, and with
    ``t = (a - 1) log p`` that is ``-sum_i p_i log(p_i) expm1(t_i) / t_i``: no division by zero at
    ``a = 1``, and no loss of digits near it.

    Args:
        probs: probabilities [..., N, K].
        alpha: the entropic index; a tensor broadcasts against [..., N].

    Returns:
        The entropies [..., N]. Values and gradients are finite for probabilities of 0 and 1.

    >>> tsallis_entropy(torch.tensor([[0.5, 0.5]]), 2.0)
    tensor([0.5000])
    """
    return _entropy_of_classes(probs, alpha).sum(-1)


def _entropy_of_classes(probs: Tensor, alpha: float | Tensor) -> Tensor:
    """``(p_c - p_c^a) / (a - 1)`` of every sample and class [..., N, K]."""
    alpha = torch.as_tensor(alpha, dtype=probs.dtype, device=probs.device)
    log_probs = probs.clamp_min(torch.finfo(probs.dtype).tiny).log()
    exponent = (alpha.unsqueeze(-1) - 1) * log_probs
    return probs * log_probs.neg() * _expm1_ratio(exponent)


def _expm1_ratio(t: Tensor) -> Tensor:
    """``(exp(t) - 1) / t``, by its series where ``t`` is small: value and gradient are smooth at 0."""
    small = t.abs() < 1e-3
    series = 1 + t / 2 * (1 + t / 3 * (1 + t / 4))
    safe = torch.where(small, torch.ones_like(t), t)
    return torch.where(small, series, torch.expm1(safe) / safe)


def balanced_tsallis_entropy(probs: Tensor, alpha: float | Tensor) -> Tensor:
    """Tsallis entropy in which every class weighs the same, a scalar of probabilities [..., N, K].

    ``S_a(p) = sum_c (p_c - p_c^a) / (a - 1)`` is a sum over classes. Its mean over samples gives a class the weight of
    its mass ``sum_i p_ic``, so that a class which is predicted rarely may be given up at no cost. Here each class is
    divided by its own mass: ``1/K sum_c [sum_i (p_ic - p_ic^a) / (a - 1)] / [sum_i p_ic]``. Where all classes have the
    same mass the two are equal.

    Args:
        probs: probabilities [..., N, K].
        alpha: the entropic index; a tensor broadcasts against [..., N].

    Returns:
        One value for each leading index.

    >>> probs = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
    >>> abs(float(balanced_tsallis_entropy(probs, 1.5) - tsallis_entropy(probs, 1.5).mean())) < 1e-6
    True
    >>> gone = torch.tensor([[0.9, 0.1], [0.9, 0.1]])  # the second class is nobody's first choice, and costs much
    >>> float(balanced_tsallis_entropy(gone, 2.0)) > float(tsallis_entropy(gone, 2.0).mean())
    True
    """
    mass = probs.sum(-2).clamp_min(torch.finfo(probs.dtype).tiny)
    return (_entropy_of_classes(probs, alpha).sum(-2) / mass).mean(-1)


def ridge_head(features: Tensor, targets: Tensor, l2: float) -> Tensor:
    """The linear head of equation 5 under squared loss, in closed form (Appendix B.2).

    ``theta = argmin ||Z theta - Y||^2 + l2 ||theta||^2``, as ``Z^T (Z Z^T + l2 I)^-1 Y`` (dual, an
    N x N system) when N < d and as ``(Z^T Z + l2 I)^-1 Z^T Y`` (primal, d x d) otherwise.
    Differentiable in both arguments. The system is solved by Cholesky in float64 (float32 where
    the device has no float64), whatever autocast says.

    Args:
        features: Z [N, d].
        targets: Y [N, K].
        l2: the ridge, positive.

    Returns:
        theta [d, K].

    >>> ridge_head(torch.eye(2), torch.eye(2), l2=1.0)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    if l2 <= 0:
        raise ValueError(f"l2 must be positive, got {l2}: without a ridge the head is not unique.")
    dual = features.shape[-2] < features.shape[-1]
    precise = torch.float32 if features.device.type == "mps" else torch.float64
    with torch.autocast(features.device.type, enabled=False):
        solve = _ridge_dual if dual else _ridge_primal
        head = solve(features.to(precise), targets.to(precise), l2)
    return head.to(torch.promote_types(features.dtype, torch.float32))


def _ridge_dual(z: Tensor, y: Tensor, l2: float) -> Tensor:
    gram = z @ z.mT
    return z.mT @ _solve_shifted(gram, y, l2)


def _ridge_primal(z: Tensor, y: Tensor, l2: float) -> Tensor:
    return _solve_shifted(z.mT @ z, z.mT @ y, l2)


def _solve_shifted(matrix: Tensor, right: Tensor, l2: float) -> Tensor:
    shifted = matrix + l2 * torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return torch.cholesky_solve(right, torch.linalg.cholesky(shifted))


def reverse_loss(
    source_features: Tensor,
    source_labels: Tensor,
    target_features: Tensor,
    pseudo_labels: Tensor,
    num_classes: int,
    l2: float = 1e-3,
    *,
    normalize: bool = False,
    bias: bool = False,
    centred: bool = False,
    relative: bool = False,
) -> Tensor:
    """The reverse step: the loss on the source of a head fitted to the target's pseudo-labels.

    ``L_P(theta_t(phi), phi)`` of equation 6 with the squared loss of Appendix B.2: ``theta_t`` is
    :func:`ridge_head` of the target features on one-hot pseudo-labels, and the loss is the mean of
    ``(Z_s theta_t - onehot(y_s))^2`` over samples and classes.
    The gradient reaches both feature sets, through the solution of the ridge problem as well; none
    reaches the pseudo-labels, which are integers.

    Args:
        source_features: Z_s [N_s, d].
        source_labels: integers [N_s].
        target_features: Z_t [N_t, d].
        pseudo_labels: integers [N_t].
        num_classes: K.
        l2: the ridge.
        normalize: scale every feature row to unit length first.
        bias: append a constant feature.
        centred: regress onto ``onehot - 1/K`` (as the published code) instead of ``onehot``.
        relative: ``l2`` is a multiple of the mean eigenvalue of the target features, so that it means the same for
            every batch size, width and scale.

    Returns:
        A scalar.

    Right pseudo-labels lead back to the source, exchanged ones to the wrong class everywhere:

    >>> features, labels = torch.eye(2), torch.tensor([0, 1])
    >>> right = reverse_loss(features, labels, features, labels, num_classes=2)
    >>> exchanged = reverse_loss(features, labels, features, labels.flip(0), num_classes=2)
    >>> f"{right:.2f} {exchanged:.2f}"
    '0.00 1.00'
    """
    labels = _regression_targets(pseudo_labels, num_classes, centred)
    options = {"normalize": normalize, "bias": bias, "relative": relative}
    scores = _round_trip(source_features, target_features, labels, l2, **options)
    source_targets = _regression_targets(source_labels, num_classes, centred)
    return F.mse_loss(scores, source_targets.to(scores.dtype))


def _round_trip(
    source_features: Tensor,
    target_features: Tensor,
    targets: Tensor,
    l2: float,
    *,
    normalize: bool,
    bias: bool,
    relative: bool,
) -> Tensor:
    """Scores on the source [N_s, K] of the head fitted to the target's regression targets [N_t, K]."""
    z_s = _design(source_features, normalize, bias)
    z_t = _design(target_features, normalize, bias)
    head = ridge_head(z_t, targets, l2 * mean_eigenvalue(z_t) if relative else l2)
    with torch.autocast(z_s.device.type, enabled=False):
        return z_s.to(head.dtype) @ head


def mean_eigenvalue(features: Tensor) -> float:
    """Of ``Z^T Z``, over those eigenvalues that are not zero by its shape; a constant of the ridge, not differentiated.

    >>> mean_eigenvalue(torch.eye(3))
    1.0
    """
    squares = features.detach().float().square().sum()
    return max(float(squares) / min(features.shape[-2:]), torch.finfo(torch.float32).tiny)


def _design(features: Tensor, normalize: bool, bias: bool) -> Tensor:
    z = F.normalize(features, dim=-1) if normalize else features
    return F.pad(z, (0, 1), value=1.0) if bias else z


def _regression_targets(labels: Tensor, num_classes: int, centred: bool) -> Tensor:
    onehot = F.one_hot(labels, num_classes).to(torch.float32)
    return onehot - 1 / num_classes if centred else onehot


class AlphaSelection(NamedTuple):
    """The chosen alpha, and the reverse loss [A] of every alpha that was tried."""

    alpha: float
    losses: Tensor


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
    iterations: int = 50,
    weight_decay: float = 1e-3,
    max_samples: int | None = None,
    seed: int = 0,
) -> AlphaSelection:
    """Choose the entropic index by the round trip of equation 9 and Appendix B.3.

    For each alpha a source head is trained on fixed features, as far as ``iterations`` descent steps take it,
    ``theta_s,a = argmin L_P(theta) + E_Q S_a(softmax(theta z))`` (cross-entropy on the source); it
    labels the target; a ridge head fitted to those labels is judged on the source by
    :func:`reverse_loss`. The alpha with the smallest reverse loss wins; of equals, the first.

    All A heads are one batched problem: their parameters are the columns of one matrix [d, A*K],
    trained together by accelerated gradient descent whose step follows from the features' largest
    singular value, and their A target heads share one Cholesky factorisation.

    Args:
        source_features: Z_s [N_s, d].
        source_labels: integers [N_s].
        target_features: Z_t [N_t, d].
        num_classes: K.
        alphas: the candidates.
        l2: ridge of the target heads; with ``normalize``, ``bias`` and ``centred`` as in
            :func:`reverse_loss`.
        relative: as in :func:`reverse_loss`.
        balanced: whether the entropy is :func:`balanced_tsallis_entropy`.
        temperature: by which logits are divided in the entropy.
        start: the head [d + 1, K], its last row the bias, from which all source heads begin; zero if not given.
        iterations: descent steps for the source heads.
        weight_decay: ridge of the source heads, which keeps their minimum finite.
        max_samples: draw at most this many samples of each domain.
        seed: of that draw.

    Returns:
        ``(alpha, losses)``: the chosen value and one reverse loss per candidate.

    The source says that the first feature's sign is the class. The Gibbs entropy drags the second target point to the
    wrong side, the Gini impurity leaves it where it is:

    >>> source, labels = torch.tensor([[-1.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])
    >>> target = torch.tensor([[-2.0, 3.0], [-1.0, -3.0], [1.0, -3.0], [3.0, -3.0]])
    >>> alpha, losses = select_alpha(source, labels, target, num_classes=2, alphas=(1.0, 2.0), bias=True)
    >>> alpha, [round(loss, 2) for loss in losses.tolist()]
    (2.0, [0.25, 0.06])
    """
    if len(alphas) == 0:
        raise ValueError("alphas is empty: give at least one candidate, for instance (1.0, 1.5, 2.0).")
    generator = torch.Generator().manual_seed(seed)
    keep_s = _draw(source_features, max_samples, generator)
    keep_t = _draw(target_features, max_samples, generator)
    z_s, y_s, z_t = source_features[keep_s].detach(), source_labels[keep_s], target_features[keep_t].detach()

    def entropy(logits: Tensor, alpha: Tensor) -> Tensor:
        return _entropy_gradient(logits, alpha, balanced=balanced, temperature=temperature)

    labels = _labels_under_each_alpha(z_s, y_s, z_t, num_classes, alphas, iterations, weight_decay, entropy, start)
    targets = _regression_targets(labels, num_classes, centred)
    options = {"normalize": normalize, "bias": bias, "relative": relative}
    scores = _round_trip(z_s, z_t, targets.flatten(1), l2, **options)
    source_targets = _regression_targets(y_s, num_classes, centred).to(scores.dtype)
    losses = (scores.view(-1, len(alphas), num_classes) - source_targets.unsqueeze(1)).square().mean((0, 2))
    return AlphaSelection(float(alphas[int(losses.argmin())]), losses)


def _labels_under_each_alpha(
    z_s: Tensor,
    y_s: Tensor,
    z_t: Tensor,
    num_classes: int,
    alphas: Sequence[float],
    iterations: int,
    weight_decay: float,
    entropy_gradient: Callable[[Tensor, Tensor], Tensor] | None = None,
    start: Tensor | None = None,
) -> Tensor:
    """Pseudo-labels [N_t, A] of the source heads trained with each alpha, all of them at once."""
    z_s, z_t = _design(z_s.float(), False, True), _design(z_t.float(), False, True)
    heads = z_s.new_zeros(z_s.shape[1], len(alphas) * num_classes) if start is None else start.repeat(1, len(alphas))
    index = torch.as_tensor(alphas, dtype=z_s.dtype, device=z_s.device).unsqueeze(-1)
    onehot = F.one_hot(y_s, num_classes).to(z_s.dtype).unsqueeze(1)
    # Both losses have a curvature of at most 1/2 in the logits: a step of one over the largest
    # curvature in the heads does not diverge.
    step = 1 / (0.5 * _largest_eigenvalue(z_s) + 0.5 * _largest_eigenvalue(z_t) + weight_decay)
    descent = torch.optim.SGD([heads], lr=step, momentum=0.9, nesterov=True, weight_decay=weight_decay)
    shape = (-1, len(alphas), num_classes)
    with torch.autocast(z_s.device.type, enabled=False):
        for _ in range(iterations):
            source = (z_s @ heads).view(shape).softmax(-1) - onehot
            entropy = (entropy_gradient or _tsallis_gradient)((z_t @ heads).view(shape), index)
            heads.grad = z_s.mT @ source.flatten(1) / len(z_s) + z_t.mT @ entropy.flatten(1) / len(z_t)
            descent.step()
        return pseudo_labels((z_t @ heads).view(shape))


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
    slope = (-1 - alpha * ratio - entropy / mass) / mass
    slope = slope * (len(logits) / logits.shape[-1])
    return probs * (slope - (probs * slope).sum(-1, keepdim=True))


def _probs_and_ratio(logits: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    """``p`` and ``(p^(a-1) - 1) / (a - 1)``, which is ``log p`` at one."""
    log_probs = logits.log_softmax(-1)
    power = alpha - 1
    gibbs = power.abs() < 1e-6
    ratio = torch.expm1(power * log_probs) / power.masked_fill(gibbs, 1.0)
    return log_probs.exp(), torch.where(gibbs, log_probs, ratio)


def _largest_eigenvalue(z: Tensor, iterations: int = 20) -> float:
    """Of the second moment ``Z^T Z / N``, by power iteration."""
    vector = z.mean(0)
    for _ in range(iterations):
        vector = z.mT @ (z @ F.normalize(vector, dim=0)) / len(z)
    return float(vector.norm())


def _draw(features: Tensor, max_samples: int | None, generator: torch.Generator) -> Tensor:
    """Indices of at most ``max_samples`` rows, in order."""
    order = torch.randperm(len(features), generator=generator)[:max_samples]
    return order.sort().values.to(features.device)


def pseudo_labels(logits: Tensor) -> Tensor:
    """The forward step, equation 4: ``y' = argmax_i f(x)_i``; integers [...] of logits [..., K], no gradient.

    >>> pseudo_labels(torch.tensor([[0.1, 2.0, 0.3]]))
    tensor([1])
    """
    return logits.detach().argmax(-1)


def margin(probs: Tensor) -> Tensor:
    """Largest minus second largest probability of each row (Figure 5, right): [..., K] -> [...].

    >>> margin(torch.tensor([[0.5, 0.25, 0.25]]))
    tensor([0.2500])
    """
    if probs.shape[-1] < 2:
        raise ValueError("margin needs probabilities of at least two classes.")
    top = probs.topk(2, dim=-1).values
    return top[..., 0] - top[..., 1]


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Total variation distance of two distributions, Section 2.1: ``1/2 sum_i |p_i - q_i|``, [..., K] -> [...].

    >>> total_variation(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]))
    tensor(0.5000)
    """
    return 0.5 * (p - q).abs().sum(-1)
