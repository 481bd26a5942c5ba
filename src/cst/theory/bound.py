"""The bound of Theorem 1, the margin losses of Theorem 2 and the robustness of Lemma 3, as they hold.

``f_s`` is the source model, ``f_t`` the one trained on the target's pseudo-labels. Where the paper's formulas do not
hold as printed (the direction of the ramp, tau, the domain of the target loss), these are the corrected ones;
docs/theory.md has each point. Samples count equally unless ``weights`` say otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from cst.functional import margin


def theorem_1(cycle_source_error: float, disagreement: float, robustness: float, q: float, epsilon: float) -> float:
    """``Err_Q(f_s) <= Err_P(f_t) + c + 2 q + rho / min(epsilon, q)``, Theorem 1.

    Holds if P and Q have (q, epsilon)-constant expansion, sets of measure one half included, and equal class shares.

    >>> round(theorem_1(0.01, 0.02, 0.001, q=0.05, epsilon=0.1), 3)
    0.15
    """
    return cycle_source_error + disagreement + 2 * q + robustness / smaller(q, epsilon)


def smaller(q: float, epsilon: float) -> float:
    """``min(epsilon, q)``, both between 0 and 1.

    >>> smaller(q=0.05, epsilon=0.1)
    0.05
    """
    for name, value in (("q", q), ("epsilon", epsilon)):
        if not 0 < value < 1:
            raise ValueError(f"{name}= must lie between 0 and 1, got {value}.")
    return min(q, epsilon)


def margin_of(scores: Tensor, labels: Tensor) -> Tensor:
    """``M(v, y) = v_y - max_{y' != y} v_y'``: scores [..., K], labels [...] -> [...]; positive where y wins.

    >>> margin_of(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([1]))
    tensor([-0.2500])
    """
    label_scores = scores.gather(-1, labels.unsqueeze(-1))
    others = scores.scatter(-1, labels.unsqueeze(-1), -torch.inf)
    return label_scores.squeeze(-1) - others.amax(-1)


def ramp(margins: Tensor, gamma: float) -> Tensor:
    """1 for margins up to 0, then falling to 0 at ``gamma``.

    It is to be taken of the margin itself: of minus the margin, as printed, it would be 1 for confident right answers.

    >>> ramp(torch.tensor([-1.0, 0.25, 1.0]), gamma=0.5)
    tensor([1.0000, 0.5000, 0.0000])
    """
    if gamma <= 0:
        raise ValueError(f"gamma must be positive, got {gamma}.")
    return (1 - margins / gamma).clamp(0, 1)


def margin_loss(scores: Tensor, labels: Tensor, gamma: float, weights: Tensor | None = None) -> Tensor:
    """``E l_gamma(f(x), y)``, never less than the share of wrong predictions.

    With the labels of a dataset it is the cycle loss ``L_P,gamma(f_t)``; with the predictions of ``f_s`` on the target
    the target loss ``L_Q,gamma(f_t, f_s)``.

    One of two predictions is wrong, both with a margin beyond gamma:

    >>> margin_loss(torch.tensor([[0.75, 0.25], [0.25, 0.75]]), torch.tensor([0, 0]), gamma=0.1)
    tensor(0.5000)
    """
    return mean(ramp(margin_of(scores, labels), gamma), weights)


def robustness_from_confidence(mean_margin: float, lipschitz: float, radius: float) -> float:
    """``R(f_t) <= (1 - E M(f_t(x))) / (1 - 2 L xi)``, Lemma 3.

    Args:
        mean_margin: of scores in [0, 1], under half of P and half of Q.
        lipschitz: of each score.
        radius: of a neighbourhood.

    >>> round(robustness_from_confidence(0.95, lipschitz=0.5, radius=0.5), 3)
    0.1
    """
    return (1 - mean_margin) / _slack(lipschitz, radius)


def tau(lipschitz: float, radius: float, q: float, epsilon: float) -> float:
    """``(1 - 2 L xi) min(epsilon, q)``: what Lemma 3 in Theorem 1 gives. Printed is ``1 - 2 L xi min(epsilon, q)``.

    >>> round(tau(lipschitz=0.5, radius=0.5, q=0.05, epsilon=0.1), 3)
    0.025
    """
    return _slack(lipschitz, radius) * smaller(q, epsilon)


class Objective(NamedTuple):
    """The three parts of L_CST; ``Err_Q(f_s) <= total + 2 q``, up to the complexity terms of Theorem 2."""

    cycle: Tensor
    target: Tensor
    uncertainty: Tensor

    @property
    def total(self) -> Tensor:
        """L_CST."""
        return self.cycle + self.target + self.uncertainty


def cst_objective(
    source_scores: Tensor,
    source_labels: Tensor,
    target_scores: Tensor,
    pseudo_labels: Tensor,
    gamma: float,
    tau: float,
    source_weights: Tensor | None = None,
    target_weights: Tensor | None = None,
) -> Objective:
    """``L_CST = L_P,gamma(f_t) + L_Q,gamma(f_t, f_s) + (1 - E M(f_t(x))) / tau``.

    Args:
        source_scores: of ``f_t``, in [0, 1], on the source [N_s, K].
        source_labels: integers [N_s].
        target_scores: of ``f_t``, in [0, 1], on the target [N_t, K].
        pseudo_labels: predictions of ``f_s`` on the target [N_t].
        gamma: width of the ramp.
        tau: from :func:`tau`.
        source_weights: of the source's samples, summing to one.
        target_weights: of the target's.

    The margins are 1 on the source and 1/2 on the target, so that only the confidence is short of 1, by 1/4:

    >>> scores, labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([0, 1])
    >>> cst_objective(scores, labels, torch.tensor([[0.75, 0.25]]), torch.tensor([0]), gamma=0.1, tau=0.5).total
    tensor(0.5000)
    """
    confidence = mean(margin(source_scores), source_weights) / 2 + mean(margin(target_scores), target_weights) / 2
    return Objective(
        margin_loss(source_scores, source_labels, gamma, source_weights),
        margin_loss(target_scores, pseudo_labels, gamma, target_weights),
        (1 - confidence) / tau,
    )


def mean(values: Tensor, weights: Tensor | None = None) -> Tensor:
    """The mean over the last dimension, or the sum under weights that sum to one.

    >>> mean(torch.tensor([1.0, 3.0]), torch.tensor([0.75, 0.25]))
    tensor(1.5000)
    """
    return values.mean(-1) if weights is None else (values * weights).sum(-1)


def _slack(lipschitz: float, radius: float) -> float:
    slack = 1 - 2 * lipschitz * radius
    if slack <= 0:
        raise ValueError(f"2 L xi = {1 - slack:.3g} must be less than 1: take a smaller radius.")
    return slack
