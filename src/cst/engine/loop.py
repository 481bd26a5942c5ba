"""Algorithm 1 of the paper, for any sum of terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from cst.engine.callbacks import Callback
from cst.engine.checkpoint import Checkpoints
from cst.engine.evaluation import Evaluation
from cst.engine.first_look import first_look, not_adapted
from cst.engine.metrics import distribution
from cst.engine.optimisation import set_rate
from cst.engine.records import EpochLog, diverged
from cst.engine.run import Run
from cst.engine.selecting import Selecting
from cst.engine.setup import GATHERED, Training
from cst.engine.snapshots import BEFORE, NotFiniteError, look, save
from cst.engine.warm_start import WarmStart
from cst.ranks.rows import take_over
from cst.selection import collapse, signs
from cst.stages import told
from cst.terms.contract import Epoch, Step


def fit(
    training: Training,
    run: Run | None = None,
    callbacks: Sequence[Callback] = (),
    selecting: Selecting | None = None,
    warm: WarmStart | None = None,
    checkpoint_every: int | None = None,
) -> list[dict[str, Any]]:
    """Train from where the run stands to its last epoch and return the records of all epochs."""
    settings, objective = training.settings, training.objective
    checkpoints = Checkpoints(run, training, checkpoint_every, warm)
    history = checkpoints.restore()
    total = settings.epochs * settings.steps_per_epoch
    present = training.evaluation()  # both domains at the present weights, as far as somebody asks
    for callback in callbacks:
        callback.on_start(total)
    with torch.random.fork_rng(), checkpoints.kept():
        for number in range(len(history), settings.epochs):
            torch.manual_seed((settings.seed * 1_000_003 + number + 1) % 2**63)
            objective.train()
            log = EpochLog(settings, number, training.task.num_classes, partial(tell_losses, callbacks))
            steps = range(number * settings.steps_per_epoch, (number + 1) * settings.steps_per_epoch)
            with finite(training, number, log):
                # Choose alpha by the round trip (Appendix B.3), label the target anew: whatever terms do once an epoch.
                if not checkpoints.go_on(log):
                    epoch = begin_epoch(training, number, present, steps)
                    training.sampler.start_epoch(epoch)
                    objective.start_epoch(epoch)
                for step_number, batch in training.feed.batches(steps[log.steps :]):
                    set_rate(training.optimizer, settings, step_number)
                    epochs = step_number / settings.steps_per_epoch
                    if objective.begins(epochs):
                        look_before_adapting(training, run, callbacks, selecting)
                    progress = objective.progress(epochs, settings.epochs)
                    step = Step(training.model, batch, objective.views, epochs, progress)
                    # Source step: L_P(theta_s, phi), the term `source`.
                    # Forward step: theta_s gives the target batch its pseudo-labels, argmax f(x).
                    # Reverse step: the target head that fits them in closed form is judged on the source, the term
                    # `cycle`; with E_Q S_alpha, the term `tsallis`, that is the objective.
                    # Update: phi and theta_s follow its gradient.
                    losses = training.update.take(training.module, step)
                    objective.after_step()
                    log.add(losses, training.memory.add(step))
                    for callback in callbacks:
                        callback.on_step(step_number + 1, total)
                    checkpoints.after_step(log)
            objective.end_epoch(number + 1, settings.epochs, log.source_loss)
            present = training.evaluation()
            history.append(log.record(training, present))
            if selecting:
                with finite(training, number):
                    selecting.see(training, history)
            watch_for_collapse(training, history[-1], callbacks)
            checkpoints.after_epoch(history)
            for callback in callbacks:
                callback.on_epoch(history[-1])
    return history


def look_before_adapting(
    training: Training, run: Run | None, callbacks: Sequence[Callback], selecting: Selecting | None = None
) -> None:
    """Keep what the source model makes of the target; where it knows nothing of it, stay with the source and say so."""
    snapshot, guard = look(training), training.settings.guard
    first = first_look(training, snapshot)
    training.objective.remember(first._asdict(), signs(snapshot.outputs))
    if run:
        save(run.folder, BEFORE, snapshot)
    if selecting:
        selecting.see_source_model(training)
    if first.agreement is not None and first.agreement < guard:
        training.objective.hold()
        tell_remark(callbacks, not_adapted(first.agreement, guard))


def watch_for_collapse(training: Training, record: dict[str, Any], callbacks: Sequence[Callback]) -> None:
    """Say it when it happens that predictions on the target gather in few classes, once.

    Without a source model to compare with, they are compared with the source's shares, in the second half of the run:
    before that a network that starts from scratch may have learned few classes.
    """
    objective, before = training.objective, training.objective.signs.get("shares")
    if objective.collapsed or len(objective.terms) == 1:
        return
    if before is None:
        if 2 * record["epoch"] < training.settings.epochs:
            return
        before = distribution(training.task.labels, training.task.num_classes).tolist()
    sentence = collapse(before, record["pseudo_label_distribution"], training.task.classes)
    if sentence:
        objective.collapsed = True
        tell_remark(callbacks, f"Epoch {record['epoch']}: {sentence}")


def tell_remark(callbacks: Sequence[Callback], sentence: str) -> None:
    """Tell everybody what the user should know at once."""
    for callback in callbacks:
        callback.on_remark(sentence)


def tell_losses(callbacks: Sequence[Callback], losses: dict[str, float]) -> None:
    """Tell everybody the means of the epoch so far."""
    for callback in callbacks:
        callback.on_losses(losses)


def begin_epoch(training: Training, number: int, present: Evaluation, steps: range) -> Epoch:
    """What terms and the sampling rule may see before the first step; they share every pass that they ask for."""
    take_over(training.objective)  # of processes that round otherwise, the first is right
    everything = (
        present if training.watched is training.task else Evaluation(training.model, training.task, training.workers)
    )

    @torch.no_grad()
    def gathered() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features of the epoch that has passed, or of a look ahead before the first."""
        memory = training.memory
        if not memory:
            ahead = steps[: GATHERED // training.settings.batch_size]
            for _, batch in told("looking ahead", training.feed.batches(ahead), len(ahead), lambda _: 1):
                memory.add(Step(training.model, batch, training.objective.views).again())
        return memory.stacked()[:3]

    return Epoch(number, training.settings.epochs, training.model, everything.source, everything.target, gathered)


@contextmanager
def finite(training: Training, epoch: int, log: EpochLog | None = None) -> Iterator[None]:
    """A target head without a solution means that features are no longer finite."""
    try:
        yield
    except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
        what = ": ".join([*getattr(error, "__notes__", []), "the target head has no solution"])
        if log is None:
            raise diverged(training.settings, epoch, what) from None
        log.read()  # where a loss before it was not finite, that is what to say
        raise log.diverged(log.steps + 1, what) from None
    except NotFiniteError:
        raise diverged(training.settings, epoch, "the weights are not finite") from None
