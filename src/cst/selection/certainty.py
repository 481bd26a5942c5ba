"""Of the target's predictions alone: how certain, how diverse, how little confused, how they share out the classes."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.functional import total_variation, tsallis_entropy
from cst.selection.rows import finite, labels_of, probabilities, shares
from cst.terms.confusion import class_normalized_entropy


def certainty(target_logits: Tensor) -> float:
    """``-1/M sum_i H(p_i)`` with the Gibbs entropy H of the softmax of logits [M, K]; from ``-log K`` to 0.

    >>> round(certainty(torch.zeros(3, 2)), 4)
    -0.6931
    """
    return -float(tsallis_entropy(probabilities(target_logits, "target_logits"), 1.0).mean())


def information_maximisation(target_logits: Tensor) -> float:
    """``H(1/M sum_i p_i) - 1/M sum_i H(p_i)``, the information of a prediction of its sample; from 0 to ``log K``.

    Predictions that are certain of one class for all samples, which :func:`certainty` likes best, are worth nothing.

    >>> round(information_maximisation(100 * torch.eye(2)), 4), round(information_maximisation(torch.ones(3, 2)), 4)
    (0.6931, 0.0)
    """
    probs = probabilities(target_logits, "target_logits")
    return float(tsallis_entropy(probs.mean(0), 1.0) - tsallis_entropy(probs, 1.0).mean())


def batch_nuclear_norm(target_logits: Tensor) -> float:
    """``||P||_* / sqrt(M min(M, K))``: the sum of singular values of the probabilities P [M, K], from above 0 to 1.

    As ``||P||_* <= sqrt(rank P) ||P||_F`` and ``||P||_F <= sqrt(M)``, it is one where predictions are certain and
    the classes have equal shares, for any number of samples. The singular values are square roots of the
    eigenvalues of ``P^T P`` [K, K].

    >>> round(batch_nuclear_norm(100 * torch.eye(2)), 4), round(batch_nuclear_norm(torch.zeros(50, 4)), 4)
    (1.0, 0.25)
    """
    probs = probabilities(target_logits, "target_logits")
    eigenvalues = torch.linalg.eigvalsh(probs.mT @ probs)
    return float(eigenvalues.clamp_min(0).sqrt().sum() / (len(probs) * min(probs.shape)) ** 0.5)


def class_confusion(target_logits: Tensor, temperature: float = 2.5) -> float:
    """Minus the loss of Minimum Class Confusion of all M samples as one batch; from ``1/K - 1`` to 0.

    The loss is :func:`~cst.terms.confusion.class_normalized_entropy` at ``alpha = 2`` over K, which needs no matrix of
    confusions. A class that no prediction comes near counts as wholly confused.

    >>> round(class_confusion(torch.zeros(3, 4)), 4), abs(round(class_confusion(1000 * torch.eye(4)), 4))
    (-0.75, 0.0)
    """
    logits = finite(target_logits, "target_logits").double()
    return -float(class_normalized_entropy(logits, 2.0, temperature)) / logits.shape[-1]


def balance(target_logits: Tensor, source_labels: Tensor) -> float:
    """``-TV(q, p)`` of the shares q of pseudo-labels and p of the source's labels, from -1 to 0.

    It takes the classes to have the same shares in both domains; where they do not, the best model does not score best.

    >>> balance(torch.eye(2), torch.tensor([0, 0, 0, 1]))
    -0.25
    """
    classes = target_logits.shape[-1]
    pseudo_shares = shares(labels_of(target_logits, "target_logits"), classes)
    return -float(total_variation(pseudo_shares, shares(source_labels, classes)))
