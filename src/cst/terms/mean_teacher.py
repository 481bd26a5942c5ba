"""Self-ensembling with a mean teacher (Tarvainen & Valpola, 2017; French et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.terms.contract import Network, Problem, Step, Term
from cst.terms.teacher import Teacher

SMALL = 1e-6


def imbalance(probs: Tensor) -> Tensor:
    """Binary cross-entropy of the mean prediction of each class and ``1 / K``, summed over the classes.

    Args:
        probs: predictions [N, K].

    Returns:
        A scalar, least where the mean prediction [K] is uniform.

    >>> imbalance(torch.eye(2))  # two classes, each with half of the mass: 2 log 2
    tensor(1.3863)
    >>> bool(imbalance(torch.tensor([[0.9, 0.1]])) > imbalance(torch.eye(2)))
    True
    """
    mean, share = probs.mean(0), 1 / probs.shape[-1]
    return -(share * torch.log(mean + SMALL) + (1 - share) * torch.log(1 - mean + SMALL)).sum()


class MeanTeacher(Term):
    """``E_Q [max q >= threshold] |p - q|^2 / K + balance * P_Q(max q >= threshold) * imbalance(p)``.

    The student ``p`` sees strong augmentations, the teacher ``q`` the plain target. The threshold takes the place of a
    ramp: its authors have none, and neither has this term.

    Args:
        decay: of the teacher.
        threshold: confidence below which the teacher is not followed.
        balance: weight of the class balance (`imbalance`), which counts as far as the teacher is followed.

    A squared distance of two distributions is at most two, and is divided by the three classes of the example; a
    teacher who is never confident enough teaches nothing.

    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(MeanTeacher(threshold=0.0, balance=0.0)) < 2 / 3
    True
    >>> loss_on_example(MeanTeacher(threshold=0.0, balance=1.0)) > 1.9  # the balance is 1.91 at least
    True
    >>> loss_on_example(MeanTeacher(threshold=1.1, balance=1.0))
    0.0
    """

    views = ("source", "target", "strong")
    augments = True

    def __init__(self, decay: float = 0.99, threshold: float = 0.968, balance: float = 0.005) -> None:
        super().__init__()
        self.decay, self.threshold, self.balance = decay, threshold, balance

    def setup(self, problem: Problem) -> None:
        """Copy the model."""
        super().setup(problem)
        self.teacher = Teacher(problem.network, self.decay)

    def after_step(self, network: Network) -> None:
        """The teacher lags behind."""
        self.teacher.follow(network)

    def forward(self, step: Step) -> Tensor:
        """Squared distance to the confident part of the teacher's predictions [N, K], and the balance; a scalar."""
        targets = self.teacher.probs(step.batch.target)
        confident = (targets.amax(-1) >= self.threshold).to(targets.dtype)
        distance = ((step.strong.probs - targets).square().mean(-1) * confident).mean()
        return distance + self.balance * confident.mean() * imbalance(step.strong.probs)
