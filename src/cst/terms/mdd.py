"""MDD: margin disparity discrepancy with an adversarial head (Zhang et al., 2019)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cst.functional import pseudo_labels
from cst.terms.contract import Problem, Step, Term
from cst.terms.reversal import reverse_gradient, warm_start

ABSENT = -1e4
WIDTH = 256


class MDD(Term):
    """``gamma E_P CE(f', f) + E_Q -log(1 - p'_f)``: f' agrees with f on the source and contradicts it on the target.

    The backbone gets the reversed gradient; the source head gets none.

    Args:
        margin: gamma, the weight of the source part.
        strength: scale of the reversed gradient at the end of training.
        present: mask the classes that do not occur among the batch's source labels, as implicit
            alignment does together with the sampling rule ``ia``.

    The strength changes the gradient and not the loss, which grows with the margin in proportion.

    >>> from cst.terms.example import loss_on_example
    >>> loss_on_example(MDD(strength=0.1)) == loss_on_example(MDD(strength=1.0))
    True
    >>> none, two, four = (loss_on_example(MDD(margin=margin)) for margin in (0.0, 2.0, 4.0))
    >>> none > 0, abs((four - none) - 2 * (two - none)) < 1e-4
    (True, True)
    """

    def __init__(self, margin: float = 4.0, strength: float = 0.1, present: bool = False) -> None:
        super().__init__()
        self.margin, self.strength, self.present = margin, strength, present

    def setup(self, problem: Problem) -> None:
        """Make the adversary f': features [N, d] -> logits [N, K]."""
        super().setup(problem)
        # Two layers, as its authors have it: a linear adversary lags behind the backbone, and the game diverges.
        self.adversary = nn.Sequential(
            nn.Linear(problem.feature_dim, WIDTH), nn.ReLU(), nn.Linear(WIDTH, problem.num_classes)
        )

    def forward(self, step: Step) -> Tensor:
        """The disparity, a scalar, to be minimised by the adversary and maximised by the backbone."""
        scale = self.strength * warm_start(step.progress)
        absent = self._absent(step.labels)
        losses = []
        for view, disparity in ((step.source, F.cross_entropy), (step.target, _contradiction)):
            logits = self.adversary(reverse_gradient(view.features, scale)).masked_fill(absent, ABSENT)
            agreed = pseudo_labels(view.logits.detach().masked_fill(absent, ABSENT))
            losses.append(disparity(logits, agreed))
        return self.margin * losses[0] + losses[1]

    def _absent(self, labels: Tensor) -> Tensor:
        """Which classes [K] are masked."""
        absent = torch.zeros(self.num_classes, dtype=torch.bool, device=labels.device)
        if self.present:
            absent[:] = True
            absent[labels] = False
        return absent


def _contradiction(logits: Tensor, labels: Tensor) -> Tensor:
    """``E -log(1 - p_y)``, stable for p_y near one: ``logsumexp(all) - logsumexp(others)``."""
    others = logits.scatter(1, labels.unsqueeze(1), ABSENT)
    return (logits.logsumexp(1) - others.logsumexp(1)).mean()
