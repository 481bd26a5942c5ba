"""``E_Q S_alpha(f(x))`` with alpha chosen at the start of each epoch (Section 3.2, Appendix B.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.functional import ALPHAS, select_alpha, tsallis_entropy
from cst.terms.contract import Epoch, Problem, Step, Term


class Tsallis(Term):
    """Tsallis entropy of the target predictions.

    Args:
        problem: sizes.
        alpha: the entropic index, or ``"auto"`` to select it each epoch by the round trip.
        samples: how many samples of each domain the selection uses.
        iterations: descent steps of the selection's source heads.
        l2, normalize, bias, centred: of the selection's target heads, as in ``cycle``.
    """

    ramped = True

    def __init__(
        self,
        problem: Problem,
        alpha: float | str = "auto",
        samples: int = 1000,
        iterations: int = 50,
        l2: float = 1e-3,
        normalize: bool = False,
        bias: bool = False,
        centred: bool = False,
    ) -> None:
        super().__init__(problem)
        if isinstance(alpha, str) and alpha != "auto":
            raise ValueError(f"tsallis: alpha must be a number or 'auto', got '{alpha}'.")
        self.auto = alpha == "auto"
        self.samples, self.iterations = samples, iterations
        self.round_trip = {"l2": l2, "normalize": normalize, "bias": bias, "centred": centred}
        self.alpha: Tensor
        self.losses: Tensor
        self.register_buffer("alpha", torch.tensor(ALPHAS[-1] if isinstance(alpha, str) else float(alpha)))
        self.register_buffer("losses", torch.full((len(ALPHAS),), float("nan")))

    def start_epoch(self, epoch: Epoch) -> None:
        """Select alpha on the features gathered so far."""
        if not self.auto:
            return
        source_features, source_labels, target_features = epoch.features()
        alpha, losses = select_alpha(
            source_features,
            source_labels,
            target_features,
            self.problem.num_classes,
            iterations=self.iterations,
            max_samples=self.samples,
            seed=epoch.number,
            **self.round_trip,  # type: ignore[arg-type]
        )
        self.alpha.fill_(alpha)
        self.losses.copy_(losses)

    def forward(self, step: Step) -> Tensor:
        """Mean entropy of the batch."""
        return tsallis_entropy(step.target.probs, self.alpha).mean()

    def metrics(self) -> dict[str, object]:
        """The alpha in force and, where it was selected, the losses of the candidates."""
        found: dict[str, object] = {"alpha": round(float(self.alpha), 4)}
        if self.auto:
            found["alpha_losses"] = [round(float(loss), 6) for loss in self.losses]
        return found
