"""The paper's reverse step as a validator: the way from the target's pseudo-labels back to the source."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.functional import ridge_head
from cst.functional.round_trip import design, mean_eigenvalue, regression_targets
from cst.selection.rows import BLOCK, blocks, finite, labels_of


def cycle_accuracy(
    source_features: Tensor,
    source_labels: Tensor,
    target_features: Tensor,
    target_logits: Tensor,
    l2: float = 0.1,
    bias: bool = False,
    block: int = BLOCK,
) -> float:
    """One minus the cycle risk: accuracy on the source of the ridge head fitted to the target's pseudo-labels.

    ``theta_t = argmin ||Z_t theta - Y'||^2 + l ||theta||^2`` (equation 4) on rows of unit length with
    ``Y' = onehot - 1/K``, and the score is the share of ``argmax Z_s theta_t = y_s``, which is the same for
    ``Y' = onehot``: all classes' scores of a sample move together. As in
    :func:`~cst.functional.reverse_loss` with ``relative``, ``l`` is ``l2`` times the mean eigenvalue of
    ``Z_t^T Z_t``, which is ``M / min(M, d)``: the ridge of training, 0.1, for a batch of fewer samples than features,
    and one that grows with the samples for more. For these, ``Z_t^T Z_t`` is summed over blocks of rows.

    Args:
        source_features: Z_s [N, d].
        source_labels: y_s, integers [N].
        target_features: Z_t [M, d].
        target_logits: [M, K].
        l2: see above, positive.
        bias: append a constant feature.
        block: rows at once.

    >>> features, labels = torch.eye(2), torch.tensor([0, 1])
    >>> cycle_accuracy(features, labels, features, torch.eye(2))
    1.0
    >>> cycle_accuracy(features, labels, features, torch.eye(2).flip(0))
    0.0
    """
    z_s, z_t = finite(source_features, "source_features"), finite(target_features, "target_features")
    targets = regression_targets(labels_of(target_logits, "target_logits"), target_logits.shape[-1], centred=True)
    head = _head(z_t, targets, l2, bias, block).to(z_s.dtype)
    right = 0
    for rows, labels in zip(blocks(z_s, block), blocks(source_labels, block), strict=True):
        right += int(((design(rows, normalize=True, bias=bias) @ head).argmax(-1) == labels).sum())
    return right / len(z_s)


def head_agreement(
    target_features: Tensor, target_logits: Tensor, l2: float = 0.1, bias: bool = False, block: int = BLOCK
) -> float:
    """Share of the target on which that target head says what the source head says: ``1 - c`` of Theorem 1.

    >>> head_agreement(torch.eye(2), torch.eye(2))
    1.0
    """
    z, labels = finite(target_features, "target_features"), labels_of(target_logits, "target_logits")
    head = _head(z, regression_targets(labels, target_logits.shape[-1], centred=True), l2, bias, block).to(z.dtype)
    parts = zip(blocks(z, block), blocks(labels, block), strict=True)
    same = sum(int(((design(rows, True, bias) @ head).argmax(-1) == said).sum()) for rows, said in parts)
    return same / len(z)


def _head(features: Tensor, targets: Tensor, l2: float, bias: bool, block: int) -> Tensor:
    """The ridge head [d, K]; products of float32 features are taken in float32 and summed in float64."""
    width = features.shape[-1] + bias
    if len(features) <= width:
        z = design(features, normalize=True, bias=bias)
        return ridge_head(z, targets, l2 * mean_eigenvalue(z))
    gram = torch.zeros(width, width, dtype=torch.float64, device=features.device)
    right = gram.new_zeros(width, targets.shape[-1])
    for rows, labels in zip(blocks(features, block), blocks(targets, block), strict=True):
        z = design(rows, normalize=True, bias=bias)
        gram += z.mT @ z
        right += z.mT @ labels.to(z.dtype)
    ridge = l2 * max(float(gram.trace()) / width, torch.finfo(torch.float32).tiny)
    gram.diagonal().add_(ridge)
    return torch.cholesky_solve(right, torch.linalg.cholesky(gram))
