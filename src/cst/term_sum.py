"""Terms in a training loop of one's own: features and logits of both domains go in, one loss comes out."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from cst.grammar import as_method, make
from cst.methods import AUTO
from cst.terms.contract import Batch, Epoch, Problem, Step, Term

GATHERED = 1000
"""Samples of each domain that are kept for what terms do between epochs."""


class TermSum(nn.Module):
    """The weighted sum of a method's terms, for a loop that computes features and logits itself.

    The loss on the source's labels stays with the loop. Terms may have parameters of their own (the discriminator of
    ``dann``): give them to the optimizer. Whatever reads more than features, logits and labels of a batch (other
    views of the inputs, passes of its own, labels of the whole target) is refused when the sum is made.

    Args:
        method: a name, a sum of terms, or terms as objects.
        num_classes: K.
        feature_dim: d.

    Attributes:
        losses: of each term in the last batch, without its weight.

    >>> _ = torch.manual_seed(0)
    >>> extra = TermSum("cycle+tsallis(alpha=1.9)", num_classes=3, feature_dim=5)
    >>> features, labels, head = torch.randn(12, 5), torch.arange(12) % 3, nn.Linear(5, 3)
    >>> loss = extra(features, labels, features + 0.5, head(features + 0.5))
    >>> bool(abs(loss - sum(extra.losses.values())) < 1e-6), list(extra.losses)
    (True, ['cycle', 'tsallis'])
    """

    def __init__(self, method: str | Term | Iterable[str | Term], *, num_classes: int, feature_dim: int) -> None:
        super().__init__()
        chosen = as_method(method)
        parts = [part for part in chosen.terms if part.name != "source"]
        rules = [rule.name for rule in (chosen.update, chosen.sampling) if rule.name not in ("sgd", "uniform")]
        if chosen is AUTO or rules:
            what = "trains several models" if chosen is AUTO else f"asks for {' and '.join(rules)}"
            raise ValueError(f"method='{chosen.name}' {what}, which is no sum of terms: train it with cst.adapt.")
        if not parts:
            raise ValueError(f"method='{chosen.name}' adds nothing to the source's loss: name a term, such as cycle.")
        self.num_classes, self.feature_dim = num_classes, feature_dim
        self.terms = nn.ModuleDict({part.name: make(part) for part in parts})
        self.weights = {part.name: part.weight for part in parts}
        self.losses: dict[str, Tensor] = {}
        self.epochs = 0
        self._batches: deque[tuple[Tensor, Tensor, Tensor]] = deque()
        problem = Problem(
            num_classes, feature_dim, 1, _Given(), dict(self._items())
        )  # how large the target is, nobody says
        for name, term in self._items():
            _set_up(name, term, problem)

    def _items(self) -> list[tuple[str, Term]]:
        return list(self.terms.items())  # type: ignore[arg-type]

    def forward(
        self,
        source_features: Tensor,
        source_labels: Tensor,
        target_features: Tensor,
        target_logits: Tensor,
        source_logits: Tensor | None = None,
        progress: float = 1.0,
    ) -> Tensor:
        """The loss to add, a scalar.

        Args:
            source_features: Z_s [N_s, d].
            source_labels: integers [N_s].
            target_features: Z_t [N_t, d].
            target_logits: of the loop's own head on Z_t [N_t, K].
            source_logits: of the same head on Z_s [N_s, K], where a term reads them (``cdan``, ``jan``, ``mdd``).
            progress: the share of the run that has passed; the reversed gradient of ``dann`` follows it.
        """
        for name, features in (("source_features", source_features), ("target_features", target_features)):
            if features.ndim != 2 or features.shape[1] != self.feature_dim:
                raise ValueError(f"{name}= must be [N, {self.feature_dim}], got {tuple(features.shape)}.")
        if target_logits.shape != (len(target_features), self.num_classes):
            shape = f"[{len(target_features)}, {self.num_classes}]"
            raise ValueError(f"target_logits= must be {shape}, got {tuple(target_logits.shape)}.")
        network = _Given(source_logits, target_logits)
        step = _step(network, source_features, source_labels, target_features, self.epochs, progress)
        losses = {name: term(step) for name, term in self._items()}
        self.losses = {name: loss.detach() for name, loss in losses.items()}
        if self.training:
            self._gather(source_features, source_labels, target_features)
        parts = [self.weights[name] * loss for name, loss in losses.items()]
        total: Tensor = sum(parts[1:], start=parts[0])
        return total

    def start_epoch(self, head: nn.Module) -> None:
        """Let the terms do what they do between epochs: with ``tsallis`` in the sum, select alpha.

        Args:
            head: the loop's own, features [N, d] -> logits [N, K]; the heads of the selection begin at a linear one.
        """
        if self._batches:
            network = _Given()
            network.head = head
            for _, term in self._items():
                term.start_epoch(_epoch(self.epochs, network, self._gathered()))
        self.epochs += 1

    def metrics(self) -> dict[str, Any]:
        """What the terms have to say of themselves: alpha, for instance."""
        return {key: value for _, term in self._items() for key, value in term.metrics().items()}

    def _gather(self, *batch: Tensor) -> None:
        self._batches.append(tuple(part.detach() for part in batch))  # type: ignore[arg-type]
        while len(self._batches) > 1 and sum(len(labels) for _, labels, _ in self._batches) > GATHERED:
            self._batches.popleft()

    def _gathered(self) -> tuple[Tensor, Tensor, Tensor]:
        source, labels, target = (torch.cat(parts) for parts in zip(*self._batches, strict=True))
        return source, labels, target


class _Given:
    """The network of a step whose features and logits somebody else has computed: it knows nothing besides."""

    shared_statistics = False
    head: nn.Module

    def __init__(self, source: Tensor | None = None, target: Tensor | None = None) -> None:
        self._logits = {"source": source, "target": target}

    def through(self, part: nn.Module, inputs: Tensor, domain: str, track: bool = True) -> Tensor:
        return part(inputs)  # type: ignore[no-any-return]

    def features(self, inputs: Tensor, domain: str, track: bool = True) -> Tensor:
        return inputs

    def classify(self, features: Tensor, domain: str, track: bool = True) -> Tensor:
        logits = self._logits[domain]
        if logits is None:
            raise ValueError(f"{domain}_logits= is missing, and a term of the sum reads it.")
        if logits.shape[0] != features.shape[0]:
            raise LookupError("Features that the loop has not computed have no logits.")
        return logits

    def continuous(self, inputs: Tensor) -> Tensor:
        raise LookupError("The loop gives features, and no inputs.")

    def without_dropout(self) -> AbstractContextManager[None]:
        return nullcontext()


class _Nothing:
    """The whole of a domain, which a loop does not give."""

    @property
    def features(self) -> Tensor:
        raise LookupError("The loop gives batches, and no whole domains.")

    @property
    def logits(self) -> Tensor:
        raise LookupError("The loop gives batches, and no whole domains.")


def _step(network: _Given, source: Tensor, labels: Tensor, target: Tensor, epochs: float, progress: float) -> Step:
    nowhere = torch.empty(0, dtype=torch.long)
    return Step(network, Batch(source, labels, target, nowhere), epochs=epochs, progress=progress)


def _epoch(number: int, network: _Given, gathered: tuple[Tensor, Tensor, Tensor]) -> Epoch:
    return Epoch(number, number + 1, network, _Nothing(), _Nothing(), lambda: gathered)


def _set_up(name: str, term: Term, problem: Problem) -> None:
    """Set a term up, and try a copy of it on noise: what it cannot have is told before training."""
    try:
        views = set(term.views) - {"source", "target"} or term.augments or term.perturbs or term.mixes
        if views or type(term).after_step is not Term.after_step:
            raise LookupError
        term.setup(problem)
        with torch.random.fork_rng():
            labels = torch.arange(4 * problem.num_classes) % problem.num_classes
            features = torch.randn(2, len(labels), problem.feature_dim)
            logits = torch.randn(2, len(labels), problem.num_classes)
            trial, network = copy.deepcopy(term), _Given(*logits)
            network.head = nn.Linear(problem.feature_dim, problem.num_classes)
            trial.start_epoch(_epoch(9, network, (features[0], labels, features[1])))
            del network.head
            trial(_step(network, features[0], labels, features[1], 9.0, 1.0))
    except (LookupError, AttributeError, AssertionError):
        raise ValueError(
            f"method=: the term {name} reads more than features, logits and labels of a batch: train it with cst.adapt."
        ) from None
