"""The weighted sum of a method's terms, as one module."""

from __future__ import annotations

from torch import Tensor, nn

from cst.grammar import make
from cst.methods import Method
from cst.models.model import Model
from cst.terms.contract import Epoch, Network, Problem, Step, Term

SOURCE = "source"


class Objective(nn.Module):
    """``sum_i w_i(t) term_i``; the weight of a ramped term grows linearly over the first epochs.

    During the warm-up the source's loss stands alone. A head that has learned nothing gives all samples one label, and
    features that are trained on such labels may never recover.
    """

    def __init__(self, method: Method, problem: Problem, ramp_epochs: float, warmup_epochs: float = 0.0) -> None:
        super().__init__()
        self.terms = nn.ModuleDict({part.name: make(part, problem) for part in method.terms})
        for _, term in self.items():
            term.meet(dict(self.items()))
        self.weights = {part.name: part.weight for part in method.terms}
        self.ramp_epochs, self.warmup_epochs = ramp_epochs, warmup_epochs

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
        since = epochs - self.warmup_epochs
        ramp = min(1.0, since / self.ramp_epochs) if term.ramped and self.ramp_epochs else 1.0
        return self.weights[name] * ramp

    def _waits(self, name: str, epochs: float) -> bool:
        return name != SOURCE and epochs < self.warmup_epochs

    def forward(self, step: Step) -> dict[str, Tensor]:
        """Every term's loss, unweighted, and the weighted total."""
        active = [(name, term) for name, term in self.items() if not self._waits(name, step.epochs)]
        silent = {name for _, term in active for name in term.replaces(step)}
        losses = {name: term(step) for name, term in active if name not in silent}
        parts = [self.weight(name, step.epochs) * loss for name, loss in losses.items()]
        losses["total"] = sum(parts[1:], start=parts[0])
        return losses

    def attach(self, network: Network) -> None:
        """Show every term the model."""
        for _, term in self.items():
            term.attach(network)

    def after_step(self, network: Network) -> None:
        """Tell every term that the weights have changed."""
        for _, term in self.items():
            term.after_step(network)

    def start_epoch(self, epoch: Epoch) -> None:
        """Tell every term."""
        for _, term in self.items():
            term.start_epoch(epoch)

    def metrics(self) -> dict[str, object]:
        """What the terms have to say of the epoch."""
        return {key: value for _, term in self.items() for key, value in term.metrics().items()}


class Learner(nn.Module):
    """Model and objective together: all that is trained, moved and checkpointed."""

    def __init__(self, model: Model, objective: Objective) -> None:
        super().__init__()
        self.model, self.objective = model, objective

    def forward(self, step: Step) -> dict[str, Tensor]:
        """The losses of a step."""
        return self.objective(step)  # type: ignore[no-any-return]
