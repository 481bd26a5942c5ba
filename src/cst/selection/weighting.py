"""Accuracy on the source: as it is, and weighted by how likely its samples are in the target."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.selection.density_ratio import density_ratio
from cst.selection.rows import finite, labels_of


def source_accuracy(source_logits: Tensor, source_labels: Tensor) -> float:
    """Share of source samples whose largest logit [N, K] is that of their label [N].

    >>> source_accuracy(torch.eye(2), torch.tensor([0, 0]))
    0.5
    """
    return float((labels_of(source_logits, "source_logits") == source_labels).double().mean())


def importance_weighted_accuracy(
    source_features: Tensor, source_labels: Tensor, source_logits: Tensor, target_features: Tensor
) -> float:
    """``sum_i w_i [f(x_i) = y_i] / sum_i w_i`` over the source with :func:`density_ratio` w; from 0 to 1.

    Importance-weighted validation divides by N in place of the sum of weights. That is unbiased for the true ratio,
    but an estimated one makes it leave [0, 1] and say more of the scale of weights than of the model.

    Args:
        source_features: [N, d].
        source_labels: integers [N].
        source_logits: [N, K].
        target_features: [M, d].

    The model is right on the right, where the target is:

    >>> line = torch.linspace(-1, 1, 40).unsqueeze(1)
    >>> labels, logits = (line[:, 0] < 0).long(), torch.tensor([[1.0, 0.0]]).repeat(40, 1)
    >>> importance_weighted_accuracy(line, labels, logits, line + 0.5) > source_accuracy(logits, labels) == 0.5
    True
    """
    right = (labels_of(source_logits, "source_logits") == source_labels).double()
    weights = density_ratio(source_features, target_features)
    return float((weights * right).sum() / weights.sum())


def deep_embedded_validation(
    source_features: Tensor,
    source_labels: Tensor,
    source_logits: Tensor,
    target_features: Tensor,
    loss: Literal["zero-one", "cross-entropy"] = "zero-one",
) -> float:
    """Minus the risk ``1/N sum_i w_i l_i + eta (1/N sum_i w_i - 1)`` with ``eta = -Cov(w l, w) / Var(w)``.

    ``w`` is :func:`density_ratio`, of mean one if it were exact: what its mean lacks corrects the weighted risk. The
    authors' function takes the 0/1 error, as here; cross-entropy is the other choice in use. Their classifier of
    domains is a multilayer perceptron, ours is linear. Weights without variance need no correction.

    Args:
        source_features: [N, d].
        source_labels: integers [N].
        source_logits: [N, K].
        target_features: [M, d].
        loss: l.

    A model that is always right has no risk, one that is always wrong a risk of one:

    >>> line = torch.linspace(-1, 1, 40).unsqueeze(1)
    >>> labels, logits = torch.zeros(40).long(), torch.tensor([[1.0, 0.0]]).repeat(40, 1)
    >>> [round(deep_embedded_validation(line, y, logits, line + 0.5), 4) + 0.0 for y in (labels, 1 - labels)]
    [0.0, -1.0]
    """
    if loss == "zero-one":
        losses = (labels_of(source_logits, "source_logits") != source_labels).double()
    else:
        logits = finite(source_logits, "source_logits").double()
        losses = F.cross_entropy(logits, source_labels.long(), reduction="none")
    weights = density_ratio(source_features, target_features)
    weighted = weights * losses
    return -float(weighted.mean() + _control_variate(weighted, weights) * (weights.mean() - 1))


def _control_variate(weighted: Tensor, weights: Tensor) -> float:
    """``eta = -Cov(w l, w) / Var(w)``, zero where weights do not vary."""
    deviations = weights - weights.mean()
    variance = float(deviations.square().sum())
    if variance <= torch.finfo(weights.dtype).eps * float(weights.square().sum()):
        return 0.0
    return -float((deviations * weighted).sum()) / variance
