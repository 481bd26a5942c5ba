"""Self-ensembling with a mean teacher (Tarvainen & Valpola, 2017; French et al., 2018)."""

from __future__ import annotations

from torch import Tensor

from cst.terms.contract import Network, Problem, Step, Term
from cst.terms.teacher import Teacher


class MeanTeacher(Term):
    """``E_Q [max q >= threshold] |p - q|^2``: the student sees strong augmentations, the teacher the plain target.

    Args:
        decay: of the teacher.
        threshold: confidence below which the teacher is not followed.

    A squared distance of two distributions is at most two; a teacher who is never confident enough teaches nothing.

    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(MeanTeacher(threshold=0.0)) < 2
    True
    >>> loss_on_example(MeanTeacher(threshold=1.1))
    0.0
    """

    views = ("source", "target", "strong")
    augments = True
    ramped = True

    def __init__(self, decay: float = 0.99, threshold: float = 0.9) -> None:
        super().__init__()
        self.decay, self.threshold = decay, threshold

    def setup(self, problem: Problem) -> None:
        """Copy the model."""
        super().setup(problem)
        self.teacher = Teacher(problem.network, self.decay)

    def after_step(self, network: Network) -> None:
        """The teacher lags behind."""
        self.teacher.follow(network)

    def forward(self, step: Step) -> Tensor:
        """Squared distance to the confident part of the teacher's predictions [N, K], summed over classes; a scalar."""
        targets = self.teacher.probs(step.batch.target)
        confident = (targets.amax(-1) >= self.threshold).to(targets.dtype)
        return ((step.strong.probs - targets).square().sum(-1) * confident).mean()
