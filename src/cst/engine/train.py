"""From a task and what the user wrote to an adapted model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cst.config import Config
from cst.data.task import Task
from cst.engine.adapted import Adapted
from cst.engine.calibration import calibrate
from cst.engine.callbacks import Callback, Logging
from cst.engine.checkpoint import finish
from cst.engine.evaluation import evaluate
from cst.engine.first_look import not_adapted
from cst.engine.loop import finite, fit
from cst.engine.run import Run
from cst.engine.selecting import LAST, VERDICT, Selecting
from cst.engine.setup import Training, quick_note, set_up, settle
from cst.engine.shared_run import begun
from cst.engine.snapshots import AFTER, look, save
from cst.engine.trackers import check_trackers, tracker
from cst.engine.warm_start import WarmStart
from cst.files import lies_in
from cst.methods import Method
from cst.ranks.group import count, from_first, is_first
from cst.selection import Verdict, judge, signs, went_back


def train(
    task: Task,
    config: Config,
    method: Method | None = None,
    module: nn.Module | None = None,
    resume: bool = False,
    overwrite: bool = False,
    out: Path | None = None,
    callbacks: Sequence[Callback] = (),
    tell: Callable[[str], None] = warnings.warn,
    warm: WarmStart | None = None,
) -> Adapted:
    """Train, or go on training, and return the adapted model.

    With a folder ``out`` the run is written there; ``resume`` continues it from its last checkpoint.

    Args:
        task: the data.
        config: what the user wrote.
        method: what ``config.method`` stands for, where it holds terms as objects.
        module: a backbone of the user's own.
        resume: go on with the run in ``out``.
        overwrite: replace a run that lies there.
        out: the run folder; ``config.out`` if not given.
        callbacks: who is told of steps and epochs.
        tell: takes sentences that the user should know.
        warm: a warm-up that several runs share.
    """
    folder = out or config.out
    for origin in (config.source, config.target):
        if config.cache and origin and lies_in(config.cache, origin):
            raise ValueError(f"cache={config.cache} lies in the data {origin}: choose a folder outside of it.")
    if folder and not resume:
        Run(folder).check_place([config.source, config.target])
    settings, method = settle(config, task, method, custom=module is not None)
    if settings.batch_size < count():
        raise ValueError(
            f"batch_size={settings.batch_size} is less than the {count()} processes, of which each needs a sample: "
            "choose fewer devices=, or a larger batch."
        )
    if note := quick_note(config, settings):
        tell(note)
    check_trackers(settings.log, folder)
    watching: list[Callback] = [Logging(), *callbacks]
    for callback in watching:
        callback.on_settings(settings)
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        training = set_up(task, settings, method, module, config.workers, config.cache)
    # The folder is made last, so that a mistake above leaves none, and kept until the result is there.
    if settings.select not in (LAST, VERDICT):
        Selecting(settings.select, None).check(training)
    with begun(folder, settings, resume, overwrite) if folder else nullcontext() as run, to_the_end(watching):
        for name in settings.log if run and is_first() else ():
            assert run
            watching.append(tracker(name, run))
            watching[-1].on_settings(settings)
        selecting = Selecting(settings.select, run) if settings.select != LAST else None
        history = fit(training, run, watching, selecting, warm, config.checkpoint_every)
        if history[-1].get("held"):
            tell(not_adapted(history[-1]["first_agreement"], settings.guard))
        selected: dict[str, Any] = {}
        with finite(training, settings.epochs - 1):
            if selecting and settings.select != VERDICT:
                selected = {"selected": selecting.finish(training, history)}
            seen, verdict = look_after_adapting(training, run, history)
            if selecting and settings.select == VERDICT:
                selected = {"selected": selecting.finish(training, history, verdict)}
                if reason := selected["selected"].get("because"):
                    seen, _ = look_after_adapting(training, run, history)
                    verdict = went_back(seen["after"], verdict, reason)
            calibrate(training, history[-1])
        adapted = Adapted(training.model, settings, history, config.workers, verdict)
        if run:
            with finite(training, settings.epochs - 1):
                result = evaluate(training.model, training.task, config.workers)
            from_first(partial(adapted.write, run))
            figures = {**result, **selected, "signs": seen, "verdict": verdict.record()}
            run.save_result(figures)
            for callback in watching:
                callback.on_result(figures)
            # First: its absence tells a resumed run what its weights are.
            from_first(partial(run.selected_file.unlink, missing_ok=True))
            finish(run, training, config.keep_checkpoint)
    return adapted


@contextmanager
def to_the_end(watching: Sequence[Callback]) -> Iterator[None]:
    """Whoever watches is told the end, whatever it is."""
    try:
        yield
    finally:
        for callback in watching:
            callback.on_end()


def look_after_adapting(
    training: Training, run: Run | None, history: list[dict[str, Any]]
) -> tuple[dict[str, Any], Verdict]:
    """What can be seen of the finished model without labels, beside what was seen before adapting; and the verdict."""
    snapshot, before, last = look(training), training.objective.signs, history[-1]
    after = signs(snapshot.outputs)
    verdict = judge(before, after, training.task.classes, bool(last.get("held")), last["loss"]["total"])
    if run:
        save(run.folder, AFTER, snapshot)
    seen = {"before": without_labels(before), "after": without_labels(after)}
    finished = run.result if run else None
    told = Verdict.of((finished or {}).get("verdict"))
    if finished and told and not before:  # resumed: what was seen before adapting lies behind
        return finished["signs"], told
    return seen, verdict


def without_labels(seen: dict[str, Any]) -> dict[str, Any]:
    """Signs as a file keeps them: labels of single samples are in the snapshot."""
    return {name: value for name, value in seen.items() if name != "labels"}
