"""DIRT-T: refine an adapted model on the target alone, held back by a teacher (Shu et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.terms.contract import Epoch, Network, Problem, Step, Term
from cst.terms.teacher import Teacher
from cst.terms.vat import divergence


class Refine(Term):
    """From ``start`` on, ``E_Q KL(p_teacher || p)`` takes the place of the source loss and of the discriminator.

    What remains beside it are the terms that live on the target (VAT and conditional entropy). The teacher
    is the model as it was when the refinement began, and then follows it slowly.

    Args:
        problem: sizes.
        start: share of the run after which the refinement begins.
        decay: of the teacher.
    """

    def __init__(self, problem: Problem, start: float = 0.7, decay: float = 0.99) -> None:
        super().__init__(problem)
        self.start, self.decay = start, decay
        self.begun: Tensor
        self.register_buffer("begun", torch.tensor(False))

    def attach(self, network: Network) -> None:
        """Copy the model."""
        self.network = [network]
        self.teacher = Teacher(network, self.decay)

    def start_epoch(self, epoch: Epoch) -> None:
        """Begin with the model as it is."""
        if epoch.number >= min(self.start * epoch.total, epoch.total - 1) and not self.begun:
            self.teacher.follow(self.network[0], decay=0.0)
            self.begun.fill_(True)

    def after_step(self, network: Network) -> None:
        """The teacher moves once there is something to refine."""
        if self.begun:
            self.teacher.follow(network)

    def replaces(self, step: Step) -> tuple[str, ...]:
        """The source and its discriminator are no longer asked."""
        return ("source", "dann") if self.begun else ()

    def forward(self, step: Step) -> Tensor:
        """The distance to the teacher."""
        if not self.begun:
            return step.target.logits.sum() * 0
        return divergence(self.teacher.probs(step.batch.target), step.target.logits)
