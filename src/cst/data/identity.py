"""What tells one set of data from another, so that a run goes on with the data it began with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import torch

from cst.data.domains import Samples, Task, TensorSamples
from cst.data.images import ImageFiles
from cst.data.texts import TokenSamples

SOME = 64
"""Samples that are looked at where reading them all would take long."""


def identity(task: Task) -> str:
    """A short name for the inputs of both domains and the source's labels."""
    digest = hashlib.blake2b(task.source.labels.numpy().tobytes(), digest_size=16)
    for samples in (task.source.samples, task.target):
        for content in _contents(samples):
            digest.update(content)
    return digest.hexdigest()


def _contents(samples: Samples) -> Iterator[bytes]:
    """All numbers and tokens; name and size of files, wherever they lie; some of the items of a dataset."""
    if isinstance(samples, TensorSamples):
        yield samples.inputs.contiguous().numpy().tobytes()
    elif isinstance(samples, TokenSamples):
        for tokens in samples.tokens:
            yield tokens.numpy().tobytes()
    elif isinstance(samples, ImageFiles) and all(isinstance(source, Path) for source in samples.sources):
        for file in samples.sources:
            yield os.fsencode(file.name) + f" {file.stat().st_size}\n".encode()
    else:
        places = torch.linspace(0, len(samples) - 1, min(SOME, len(samples))).long()
        yield samples.take(places).contiguous().numpy().tobytes()
