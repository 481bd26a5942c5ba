"""COAL: adaptation when the classes are imbalanced (Tan, Peng, Saenko, 2020)."""

from __future__ import annotations

from torch import Tensor

from cst.functional import tsallis_entropy
from cst.terms.cbst import CBST
from cst.terms.contract import Step
from cst.terms.reversal import reverse_gradient


class COAL(CBST):
    """Prototypes drawn to the target by minimax entropy, and class-balanced self-training.

    The head holds one prototype for each class and compares features with it by similarity (the head
    ``prototype``). The prototypes maximise the entropy on the target, which moves them towards it; the
    backbone minimises it, which gathers features around them: one loss, with the gradient reversed
    between them. Together with the sampling rule ``balanced``.

    Args:
        minimax: weight of the entropy.
        start, portion, growth, limit: of the self-training, as in ``cbst``.

    Before the self-training starts, the loss is ``-minimax`` times the mean entropy of the predictions.

    >>> from cst.terms.entropy import Entropy
    >>> from cst.terms.example import loss_on_example
    >>> abs(loss_on_example(COAL(minimax=0.5, start=1.0)) + 0.5 * loss_on_example(Entropy())) < 1e-5
    True
    """

    ramped = True

    def __init__(
        self,
        minimax: float = 0.1,
        start: float = 0.15,
        portion: float = 0.05,
        growth: float = 0.05,
        limit: float = 0.5,
    ) -> None:
        super().__init__(start, portion, growth, limit)
        self.minimax = minimax

    def forward(self, step: Step) -> Tensor:
        """Self-training minus the entropy, seen through a gradient reversal; a scalar."""
        reversed_features = reverse_gradient(step.target.features)
        logits = step.network.classify(reversed_features, "target", False)
        return super().forward(step) - self.minimax * tsallis_entropy(logits.softmax(-1), 1.0).mean()
