"""Several methods from one warm start, and the one that scores without target labels speak for."""

from __future__ import annotations

import dataclasses
import shutil
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch import nn

from cst.config import Config, Settings
from cst.data.task import Task
from cst.engine.adapted import Adapted
from cst.engine.callbacks import Callback
from cst.engine.joining import joined, to_launch
from cst.engine.launch import Launch
from cst.engine.run import Run
from cst.engine.setup import quick_note, settle
from cst.engine.shared_run import begun
from cst.engine.train import train
from cst.engine.warm_start import WarmStart
from cst.grammar import parse_method
from cst.methods import AUTO, CANDIDATES, Method
from cst.ranks.group import from_first, is_first
from cst.selection import choose

FOLDER = "candidates"
OF_TERMS = ("weight", "option")
"""What a recipe has for some terms; every candidate takes what concerns it from the recipe."""
TAKEN_OVER = ("before.safetensors", "after.safetensors", "last.safetensors", "checkpoint.pt")
"""Files of the chosen candidate that become the run's, beside its model and records."""


def train_or_choose(
    task: Task,
    config: Config,
    method: Method | None = None,
    module: nn.Module | None = None,
    resume: bool = False,
    overwrite: bool = False,
    out: Path | None = None,
    callbacks: Sequence[Callback] = (),
    tell: Callable[[str], None] = warnings.warn,
) -> Adapted:
    """`cst.engine.train.train`, where the method may be ``auto``: its candidates are trained and one is chosen.

    With ``config.devices`` it happens in several processes, which are started here unless they are there already.
    """
    if devices := to_launch(config):
        job = partial(train_or_choose, task, config, method, module, resume, overwrite, out)
        adapted: Adapted = Launch(devices, callbacks, tell).run(job)
        return adapted
    with joined(config):
        if not is_first():
            callbacks, tell = (), _to_nobody
        return _train_or_choose(task, config, method, module, resume, overwrite, out, callbacks, tell)


def _to_nobody(sentence: str) -> None:
    """The first process says it."""


def _train_or_choose(
    task: Task,
    config: Config,
    method: Method | None,
    module: nn.Module | None,
    resume: bool,
    overwrite: bool,
    out: Path | None,
    callbacks: Sequence[Callback],
    tell: Callable[[str], None],
) -> Adapted:
    if config.method != AUTO.name:
        return train(task, config, method, module, resume, overwrite, out, callbacks, tell)
    if not resume and (config.weight or config.option):
        raise ValueError("method=auto has no terms of its own: leave out weight= and option=, or name a method.")
    folder = out or config.out
    settings, _ = settle(config, task, AUTO, custom=module is not None)
    # Every candidate goes by the settings of the whole, so that it does so after an interruption, too.
    values = {name: value for name, value in settings.to_dict().items() if value is not None and name not in OF_TERMS}
    complete = dataclasses.replace(config, **values, weight={}, option={})
    if note := quick_note(config, settings):
        tell(note)
    if settings.warmup_epochs == 0:
        raise ValueError("method=auto compares with a source model: give it warmup_epochs=, or at least 4 epochs.")
    if folder and not resume:
        Run(folder).check_place([config.source, config.target])
    with (
        begun(folder, settings, resume, overwrite) if folder else nullcontext() as run,
        nullcontext(str(folder)) if folder else TemporaryDirectory() as place,
    ):
        candidates = Path(from_first(lambda: place)) / FOLDER
        if overwrite and not resume:
            from_first(partial(shutil.rmtree, candidates, ignore_errors=True))
        trained: dict[str, Adapted] = {}
        for number, name in enumerate(CANDIDATES, 1):
            for callback in callbacks:
                callback.on_remark(f"Candidate {number} of {len(CANDIDATES)}: {name}.")
            trained[name] = _train_one(task, complete, name, module, candidates, callbacks)
        results = from_first(lambda: {name: Run(candidates / name).finished for name in CANDIDATES})
        choice = choose(
            {name: result["verdict"]["word"] for name, result in results.items()},
            {name: result["signs"]["after"]["scores"] for name, result in results.items()},
        )
        tell(f"Chosen: {choice.name}. {choice.why}")
        if run:
            taken = (run, Run(candidates / choice.name), settings, trained[choice.name], choice.record())
            from_first(partial(_take_over, *taken))
    chosen = trained[choice.name]
    chosen.choice = choice
    return chosen


def _train_one(
    task: Task,
    config: Config,
    name: str,
    module: nn.Module | None,
    folder: Path,
    callbacks: Sequence[Callback],
) -> Adapted:
    """One candidate in a folder of its own, begun, gone on with, or finished before."""
    candidate = dataclasses.replace(config, method=name, out=folder / name)
    going_on = from_first(Run(folder / name).config_file.is_file)
    warm = WarmStart(folder / "warm.pt")
    folder.mkdir(parents=True, exist_ok=True)
    method = parse_method(name)
    return train(task, candidate, method, module, going_on, callbacks=callbacks, tell=lambda _: None, warm=warm)


def _take_over(run: Run, chosen: Run, settings: Settings, adapted: Adapted, choice: dict[str, Any]) -> None:
    """The chosen candidate's model, records and figures become the run's."""
    adapted.write(run, settings)
    for file, place in zip(chosen.files, run.files, strict=True):
        if file.name in TAKEN_OVER and file.is_file():
            shutil.copyfile(file, place)
    run.save_result({**chosen.finished, "auto": choice})
