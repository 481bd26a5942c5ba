"""A model and the weighted sum of a method's terms, as one module: all that is trained, moved and checkpointed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from cst.grammar import make
from cst.methods import Method
from cst.terms.contract import Epoch, Network, Problem, Step, Term

SOURCE = "source"
LEARNED = 0.2
"""The source counts as learned when its loss falls by less than this part in an epoch."""
OF_WARM_UP = ("warm_until", "source_loss", "look", "signs", "held", "collapsed")
"""What a checkpoint keeps beside weights."""
LONGEST = 0.25
"""Of the run, that a warm-up without a fixed length may take."""


class Objective(nn.Module):
    """``sum_i w_i(t) term_i`` of a model; the weight of a ramped term grows linearly over the first epochs.

    During the warm-up the source's loss stands alone. A head that has learned nothing gives all samples one label, and
    features that are trained on such labels may never recover.

    Args:
        method: names the terms and their weights.
        model: what they train.
        num_classes: K.
        feature_dim: d.
        num_target: samples in the target.
        ramp_epochs: over which the weight of ramped terms grows.
        warmup_epochs: on the source alone; ``"auto"`` until it is learned (`end_epoch`).
    """

    def __init__(
        self,
        method: Method,
        model: Network,
        *,
        num_classes: int,
        feature_dim: int,
        num_target: int,
        ramp_epochs: float = 0.0,
        warmup_epochs: float | str = 0.0,
    ) -> None:
        super().__init__()
        self.model = model
        self.terms = nn.ModuleDict({part.name: make(part) for part in method.terms})
        problem = Problem(num_classes, feature_dim, num_target, model, dict(self.items()))
        for _, term in self.items():
            term.setup(problem)
        self.weights = {part.name: part.weight for part in method.terms}
        self.ramp_epochs = ramp_epochs
        self.warm_until = math.inf if isinstance(warmup_epochs, str) else warmup_epochs
        self.source_loss = math.inf
        self.look: dict[str, Any] = {}
        self.signs: dict[str, Any] = {}
        self.collapsed = False
        self.held = False

    @property
    def views(self) -> frozenset[str]:
        """Every view that some term reads."""
        return frozenset(view for _, term in self.items() for view in term.views)

    def items(self) -> list[tuple[str, Term]]:
        """Names and terms."""
        return list(self.terms.items())  # type: ignore[arg-type]

    def weight(self, name: str, epochs: float) -> float:
        """The weight of a term after ``epochs`` epochs."""
        term = self.terms[name]
        assert isinstance(term, Term)
        if self._waits(name, epochs):
            return 0.0
        since = epochs - self.warm_until
        ramp = min(1.0, since / self.ramp_epochs) if term.ramped and self.ramp_epochs else 1.0
        return self.weights[name] * ramp

    def progress(self, epochs: float, total: int) -> float:
        """The share of the run after the warm-up that has passed, 0 to 1: schedules of terms follow it."""
        return 0.0 if epochs <= self.warm_until else (epochs - self.warm_until) / (total - self.warm_until)

    def _waits(self, name: str, epochs: float) -> bool:
        return name != SOURCE and epochs < self.warm_until

    def forward(self, step: Step) -> dict[str, Tensor]:
        """Every term's loss, unweighted, and the weighted total."""
        active = [(name, term) for name, term in self.items() if not self._waits(name, step.epochs)]
        silent = {name for _, term in active for name in term.replaces(step)}
        losses = {name: _called(name, term, step) for name, term in active if name not in silent}
        parts = [self.weight(name, step.epochs) * loss for name, loss in losses.items()]
        losses["total"] = sum(parts[1:], start=parts[0])
        return losses

    def after_step(self) -> None:
        """Tell every term that the weights have changed."""
        for _, term in self.items():
            term.after_step(self.model)

    def start_epoch(self, epoch: Epoch) -> None:
        """Tell every term that will have a part in it."""
        for name, term in self.items():
            if name == SOURCE or epoch.number + 1 > self.warm_until:
                _called(name, term.start_epoch, epoch)

    def end_epoch(self, epochs: int, total: int, source_loss: float) -> None:
        """End a warm-up of open length: when the source's loss falls by less than a part, or a share has passed.

        Args:
            epochs: that have passed.
            total: of the run.
            source_loss: its mean over the last of them.
        """
        if self.warm_until == math.inf and not self.held:
            slow = source_loss > (1 - LEARNED) * self.source_loss
            if slow or epochs >= LONGEST * total:
                self.warm_until = float(epochs)
        self.source_loss = source_loss

    def is_adapted(self, epochs: float) -> bool:
        """Whether the model after so many epochs is one to choose: the warm-up is over, or there is nothing else."""
        return len(self.terms) == 1 or self.held or epochs >= self.warm_until

    def begins(self, epochs: float) -> bool:
        """Whether the warm-up is just over, and more is to come than the source."""
        return 0 < self.warm_until <= epochs and not self.look and len(self.terms) > 1

    def remember(self, look: Mapping[str, Any], signs: Mapping[str, Any]) -> None:
        """Keep what the source model makes of the target, for the records, for calibration and for the verdict."""
        self.signs = dict(signs)
        self.look = {f"first_{name}": value for name, value in look.items() if value is not None}

    def hold(self) -> None:
        """Stay with the source for the rest of the run."""
        self.held, self.warm_until = True, math.inf

    def get_extra_state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the warm-up."""
        return {name: getattr(self, name) for name in OF_WARM_UP}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Go on with the warm-up of a checkpoint."""
        for name in OF_WARM_UP:
            setattr(self, name, state.get(name, getattr(self, name)))

    def metrics(self) -> dict[str, object]:
        """What the terms have to say of the epoch."""
        values = {key: value for _, term in self.items() for key, value in term.metrics().items()}
        values |= {**self.look, **({"held": True} if self.held else {})}
        return {key: value.tolist() if isinstance(value, Tensor) else value for key, value in values.items()}


def _called(name: str, part: Callable[[Any], Any], seen: Any) -> Any:
    """What a term makes of a step or an epoch; its name stands with a system of equations without a solution."""
    try:
        return part(seen)
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        error.add_note(name)
        raise
