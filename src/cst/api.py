"""`adapt`: from two sets of data to a model, in one call."""

from __future__ import annotations

import os
import reprlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from cst.adapted import Adapted
from cst.config import ARRAYS, LISTS, config_from
from cst.data.arrays import task_from
from cst.data.collection import Collection, Kind, task_of
from cst.data.images import problems
from cst.data.readers import IMAGES
from cst.data.tasks import kind_of_task, load_task
from cst.defaults import with_defaults
from cst.engine.train import train
from cst.grammar import parse_method


def adapt(
    source: Any,
    target: Any,
    method: str = "cst",
    backbone: nn.Module | str | None = None,
    epochs: int | None = None,
    seed: int = 0,
    *,
    target_labels: Any = None,
    resume: bool = False,
    **options: Any,
) -> Adapted:
    """Adapt a classifier from a labelled source to an unlabelled target.

    Args:
        source: ``(inputs, labels)`` as arrays or tensors, or a dataset of such pairs. Inputs are
            vectors [N, d], grey images [N, H, W] or images [N, C, H, W] (also [N, H, W, C]). Labels may be
            of any type. Or a list of texts, or of paths of images, and their labels; or a path, as
            ``cst train --source`` takes it.
        target: inputs of the same shape, a dataset, a list of texts or of paths of images, or a path. Labels in it
            are ignored.
        method: a name from ``cst methods`` or a sum of terms, such as ``"cycle+tsallis"``.
        backbone: ``None`` for a small network that fits the inputs, a name, or any module that maps a
            batch to features [N, d].
        epochs: passes over the larger domain: 20, or 3 for text.
        seed: of everything random.
        target_labels: for the oracle figures in the history; training never sees them.
        resume: continue the run in ``out``.
        **options: any other field of :class:`cst.Config`, such as ``lr``, ``batch_size``, ``out``.

    Returns:
        The adapted model.

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> source, target = random.normal(size=(200, 5)), random.normal(size=(150, 5)) + 0.3
    >>> adapted = adapt((source, np.where(source[:, 0] > 0, "up", "down")), target, epochs=2)
    >>> adapted.predict(target).shape
    (150,)
    """
    if backbone is not None and not isinstance(backbone, str | nn.Module):
        raise ValueError(f"backbone must be a module, a name or None, got {type(backbone).__name__}.")
    if resume and "out" not in options:
        raise ValueError("resume=True needs the folder of the run to continue: pass out=folder.")
    custom = backbone if isinstance(backbone, nn.Module) else None
    name = backbone if isinstance(backbone, str) else "auto"
    values = {"method": method, "backbone": name, "epochs": epochs, "seed": seed, **options}
    if isinstance(source, str | os.PathLike):
        if not isinstance(target, str | os.PathLike):
            raise ValueError("source is a path, so target must be one too.")
        if isinstance(target_labels, os.PathLike):
            target_labels = str(target_labels)
        if not isinstance(target_labels, str | None):
            raise ValueError("source and target are paths, so target_labels must be one too, or the name of a column.")
        values |= {"source": Path(source), "target": Path(target), "target_labels": target_labels}
        config = config_from(values, where="adapt")
        config = with_defaults(config, parse_method(config.method), kind_of_task(config))
        task = load_task(config)
        for note in task.notes:
            warnings.warn(note, stacklevel=2)
        return train(task, config, custom, resume=resume)
    if kind := _kind_of_list(target):
        config = config_from({**values, "task": LISTS}, where="adapt")
        config = with_defaults(config, parse_method(config.method), kind)
        if not isinstance(source, tuple | list) or len(source) != 2 or _kind_of_list(source[0]) != kind:
            what = {"text": "texts", "images": "paths of images"}[kind]
            raise ValueError(f"source must be a pair ({what}, labels), as target is a list of {what}.")
        domains = (_collection(kind, source[0], source[1]), _collection(kind, target))
        return train(task_of(*domains, config, LISTS, target_labels), config, custom, resume=resume)
    config = config_from({"task": ARRAYS, **values}, where="adapt")
    task = task_from(source, target, target_labels, as_images=custom is None)
    return train(task, config, custom, resume=resume)


def _kind_of_list(items: Any) -> Kind | None:
    """``images`` for paths of pictures, ``text`` for other texts in a row, ``None`` for anything else."""
    items = _listed(items)
    if not isinstance(items, list | tuple) or not any(isinstance(item, str | os.PathLike) for item in items):
        return None
    for place, item in enumerate(items):
        if not isinstance(item, str | os.PathLike):
            raise ValueError(
                f"Item {place} of the texts or paths is {reprlib.repr(item)}: fill it in, or leave it out."
            )
    if all(Path(item).suffix.lower() in IMAGES for item in items):
        return "images" if items else None
    return "text" if all(isinstance(item, str) for item in items) else None


def _listed(items: Any) -> Any:
    """A row of values, in an array or a series, as a list; anything else as it is."""
    array_or_series = isinstance(items, np.ndarray) or hasattr(items, "to_numpy")
    return items.tolist() if array_or_series and items.ndim == 1 else items


def _collection(kind: Kind, items: Sequence[Any], labels: Any = None) -> Collection:
    """The list as a domain; a picture that cannot be read is an error, since its label would be left over."""
    items = _listed(items)
    if kind == "images":
        items = [Path(item) for item in items]
        if trouble := next(filter(None, problems(items)), None):
            raise ValueError(trouble)
    return Collection(kind, list(items), [], labels)
