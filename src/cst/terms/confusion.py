"""The entropy that the authors' published code minimises in place of the paper's Tsallis entropy."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.functional import tsallis_entropy
from cst.terms.contract import Step, Term


def class_normalized_entropy(logits: Tensor, alpha: float, temperature: float) -> Tensor:
    """``[K - sum_c (sum_i w_i p_ic^a) / (sum_i w_i p_ic)] / (a - 1)``, a scalar of logits [N, K].

    ``p`` is the softmax of ``logits / temperature``, and the weights ``w_i``, proportional to
    ``1 + exp(-H(p_i))`` and summing to N, carry no gradient: certain samples count more. Every class
    is divided by its own mass, so that a class which receives few predictions is not forgotten. At
    ``a = 2`` this is K times the loss of Minimum Class Confusion; at ``a = 1`` it is not defined.

    Predictions that know nothing of three classes have the value two, certain ones the value zero.

    >>> undecided, certain = torch.zeros(6, 3), 1000 * torch.eye(3)
    >>> [round(float(class_normalized_entropy(logits, 2.0, 1.0)), 4) for logits in (undecided, certain)]
    [2.0, 0.0]
    """
    probs = (logits / temperature).softmax(-1)
    certainty = 1 + torch.exp(-tsallis_entropy(probs.detach(), 1.0))
    weights = (certainty / certainty.mean()).unsqueeze(-1)
    mass = (weights * probs).sum(0).clamp_min(torch.finfo(probs.dtype).tiny)
    return (logits.shape[-1] - ((weights * probs**alpha).sum(0) / mass).sum()) / (alpha - 1)


class Confusion(Term):
    """:func:`class_normalized_entropy` divided by the number of classes.

    The published weights (0.08 for 12 classes, 0.015 for 65) undo the factor K; here the division
    does, so that a weight of one means the same for any number of classes.

    Args:
        alpha: the entropic index, anything but one.
        temperature: by which the logits are divided.

    At alpha = 2 it lies between 0 and ``1 - 1 / K``.

    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(Confusion(alpha=2.0)) < 2 / 3
    True
    >>> round(loss_on_example(Confusion(alpha=2.0, temperature=1e6)), 3)
    0.667
    """

    ramped = True

    def __init__(self, alpha: float = 1.9, temperature: float = 2.5) -> None:
        super().__init__()
        if alpha == 1:
            raise ValueError("confusion: alpha = 1 divides by zero; use another alpha, or the term 'entropy'.")
        self.alpha, self.temperature = alpha, temperature

    def forward(self, step: Step) -> Tensor:
        """The entropy of the batch's logits [N, K], a scalar."""
        return class_normalized_entropy(step.target.logits, self.alpha, self.temperature) / self.num_classes
