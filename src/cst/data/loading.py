"""Batches made ahead of time by worker processes, for samples that must be decoded."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from cst.data.samples import Samples
from cst.ranks.group import beside
from cst.ranks.rows import share
from cst.stages import told

Thing = TypeVar("Thing")


def worker_count(demanded: int | None, *domains: Samples) -> int:
    """As many processes as were asked for; none where no domain has to be decoded."""
    if not any(samples.decodes for samples in domains):
        return 0
    return min(4, max(1, (os.cpu_count() or 1) // beside())) if demanded is None else demanded


class _Made(Dataset[Any]):
    """Item ``i`` is what ``make(i)`` returns; a mistake in the data is handed over, not raised in the worker."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make

    def __getitem__(self, thing: Any) -> Any:
        try:
            return self.make(thing)
        except ValueError as error:
            return error


def prefetch(make: Callable[[int], Any], numbers: Sequence[int], workers: int) -> Iterator[Any]:
    """``make(number)`` for each number, in order, by ``workers`` processes or by this one."""
    if workers == 0 or len(numbers) < 2:
        yield from map(make, numbers)
        return
    yield from as_they_come(make, numbers, min(workers, len(numbers)))


def _as_it_is(made: Any) -> Any:
    return made


def as_they_come(make: Callable[[Thing], Any], things: Iterable[Thing], workers: int) -> Iterator[Any]:
    """``make(thing)`` for each thing of a row without end, in order; few more than ``workers`` are taken ahead."""
    if workers == 0:
        yield from map(make, things)
        return
    loader = DataLoader(
        _Made(make),
        batch_size=None,
        sampler=things,
        num_workers=workers,
        collate_fn=_as_it_is,
        worker_init_fn=_outlive_signals,
        generator=torch.Generator().manual_seed(0),  # else it draws from ours, and workers would change the run
    )
    for made in loader:
        if isinstance(made, ValueError):
            raise made
        yield made


def _outlive_signals(worker: int) -> None:
    """Whoever is asked to end, as the whole group of processes often is, still needs what workers read for its step.

    A second SIGTERM ends them, and they end by themselves when the process is gone that started them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: signal.signal(number, signal.SIG_DFL))


def in_order(samples: Samples, batch_size: int, workers: int | None = None, what: str = "reading") -> Iterator[Tensor]:
    """All samples of a domain, batch by batch; ``what`` is what watchers are told of it."""
    starts = range(0, len(samples), batch_size)
    batches = prefetch(partial(_from, samples, batch_size), starts, worker_count(workers, samples))
    return told(what, batches, len(samples), len)


def own_in_order(samples: Samples, batch_size: int, workers: int | None, what: str) -> Iterator[tuple[Tensor, int]]:
    """The same of several processes: this one's rows of each batch, and how many rows the batch has in all."""
    starts = range(0, len(samples), batch_size)
    sizes = [min(batch_size, len(samples) - start) for start in starts]
    batches = prefetch(partial(_own_from, samples, batch_size), starts, worker_count(workers, samples))
    return told(what, zip(batches, sizes, strict=True), len(samples), lambda batch: batch[1])


def _from(samples: Samples, batch_size: int, start: int) -> Tensor:
    return samples.take(torch.arange(start, min(start + batch_size, len(samples))))


def _own_from(samples: Samples, batch_size: int, start: int) -> Tensor:
    positions = torch.arange(start, min(start + batch_size, len(samples)))
    return samples.take(positions[share(len(positions))])
