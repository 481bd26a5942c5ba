"""Self-ensembling with a mean teacher (Tarvainen & Valpola, 2017; French et al., 2018)."""

from __future__ import annotations

from torch import Tensor

from cst.terms.contract import Network, Problem, Step, Term
from cst.terms.teacher import Teacher


class MeanTeacher(Term):
    """``E_Q [max q >= threshold] |p - q|^2``: the student's strong view follows the teacher's plain view.

    Args:
        problem: sizes.
        decay: of the teacher.
        threshold: confidence below which the teacher is not followed.
    """

    views = ("source", "target", "strong")
    random_views = True
    ramped = True

    def __init__(self, problem: Problem, decay: float = 0.99, threshold: float = 0.9) -> None:
        super().__init__(problem)
        self.decay, self.threshold = decay, threshold

    def attach(self, network: Network) -> None:
        """Copy the model."""
        self.teacher = Teacher(network, self.decay)

    def after_step(self, network: Network) -> None:
        """The teacher lags behind."""
        self.teacher.follow(network)

    def forward(self, step: Step) -> Tensor:
        """Squared distance to the confident part of the teacher's predictions, summed over classes."""
        wanted = self.teacher.probs(step.batch.target)
        confident = (wanted.amax(-1) >= self.threshold).to(wanted.dtype)
        return ((step.strong.probs - wanted).square().sum(-1) * confident).mean()
