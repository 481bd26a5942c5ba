"""``E_Q S_alpha(f(x))`` with alpha chosen at the start of each epoch (Section 3.2, Appendix B.3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from cst.functional import ALPHAS, select_alpha, tsallis_entropy
from cst.terms.contract import Epoch, Problem, Step, Term
from cst.terms.cycle import Cycle


class Tsallis(Term):
    """Tsallis entropy of the target predictions.

    Args:
        alpha: the entropic index, or ``"auto"`` to select it each epoch by the round trip.
        samples: how many samples of each domain the selection uses.
        iterations: descent steps of the selection's source heads.

    The selection's target heads have the options of the term ``cycle`` where there is one.

    At alpha = 2 it is the Gini impurity, between 0 and ``1 - 1 / K``; at alpha = 1 the Gibbs entropy.

    >>> from cst.terms.entropy import Entropy
    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(Tsallis(alpha=2.0)) < 2 / 3
    True
    >>> abs(loss_on_example(Tsallis(alpha=1.0)) - loss_on_example(Entropy())) < 1e-5
    True
    >>> tsallis = Tsallis(alpha="auto")
    >>> _ = loss_on_example(tsallis)
    >>> 1 <= tsallis.metrics()["alpha"] <= 2
    True
    """

    ramped = True

    def __init__(self, alpha: float | str = "auto", samples: int = 1000, iterations: int = 50) -> None:
        super().__init__()
        if isinstance(alpha, str) and alpha != "auto":
            raise ValueError(f"tsallis: alpha must be a number or 'auto', got '{alpha}'.")
        if not isinstance(alpha, str) and alpha <= 0:
            raise ValueError(f"tsallis: alpha must be positive, got {alpha}.")
        if samples < 2 or iterations < 1:
            raise ValueError("tsallis: samples must be at least 2 and iterations at least 1.")
        self.auto = alpha == "auto"
        self.samples, self.iterations = samples, iterations
        self.round_trip: dict[str, Any] = {}
        self.alpha: Tensor
        self.losses: Tensor
        self.register_buffer("alpha", torch.tensor(ALPHAS[-1] if isinstance(alpha, str) else float(alpha)))
        self.register_buffer("losses", torch.full((len(ALPHAS),), float("nan")))

    def setup(self, problem: Problem) -> None:
        """Take over the cycle term's options."""
        super().setup(problem)
        cycle = problem.terms.get("cycle")
        if isinstance(cycle, Cycle):
            self.round_trip = cycle.options()

    def start_epoch(self, epoch: Epoch) -> None:
        """Select alpha on the features gathered so far."""
        if not self.auto:
            return
        source_features, source_labels, target_features = epoch.gathered()
        alpha, losses = select_alpha(
            source_features,
            source_labels,
            target_features,
            self.num_classes,
            iterations=self.iterations,
            max_samples=self.samples,
            seed=epoch.number,
            **self.round_trip,
        )
        self.alpha.fill_(alpha)
        self.losses.copy_(losses)

    def forward(self, step: Step) -> Tensor:
        """Mean entropy of the batch's predictions [N, K], a scalar."""
        return tsallis_entropy(step.target.probs, self.alpha).mean()

    def metrics(self) -> dict[str, Any]:
        """The alpha in force and, where it was selected, the losses of the candidates."""
        metrics: dict[str, Any] = {"alpha": round(float(self.alpha), 4)}
        if self.auto:
            metrics["alpha_losses"] = [round(float(loss), 6) for loss in self.losses]
        return metrics
