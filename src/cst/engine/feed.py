"""What reaches the model: batches of both domains, read ahead of time, augmented, on its device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from torch import Tensor

from cst.data.augmentations import Augmentations, of_each_domain
from cst.data.loading import prefetch
from cst.data.samples import Samples, own_rows
from cst.data.task import EncodedTask
from cst.data.views import StrongViews
from cst.ranks.rows import gathered
from cst.sampling.rules import Uniform
from cst.terms.contract import Batch

StepInputs = tuple[Tensor, Tensor, Tensor, Tensor]
"""Positions in the source, positions in the target, and the inputs at both."""


class Feed:
    """The batch of any step, by its number.

    Args:
        task: the data.
        sampler: which samples meet in a step.
        seed: of the random parts of files.
        augment: the augmentation of each domain, such as ``mild/flip``.
        augmentations: those that suit the data.
        strong: makes strong views of target samples, where some term reads them.
        workers: processes that read ahead.
        to_device: moves a batch to where the model is.
    """

    def __init__(
        self,
        task: EncodedTask,
        sampler: Uniform,
        seed: int,
        augment: str,
        augmentations: Augmentations,
        strong: StrongViews | None,
        workers: int,
        to_device: Callable[[Any], Any],
    ) -> None:
        self.task, self.sampler, self.seed, self.workers = task, sampler, seed, workers
        self.augment, self.augmentations, self.strong = of_each_domain(augment), augmentations, strong
        self.to_device = to_device

    def batches(self, steps: range) -> Iterator[tuple[int, Batch]]:
        """The numbers of steps and their batches, in order."""
        for number, inputs in zip(steps, prefetch(self._read(), steps, self.workers), strict=True):
            yield number, self._batch(inputs)

    def batch(self, step: int) -> Batch:
        """The batch of one step."""
        return self._batch(self._read()(step))

    def _read(self) -> Callable[[int], StepInputs]:
        """What reads the samples of a step, here or in a worker process."""
        crops = tuple(self.augmentations.crops and name == "mild" for name in self.augment)
        return partial(read_step, self.sampler, self.task.source, self.task.target, self.seed, crops)

    def _batch(self, inputs: StepInputs) -> Batch:
        source, target, source_inputs, target_inputs = inputs
        if self.task.source.decodes:
            source_inputs = gathered(source_inputs, len(source))
        if self.task.target.decodes:
            target_inputs = gathered(target_inputs, len(target))
        of_source, of_target = (self.augmentations.called(name) for name in self.augment)
        batch = Batch(
            source=of_source(source_inputs),
            labels=self.task.labels[source],
            target=of_target(target_inputs),
            target_indices=target,
            strong=self.strong(target_inputs, target) if self.strong else None,
            augment=self.augmentations.strong,
        )
        return Batch(**self.to_device(vars(batch)))


def read_step(
    sampler: Uniform, source: Samples, target: Samples, seed: int, crops: tuple[bool, ...], number: int
) -> StepInputs:
    """What a step sees of both domains; of files random parts, where the domain's ``crops`` say so."""
    first, second = sampler.batch(number)
    of_step = 2 * (seed * 1_000_003 + number)
    seeds = (of_step if crops[0] else None, of_step + 1 if crops[1] else None)
    return first, second, own_rows(source, first, seeds[0]), own_rows(target, second, seeds[1])
