"""Forward step and reverse step: pseudo-labels, the head fitted to them in closed form, its loss on the source."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def pseudo_labels(logits: Tensor) -> Tensor:
    """The forward step, equation 3: ``y' = argmax_i f(x)_i``; integers [...] of logits [..., K], no gradient.

    >>> pseudo_labels(torch.tensor([[0.1, 2.0, 0.3]]))
    tensor([1])
    """
    return logits.detach().argmax(-1)


def ridge_head(features: Tensor, targets: Tensor, l2: float) -> Tensor:
    """The linear head of equation 4 under squared loss, in closed form (Appendix B.2).

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
    return z.mT @ solve_shifted(gram, y, l2)


def _ridge_primal(z: Tensor, y: Tensor, l2: float) -> Tensor:
    return solve_shifted(z.mT @ z, z.mT @ y, l2)


def solve_shifted(matrix: Tensor, right: Tensor, l2: float) -> Tensor:
    """``(M + l2 I)^-1 R`` of a matrix M [d, d] without negative eigenvalues, by Cholesky.

    >>> solve_shifted(torch.eye(2), torch.eye(2), l2=1.0)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
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

    ``L_P(theta_t(phi), phi)`` of equation 5 with the squared loss of Appendix B.2: ``theta_t`` is
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
    labels = regression_targets(pseudo_labels, num_classes, centred)
    options = {"normalize": normalize, "bias": bias, "relative": relative}
    scores = scores_on_source(source_features, target_features, labels, l2, **options)
    source_targets = regression_targets(source_labels, num_classes, centred)
    return F.mse_loss(scores, source_targets.to(scores.dtype))


def cycle_loss(
    source_features: Tensor,
    source_labels: Tensor,
    target_features: Tensor,
    target_logits: Tensor,
    l2: float = 0.1,
    *,
    normalize: bool = True,
    bias: bool = False,
    centred: bool = True,
    relative: bool = False,
) -> Tensor:
    """Forward step and reverse step on one batch with the settings of ``cst``: what a loop adds to its loss.

    :func:`reverse_loss` of the :func:`pseudo_labels` of the target. Its gradient reaches both feature sets, and the
    source head not at all.

    Args:
        source_features: Z_s [N_s, d].
        source_labels: integers [N_s].
        target_features: Z_t [N_t, d].
        target_logits: of the source head on Z_t [N_t, K].
        l2: the ridge, as are the other options, of :func:`reverse_loss`.
        normalize: scale every feature row to unit length first.
        bias: append a constant feature.
        centred: regress onto ``onehot - 1/K``.
        relative: ``l2`` is a multiple of the target features' mean eigenvalue.

    Returns:
        A scalar.

    >>> features, labels = torch.eye(2), torch.tensor([0, 1])
    >>> right = cycle_loss(features, labels, features, target_logits=torch.eye(2))
    >>> exchanged = cycle_loss(features, labels, features, target_logits=torch.eye(2).flip(0))
    >>> f"{right:.2f} {exchanged:.2f}"
    '0.00 0.91'
    """
    labels, classes = pseudo_labels(target_logits), target_logits.shape[-1]
    options = {"normalize": normalize, "bias": bias, "centred": centred, "relative": relative}
    return reverse_loss(source_features, source_labels, target_features, labels, classes, l2, **options)


def scores_on_source(
    source_features: Tensor,
    target_features: Tensor,
    targets: Tensor,
    l2: float,
    *,
    normalize: bool,
    bias: bool,
    relative: bool,
) -> Tensor:
    """Scores on the source [N_s, K] of the head fitted to the target's regression targets [N_t, K].

    >>> eye = torch.eye(2)
    >>> scores = scores_on_source(eye, eye, eye, 1.0, normalize=False, bias=False, relative=False)
    >>> scores.diagonal()
    tensor([0.5000, 0.5000])
    """
    z_s = design(source_features, normalize, bias)
    z_t = design(target_features, normalize, bias)
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


def design(features: Tensor, normalize: bool = False, bias: bool = False) -> Tensor:
    """Features [N, d] as a ridge problem takes them: rows of unit length, or with a constant appended [N, d + 1].

    >>> design(torch.tensor([[3.0, 4.0]]), normalize=True, bias=True)
    tensor([[0.6000, 0.8000, 1.0000]])
    """
    precise = features.to(torch.promote_types(features.dtype, torch.float32))
    z = F.normalize(precise, dim=-1) if normalize else precise
    return F.pad(z, (0, 1), value=1.0) if bias else z


def regression_targets(labels: Tensor, num_classes: int, centred: bool) -> Tensor:
    """Labels [...] as ``onehot``, or as ``onehot - 1/K`` [..., K].

    >>> regression_targets(torch.tensor([1]), 2, centred=True)
    tensor([[-0.5000,  0.5000]])
    """
    low = -1 / num_classes if centred else 0.0
    targets = torch.full((*labels.shape, num_classes), low, device=labels.device)
    return targets.scatter_(-1, labels.unsqueeze(-1), 1 + low)
