"""DIRT-T: refine an adapted model on the target alone, held back by a teacher (Shu et al., 2018)."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.terms.contract import Epoch, Network, Problem, Step, Term
from cst.terms.teacher import Teacher
from cst.terms.vat import divergence

OF_SOURCE = ("source", "source-vat", "dann")


class Refine(Term):
    """From ``start`` on, ``E_Q KL(p_teacher || p)`` takes the place of all terms that look at the source.

    These are the source's loss, its smoothness and the discriminator; VAT and conditional entropy of the target
    remain. The teacher is the model as it was when the refinement began, and then follows it slowly.

    Args:
        start: share of the run after which the refinement begins.
        decay: of the teacher.

    The refinement begins with the model as its own teacher, at a distance of zero.

    >>> from cst.terms.example import example_step, loss_on_example
    >>> refine = Refine()
    >>> abs(loss_on_example(refine)) < 1e-6, refine.replaces(example_step())
    (True, ('source', 'source-vat', 'dann'))
    """

    def __init__(self, start: float = 0.7, decay: float = 0.99) -> None:
        super().__init__()
        self.start, self.decay = start, decay
        self.begun: Tensor
        self.register_buffer("begun", torch.tensor(False))
        self.refining = False

    def setup(self, problem: Problem) -> None:
        """Copy the model."""
        super().setup(problem)
        self.teacher = Teacher(problem.network, self.decay)

    def start_epoch(self, epoch: Epoch) -> None:
        """Begin with the model as it is."""
        if epoch.number >= min(self.start * epoch.total, epoch.total - 1) and not self.begun:
            self.teacher.jump(epoch.network)
            self.begun.fill_(True)
        # The buffer is what a checkpoint brings back; steps read this copy of it and need not wait for a device.
        self.refining = bool(self.begun)

    def after_step(self, network: Network) -> None:
        """The teacher moves once there is something to refine."""
        if self.refining:
            self.teacher.follow(network)

    def replaces(self, step: Step) -> tuple[str, ...]:
        """The source is no longer asked."""
        return OF_SOURCE if self.refining else ()

    def forward(self, step: Step) -> Tensor:
        """The distance to the teacher's predictions [N, K], a scalar."""
        if not self.refining:
            return step.target.logits.sum() * 0
        return divergence(self.teacher.probs(step.batch.target), step.target.logits)
