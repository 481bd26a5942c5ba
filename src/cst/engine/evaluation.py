"""A model's view of whole domains, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from cst.data.labels import UNKNOWN
from cst.data.loading import own_in_order
from cst.data.samples import Samples
from cst.data.task import EncodedTask
from cst.engine.metrics import METRICS
from cst.functional import pseudo_labels
from cst.models.model import Model
from cst.ranks.rows import gathered

EVALUATION_BATCH = 128


class DomainView:
    """All samples of a domain as a model sees them in evaluation mode, on the CPU; computed on demand, once.

    Args:
        model: at its present weights.
        samples: of the domain.
        domain: whose batch-norm statistics are used.
        workers: processes that read files.
    """

    def __init__(self, model: Model, samples: Samples, domain: str = "target", workers: int | None = None) -> None:
        self.model, self.samples, self.domain, self.workers = model, samples, domain, workers

    @cached_property
    def features(self) -> Tensor:
        """``h_phi(x)`` [N, d]."""
        with evaluating(self.model):
            return self._stacked(self._features())

    @cached_property
    def logits(self) -> Tensor:
        """``g_theta_s(h_phi(x))`` [N, K]; features that nobody asked for are not kept."""
        if "features" in self.__dict__:
            blocks: Iterator[Tensor] = (
                block.to(self._device, self._dtype) for block in torch.split(self.features, EVALUATION_BATCH)
            )
        else:
            blocks = self._features()
        with evaluating(self.model):
            return self._stacked(self.model.classify(block, self.domain) for block in blocks)

    def _stacked(self, blocks: Iterable[Tensor]) -> Tensor:
        """All blocks in one tensor; a list of a million small ones would keep memory from being used again."""
        whole, start = torch.empty(0), 0
        for block in blocks:
            if not start:
                whole = torch.empty(len(self.samples), *block.shape[1:])
            whole[start : start + len(block)] = block
            start += len(block)
        return whole

    def blocks(self) -> Iterator[Tensor]:
        """The features [n, d], of so many samples at a time, which are not kept."""
        if "features" in self.__dict__:
            yield from self.split(self.features)
            return
        with evaluating(self.model):
            for features in self._features():
                yield features.float().cpu()

    def split(self, values: Tensor) -> tuple[Tensor, ...]:
        """Values of all samples, in the same blocks."""
        return torch.split(values, EVALUATION_BATCH)

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.model.parameters()).dtype

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _features(self) -> Iterator[Tensor]:
        what = f"predicting the {self.domain}"
        for inputs, count in own_in_order(self.samples, EVALUATION_BATCH, self.workers, what):
            yield gathered(self.model.features_of_rows(inputs.to(self._device), self.domain), count)


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Within it a model is in evaluation mode, and nothing is differentiated."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


class Evaluation:
    """What figures are computed from: both domains as a model sees them, and what the oracle knows.

    Args:
        model: at its present weights.
        task: its data.
        workers: processes that read files.
    """

    def __init__(self, model: Model, task: EncodedTask, workers: int | None = None) -> None:
        self.task = task
        self.num_classes: int = task.num_classes
        self.source = DomainView(model, task.source, "source", workers)
        self.target = DomainView(model, task.target, "target", workers)
        test = task.oracle.test
        self.test = None if test is None else DomainView(model, test.inputs, "target", workers)

    @property
    def source_labels(self) -> Tensor:
        """Of the source [N]."""
        return self.task.labels

    @cached_property
    def pseudo_labels(self) -> Tensor:
        """Of the whole target [M]."""
        return pseudo_labels(self.target.logits)

    @cached_property
    def known(self) -> tuple[Tensor, Tensor] | None:
        """Pseudo-labels and labels of those target samples that have one (oracle)."""
        truth = self.task.oracle.target_labels
        if truth is None:
            return None
        return self.pseudo_labels[truth != UNKNOWN], truth[truth != UNKNOWN]

    @cached_property
    def judged(self) -> tuple[Tensor, Tensor] | None:
        """Predictions and labels that accuracy is measured on: the test set's if there is one (oracle)."""
        return None if self.judged_probs is None else (self.judged_probs[0].argmax(-1), self.judged_probs[1])

    @cached_property
    def judged_probs(self) -> tuple[Tensor, Tensor] | None:
        """Probabilities and labels of the same samples (oracle)."""
        truth = self.task.oracle.target_labels
        if self.test is not None:
            assert self.task.oracle.test is not None
            return self._probs(self.test), self.task.oracle.test.labels
        return None if truth is None else (self._probs(self.target)[truth != UNKNOWN], truth[truth != UNKNOWN])

    def _probs(self, view: DomainView) -> Tensor:
        return (view.logits / view.model.temperature).softmax(-1)

    def figures(self, oracle: bool) -> dict[str, Any]:
        """Every metric that can be computed, of those that look at the target's labels or of the others."""
        values = {m.name: m.compute(self) for m in METRICS.values() if m.compute and m.oracle == oracle}
        return {name: _rounded(value) for name, value in values.items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, Tensor) and value.ndim:
        return [round(float(part), 6) for part in value]
    return round(float(value), 6)


def evaluate(model: Model, task: EncodedTask, workers: int | None = None) -> dict[str, Any]:
    """All figures of a finished model: the round trip, the pseudo-labels, and the oracle's if there are labels."""
    evaluation = Evaluation(model, task, workers)
    return {**evaluation.figures(oracle=False), "oracle": evaluation.figures(oracle=True)}
