"""What a model makes of some samples of both domains, at one moment of a run: for scores, the verdict and figures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from cst.data.samples import Samples, SomeSamples, TensorSamples
from cst.data.task import Labelled
from cst.engine.evaluation import EVALUATION_BATCH, DomainView, evaluating
from cst.files import reading, write_aside
from cst.functional import pseudo_labels
from cst.selection import Mixed, Outputs

if TYPE_CHECKING:
    from cst.engine.setup import Training

LOOKED_AT = 2000
"""Samples of each domain, evenly spaced."""
SHARE = 0.55
"""Of the first sample in a mixture of two."""
WIDTH = 64
"""Principal components of the features that a file keeps."""
BEFORE, AFTER = "before", "after"
ARRAYS = ("source_features", "source_labels", "source_logits", "target_features", "target_logits")


class NotFiniteError(ArithmeticError):
    """A model's outputs are not all numbers."""


class Snapshot(NamedTuple):
    """Outputs, and which samples of the domains they belong to."""

    outputs: Outputs
    source_positions: Tensor
    target_positions: Tensor


def look(training: Training, further: bool = True) -> Snapshot:
    """Look at both domains at the present weights; ``further`` at other views and mixtures of the target too."""
    task, model = training.task, training.model
    judges = task.judges or Labelled(task.source, task.labels)
    first, second = (evenly(len(samples)) for samples in (judges.inputs, task.target))
    source = DomainView(model, SomeSamples(judges.inputs, first), "source", training.workers)
    target = DomainView(model, SomeSamples(task.target, second), "target", training.workers)
    features = source.features, target.features  # first, so that logits follow from them
    if not all(bool(part.isfinite().all()) for part in (*features, source.logits, target.logits)):
        raise NotFiniteError
    return Snapshot(
        Outputs(
            features[0],
            judges.labels[first],
            source.logits,
            features[1],
            target.logits,
            _view_logits(training, second) if further else None,
            _mixed(training, second, pseudo_labels(target.logits)) if further else None,
        ),
        first,
        second,
    )


def evenly(count: int) -> Tensor:
    """Places of at most `LOOKED_AT` samples of so many."""
    return torch.linspace(0, count - 1, min(count, LOOKED_AT)).long()


def _view_logits(training: Training, positions: Tensor) -> Tensor | None:
    """Of strong views, where there are any."""
    strong, samples = training.views, training.task.target
    if strong is None:
        return None
    with torch.random.fork_rng():
        torch.manual_seed(0)
        parts = torch.split(positions, EVALUATION_BATCH)
        return _logits(training, (strong(samples.take(some), some) for some in parts))


def _mixed(training: Training, positions: Tensor, labels: Tensor) -> Mixed | None:
    """Mixtures of inputs, where they are numbers: every other sample with one of its own pseudo-label."""
    samples: Samples = SomeSamples(training.task.target, positions)
    if not samples.take(torch.tensor([0])).is_floating_point() or not _of_one_shape(training.task.target):
        return None
    partners = _partners(labels)
    blocks = zip(
        *(torch.split(places, EVALUATION_BATCH) for places in (torch.arange(len(positions)), partners)), strict=True
    )
    mixtures = (SHARE * samples.take(one) + (1 - SHARE) * samples.take(other) for one, other in blocks)
    return Mixed(partners, SHARE, _logits(training, mixtures))


def _partners(labels: Tensor) -> Tensor:
    """A random other place for each; at every other place one with the same label.

    >>> labels = torch.tensor([0, 1] * 4)
    >>> bool((labels[_partners(labels)][::2] == labels[::2]).all())
    True
    """
    random = torch.Generator().manual_seed(0)
    partners = torch.randperm(len(labels), generator=random)
    for label in torch.unique(labels):
        places = (labels == label).nonzero().flatten()
        shuffled = places[torch.randperm(len(places), generator=random)]
        within = places % 2 == 0
        partners[places[within]] = shuffled[within]
    return partners


def _of_one_shape(samples: Samples) -> bool:
    return samples.decodes or isinstance(samples, TensorSamples)


def _logits(training: Training, batches: Iterable[Tensor]) -> Tensor:
    model = training.model
    with evaluating(model):
        passes = (model.features(training.feed.to_device(batch), "target") for batch in batches)
        return torch.cat([model.classify(features, "target").float().cpu() for features in passes])


def save(folder: Path, name: str, snapshot: Snapshot) -> None:
    """Write it beside the run's other files, at half precision, features by their principal components."""
    from safetensors.torch import save_file

    outputs = snapshot.outputs
    reduced = _reduced(outputs.source_features, outputs.target_features)
    arrays = {array: getattr(outputs, array) for array in ARRAYS} | dict(
        zip(("source_features", "target_features"), reduced, strict=True)
    )
    most = torch.finfo(torch.float16).max
    halved = {
        array: value.clamp(-most, most).half() if value.is_floating_point() else value
        for array, value in arrays.items()
    }
    halved |= {"source_positions": snapshot.source_positions, "target_positions": snapshot.target_positions}
    plain = {array: value.detach().cpu().clone().contiguous() for array, value in halved.items()}
    write_aside(folder / f"{name}.safetensors", lambda aside: save_file(plain, aside))


def load(folder: Path, name: str) -> Snapshot | None:
    """What a run keeps of that moment, if it does."""
    from safetensors.torch import load_file

    file = folder / f"{name}.safetensors"
    if not file.is_file():
        return None
    with reading(file):
        arrays = {
            array: value.float() if value.is_floating_point() else value for array, value in load_file(file).items()
        }
        positions = arrays.pop("source_positions"), arrays.pop("target_positions")
        return Snapshot(Outputs(**arrays), *positions)


def _reduced(*parts: Tensor) -> tuple[Tensor, ...]:
    """Features of both domains by their common principal components, scaled to a largest deviation of one."""
    together = torch.cat(parts).float()
    centred = together - together.mean(0)
    if centred.shape[1] > WIDTH:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            centred = centred @ torch.pca_lowrank(centred, q=min(WIDTH, *centred.shape), center=False)[2]
    scale = centred.std(0).max().clamp_min(1e-12)
    return tuple(torch.split(centred / scale, [len(part) for part in parts]))
