"""What frozen layers make of a domain, computed once."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from cst.data.inference import quick
from cst.data.loading import in_order
from cst.data.samples import Samples, TensorSamples, some_contents
from cst.data.task import EncodedTask, Labelled, Oracle
from cst.files import write_aside
from cst.ranks.group import from_first
from cst.ranks.rows import divided
from cst.tokens import padded, present

BATCH = 32
FORMAT = b"2"
"""Of the files in the cache: a part of their names, so that those of another format are not looked at."""
MOST = 4 * 2**30
"""Bytes that may be kept; larger domains go through the frozen layers at every step."""


@dataclass(frozen=True)
class VectorSequences:
    """Token vectors of each text, each as long as its text."""

    sequences: tuple[Tensor, ...]
    decodes = False

    def __len__(self) -> int:
        return len(self.sequences)

    def take(self, indices: Tensor, seed: int | None = None) -> Tensor:
        """Token vectors [N, longest, d]."""
        return padded([self.sequences[int(i)] for i in indices])

    def contents(self) -> Iterator[bytes]:
        """Some of them."""
        return some_contents(self)


def through_frozen(
    task: EncodedTask, frozen: nn.Module, folder: Path | None = None, workers: int | None = None
) -> EncodedTask:
    """The task after the frozen layers, if there is room for it; kept in ``folder`` for other runs."""
    domains = [task.source, task.target]
    if task.oracle.test is not None:
        domains.append(task.oracle.test.inputs)
    if task.judges is not None:
        domains.append(task.judges.inputs)
    example = frozen(example_for(frozen, domains[0]))
    if sum(map(len, domains)) * example[0].numel() * example.element_size() > MOST:
        return task
    source, target, *rest = (_kept(samples, frozen, folder, workers) for samples in domains)
    judges = None if task.judges is None else Labelled(rest.pop(), task.judges.labels)
    held_out = None if task.oracle.test is None else Labelled(rest.pop(), task.oracle.test.labels)
    oracle = Oracle(task.oracle.target_labels, held_out)
    return dataclasses.replace(task, source=source, target=target, oracle=oracle, judges=judges)


def _kept(samples: Samples, frozen: nn.Module, folder: Path | None, workers: int | None) -> Samples:
    """The outputs for a domain, from the folder if they are there."""
    if folder is None:
        return _samples(_outputs(samples, frozen, workers))
    file = folder / f"{from_first(lambda: fingerprint(samples, frozen, workers))}.pt"
    if not from_first(file.is_file):
        folder.mkdir(parents=True, exist_ok=True)
        outputs = _outputs(samples, frozen, workers)
        from_first(lambda: write_aside(file, lambda aside: torch.save(outputs, aside)))
    return _samples(torch.load(file, weights_only=True, mmap=True))


def _samples(outputs: Tensor | list[Tensor]) -> Samples:
    return TensorSamples(outputs) if isinstance(outputs, Tensor) else VectorSequences(tuple(outputs))


@torch.no_grad()
def _outputs(samples: Samples, frozen: nn.Module, workers: int | None) -> Tensor | list[Tensor]:
    """One output for each sample; those of texts as long as the text."""
    sequences: list[Tensor] = []
    together, start = torch.empty(0), 0
    passing = quick(frozen, example_for(frozen, samples), len(samples))
    for inputs in in_order(samples, BATCH, workers, "frozen layers"):
        made = divided(passing, inputs.to(device_of(frozen))).cpu()
        if made.ndim == 3:
            sequences += [sequence[positions].clone() for sequence, positions in zip(made, present(made), strict=True)]
            continue
        if not start:
            together = torch.empty(len(samples), *made.shape[1:], dtype=made.dtype)
        together[start : start + len(made)] = made
        start += len(made)
    return sequences or together


def fingerprint(samples: Samples, frozen: nn.Module, workers: int | None) -> str:
    """A name for the outputs: of the weights and of all inputs."""
    digest = hashlib.sha256(FORMAT)
    for name, value in frozen.state_dict().items():
        digest.update(name.encode())
        digest.update(value.cpu().contiguous().numpy().tobytes())
    for inputs in in_order(samples, BATCH, workers):
        digest.update(str(tuple(inputs.shape)).encode())
        digest.update(inputs.numpy().tobytes())
    return digest.hexdigest()[:32]


def example_for(network: nn.Module, samples: Samples) -> Tensor:
    """A few samples where the network is."""
    return samples.take(torch.arange(min(8, len(samples)))).to(device_of(network))


def device_of(module: nn.Module) -> torch.device:
    """Where a module's parameters are."""
    return next(module.parameters()).device
