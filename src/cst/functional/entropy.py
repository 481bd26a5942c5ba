"""Tsallis entropy, equation 6 in Section 3.2."""

from __future__ import annotations

import torch
from torch import Tensor


def tsallis_entropy(probs: Tensor, alpha: float | Tensor) -> Tensor:
    """Tsallis entropy of each row, equation 6: ``S_a(p) = (1 - sum_i p_i^a) / (a - 1)``.

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
