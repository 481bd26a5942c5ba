"""``E_Q S_alpha(f(x))`` with alpha chosen at the start of each epoch (Section 3.2, Appendix B.3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from cst.functional import ALPHAS, balanced_tsallis_entropy, select_alpha, tsallis_entropy
from cst.terms.contract import Epoch, Network, Problem, Step, Term
from cst.terms.cycle import Cycle

EVERY = 4
"""Samples of which one trains the heads of the selection; all of them judge."""


def start_of(network: Network) -> Tensor | None:
    """The source head as a matrix [d + 1, K], its last row the bias; None for one that is not linear.

    >>> from cst.models.model import Model
    >>> start_of(Model(nn.Identity(), nn.Linear(4, 3))).shape
    torch.Size([5, 3])
    """
    head = getattr(network, "head", None)
    if type(head) is not nn.Linear:
        return None
    bias = head.weight.new_zeros(head.out_features) if head.bias is None else head.bias
    return torch.cat([head.weight.detach().T, bias.detach().unsqueeze(0)]).float()


class Tsallis(Term):
    """Tsallis entropy of the target predictions.

    Args:
        alpha: the entropic index, or ``"auto"`` to select it each epoch by the round trip.
        samples: how many samples of each domain the selection uses.
        iterations: descent steps of the selection's source heads.
        balanced: let every class weigh the same (:func:`cst.functional.balanced_tsallis_entropy`).
        temperature: by which logits are divided.
        stride: what alpha may change by from one epoch to the next, one place of the grid: the selection is made on
            samples, and an epoch under a wrong alpha leaves predictions certain for good.

    The selection's target heads have the options of the term ``cycle`` where there is one.

    At alpha = 2 it is the Gini impurity, between 0 and ``1 - 1 / K``; at alpha = 1 the Gibbs entropy.

    >>> from cst.terms.entropy import Entropy
    >>> from cst.terms.example import loss_on_example
    >>> 0 < loss_on_example(Tsallis(alpha=2.0)) < 2 / 3
    True
    >>> plain = Tsallis(alpha=1.0, balanced=False, temperature=1.0)
    >>> abs(loss_on_example(plain) - loss_on_example(Entropy())) < 1e-5
    True
    >>> tsallis = Tsallis(alpha="auto")
    >>> _ = loss_on_example(tsallis)
    >>> 1 <= tsallis.metrics()["alpha"] <= 2
    True
    """

    ramped = True

    def __init__(
        self,
        alpha: float | str = "auto",
        samples: int = 1000,
        iterations: int = 5,
        balanced: bool = True,
        temperature: float = 2.5,
        stride: float = 0.1,
    ) -> None:
        super().__init__()
        if isinstance(alpha, str) and alpha != "auto":
            raise ValueError(f"tsallis: alpha must be a number or 'auto', got '{alpha}'.")
        if not isinstance(alpha, str) and not 0 < alpha <= 100:
            raise ValueError(f"tsallis: alpha must be positive, and at most 100, got {alpha}.")
        if samples < 2 or iterations < 1 or stride <= 0:
            raise ValueError("tsallis: samples must be at least 2, iterations at least 1, stride more than 0.")
        self.auto = alpha == "auto"
        self.samples, self.iterations, self.balanced, self.temperature = samples, iterations, balanced, temperature
        self.stride = stride
        self.round_trip: dict[str, Any] = {}
        self.tied = False
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
        selection = select_alpha(
            source_features,
            source_labels,
            target_features,
            self.num_classes,
            iterations=self.iterations,
            max_samples=self.samples,
            seed=epoch.number,
            every=EVERY,
            balanced=self.balanced,
            temperature=self.temperature,
            start=start_of(epoch.network),
            **self.round_trip,
        )
        present = float(self.alpha)
        self.alpha.fill_(round(present + max(-self.stride, min(self.stride, selection.alpha - present)), 4))
        self.losses.copy_(selection.losses)
        self.tied = len(selection.tied) > 1

    def forward(self, step: Step) -> Tensor:
        """Mean entropy of the batch's predictions [N, K], a scalar."""
        warm = self.temperature != 1.0
        probs = (step.target.logits / self.temperature).softmax(-1) if warm else step.target.probs
        if self.balanced:
            return balanced_tsallis_entropy(probs, self.alpha)
        return tsallis_entropy(probs, self.alpha).mean()

    def metrics(self) -> dict[str, Any]:
        """The alpha in force and, where it was selected, the losses of the candidates."""
        metrics: dict[str, Any] = {"alpha": round(float(self.alpha), 4)}
        if bool(self.losses.isfinite().all()):
            metrics["alpha_losses"] = [round(float(loss), 6) for loss in self.losses]
            metrics["alpha_tied"] = self.tied
        return metrics
