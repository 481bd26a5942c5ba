"""`adapt`: from two sets of data to a model, in one call; `register`: names of your own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

from torch import nn

from cst.config import config_from
from cst.config.options import as_names
from cst.data.domain import Reading
from cst.engine.adapted import Adapted
from cst.engine.auto import train_or_choose
from cst.engine.callbacks import Callback
from cst.engine.progress import shown
from cst.grammar import as_method
from cst.kinds import KINDS
from cst.kinds.contract import Kind
from cst.models.backbones import BACKBONES
from cst.sampling import SAMPLINGS
from cst.sampling.rules import Uniform
from cst.selection import BAD
from cst.tasks import load_task, resampled_as_asked
from cst.tasks.own import task_in_memory
from cst.terms import TERMS
from cst.terms.contract import Term
from cst.updates import UPDATES
from cst.updates.contract import Update

Thing = TypeVar("Thing")


def adapt(
    source: Any,
    target: Any,
    method: str | Term | Iterable[str | Term] = "cst",
    backbone: nn.Module | str | None = None,
    epochs: int | None = None,
    seed: int = 0,
    *,
    target_labels: Any = None,
    resume: bool = False,
    callbacks: Sequence[Callback] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Adapted:
    """Adapt a classifier from a labelled source to an unlabelled target.

    Args:
        source: ``(inputs, labels)`` as arrays or tensors, or a dataset of such pairs. Inputs are
            vectors [N, d], grey images [N, H, W] or images [N, C, H, W] (also [N, H, W, C]). Labels may be
            of any type. Or a list of texts, or of paths of images, and their labels; or a data frame (pandas, polars)
            or ``datasets.Dataset`` whose columns ``text=`` and ``label=`` name; or a path, as ``cst train --source``
            takes it.
        target: inputs of the same shape, a dataset, a list of texts or of paths of images, a table with the same
            columns, or a path. Labels in it are ignored.
        method: a name from ``cst methods``, a sum of terms such as ``"cycle+tsallis"``, a term as an object, or a list
            of these.
        backbone: ``None`` for a network that suits the data, a name, or any module that maps a batch to
            features [N, d].
        epochs: passes over the larger domain; as usual for the kind of data if not given.
        seed: of everything random.
        target_labels: for the oracle figures in the history, or the column of the target that holds them; training
            never sees them.
        resume: continue the run in ``out``.
        callbacks: who is told of steps and epochs; see :class:`cst.Callback`.
        progress: a bar on standard error, or lines where that is no terminal; if not given, a bar on a terminal and in
            a notebook.
        **options: any other field of :class:`cst.Config`, such as ``lr``, ``batch_size``, ``out``, or ``devices`` for
            several processes that train one model together.

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
        raise ValueError(f"backbone= must be a module, a name or None, got {type(backbone).__name__}.")
    if resume and "out" not in options:
        raise ValueError("resume=True needs the folder of the run to continue: pass out=folder.")
    if options.get("checkpoint_every") is not None and options.get("out") is None:
        raise ValueError("checkpoint_every= needs a folder for the checkpoints: pass out=folder.")
    for callback in callbacks or ():
        if not isinstance(callback, Callback):
            raise ValueError(f"callbacks= must hold cst.Callback objects, got {type(callback).__name__}.")
    chosen = as_method(method)
    values = {"method": chosen.name, "epochs": epochs, "seed": seed, **options}
    if isinstance(backbone, str):
        values["backbone"] = backbone
    module = backbone if isinstance(backbone, nn.Module) else None
    with shown(chosen.name, progress) as showing:
        if isinstance(source, str | os.PathLike):
            values |= _paths(source, target, target_labels)
            config = config_from(values, where="adapt")
            task = load_task(config)
        else:
            only, drop = (as_names(name, options.get(name)) or () for name in ("columns", "drop"))
            strict = bool(options.get("strict"))
            names = Reading(
                options.get("text"), options.get("label"), only=only, drop=drop, strict=strict, fill=not strict
            )
            task = task_in_memory(source, target, target_labels, names)
            config = config_from({"task": task.name, **values}, where="adapt")
            task = resampled_as_asked(task, config)
        for note in task.notes:
            warnings.warn(note, stacklevel=2)
        adapted = train_or_choose(task, config, chosen, module, resume, callbacks=[*(callbacks or ()), *showing])
    if adapted.verdict and adapted.verdict.word in BAD:
        warnings.warn(f"Verdict: {adapted.verdict.word}. {' '.join(adapted.verdict.sentences)}", stacklevel=2)
    return adapted


def _paths(source: Any, target: Any, target_labels: Any) -> dict[str, Any]:
    if not isinstance(target, str | os.PathLike):
        raise ValueError("source is a path, so target must be one too.")
    if isinstance(target_labels, os.PathLike):
        target_labels = str(target_labels)
    if not isinstance(target_labels, str | None):
        raise ValueError("source and target are paths, so target_labels= must be one too, or the name of a column.")
    return {"source": Path(source), "target": Path(target), "target_labels": target_labels}


@overload
def register(name: str) -> Callable[[Thing], Thing]: ...
@overload
def register(name: str, thing: Thing) -> Thing: ...
def register(name: str, thing: Any = None) -> Any:
    """Give a term, an update rule, a sampling rule, a backbone or a kind of data a name, for this process.

    What it is follows from its type: a class of terms, of update rules or of sampling rules, a `Kind` object, or a
    function from the shape of one input to a module, which is a backbone. Packages do the same for every process by an
    entry point in the group ``cst.terms``, ``cst.updates``, ``cst.samplings``, ``cst.backbones`` or ``cst.kinds``.

    >>> @register("length")
    ... class Length(Term):
    ...     def forward(self, step):
    ...         return step.target.features.square().mean()
    >>> from cst.grammar import parse_method
    >>> print(parse_method("length+cycle").formula)
    source + length + cycle
    """
    if thing is None:
        return lambda decorated: register(name, decorated)
    classes = ((Term, TERMS), (Update, UPDATES), (Uniform, SAMPLINGS))
    registry = next((names for base, names in classes if isinstance(thing, type) and issubclass(thing, base)), None)
    if registry is None and isinstance(thing, Kind):
        registry = KINDS
    if registry is None and callable(thing):
        registry = BACKBONES
    if registry is None:
        raise ValueError(f"'{name}' is neither a term, a rule, a kind of data nor a backbone: {type(thing).__name__}.")
    registry.add(name, thing)
    return thing
