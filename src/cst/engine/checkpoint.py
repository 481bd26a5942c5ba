"""All that is needed to go on after a step, and nothing that is not.

Most of a run is a function of its settings and of the number of the step. The rest is in a checkpoint: weights and
buffers of the model and of the terms, the optimizer, gathered features; attributes of terms, of the sampling rule and
of the update rule that are plain values; and, within an epoch, its losses so far and the state of the random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from cst.engine.records import EpochLog, diverged
from cst.engine.run import Run
from cst.engine.setup import Training
from cst.engine.stopping import Stopping
from cst.engine.warm_start import WarmStart
from cst.ranks.rows import anyone

OF_MODULES = frozenset(vars(nn.Module()))
"""Attributes that every module has; what is in them is part of its state already."""
OF_THE_DATA = ("labels",)
"""What a sampling rule knows of the data."""


class Checkpoints:
    """Those of one run: after every epoch, every so many steps, and when the process is asked to stop.

    Args:
        run: its folder; without one nothing is kept, and nothing stops later than it is told to.
        training: what they hold.
        every: steps between them within an epoch; None for none.
        warm: a warm-up that several runs share, where a run begins that has none of its own behind it.
    """

    def __init__(
        self, run: Run | None, training: Training, every: int | None = None, warm: WarmStart | None = None
    ) -> None:
        self.run, self.training, self.every, self.warm = run, training, every, warm
        self.stopping = Stopping()
        self.within: dict[str, Any] | None = None
        self.last = "There is no checkpoint before it."

    def restore(self) -> list[dict[str, Any]]:
        """Go back to the last checkpoint and return the records of the epochs behind it."""
        state = self.run.load_checkpoint() if self.run else None
        if self.run is None or state is None:
            return self._begin()
        run, training = self.run, self.training
        changed = [key for key, value in state["data"].items() if training.identity[key] != value]
        if changed:
            raise ValueError(
                f"{run.folder} began with other data ({' and '.join(changed)} differ): resume it with those."
            )
        if "objective" not in state:  # the run is finished
            training.model.load_state_dict(run.load_weights())
            return run.rewind(state["epochs"])
        try:
            training.objective.load_state_dict(state["objective"])
        except RuntimeError:
            raise ValueError(
                f"{run.folder} began with another model: resume it with the same data and backbone."
            ) from None
        training.optimizer.load_state_dict(state["optimizer"])
        training.memory.load_state_dict(training.feed.to_device(state["memory"]))
        set_attributes(training, state["attributes"])
        self.within = state["within"]
        self._tell_where(state["behind"], self.within)
        return run.rewind(state["behind"])

    def _begin(self) -> list[dict[str, Any]]:
        history = self.warm.begin(self.training) if self.warm else []
        if self.run:
            self.run.write_records(history)  # a checkpoint within the next epoch has them behind it
        return history

    def go_on(self, log: EpochLog) -> bool:
        """Whether the epoch has begun already; then the log and the random numbers are where they were."""
        within, self.within = self.within, None
        if within is None:
            return False
        log.load_state_dict(self.training.feed.to_device(within["log"]))
        set_random_state(within["random"])
        return True

    def after_step(self, log: EpochLog) -> None:
        """Keep the state within an epoch where it is time, or where this is the last that the process can do."""
        if self.run is None or not (self._is_asked_to_stop or self._is_due(log.steps)):
            return
        self.stopping.wait()
        log.read()  # which ends a run that has diverged
        self._save(log.epoch, {"log": log.state_dict(), "random": random_state(self._device)})
        self.stopping.hand_on()

    def after_epoch(self, history: list[dict[str, Any]]) -> None:
        """Keep the records and the state behind them."""
        if self.warm:
            self.warm.keep(self.training, history)
        if self.run:
            self.run.write_records(history)
            self._save(len(history), None)
            self.stopping.hand_on()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Within it signals wait for the next step, and a run that diverges says where it was last well."""
        if self.run is None:
            yield
            return
        with self.stopping:
            try:
                yield
            except FloatingPointError as error:
                raise FloatingPointError(f"{error} {self.last}") from None

    @property
    def _is_asked_to_stop(self) -> bool:
        """Whether any of the processes was: all of them keep the state, or none."""
        return anyone(self.stopping.asked is not None)

    @property
    def _device(self) -> torch.device:
        return next(self.training.model.parameters()).device

    def _is_due(self, steps: int) -> bool:
        return self.every is not None and steps % self.every == 0 and steps < self.training.settings.steps_per_epoch

    def _save(self, behind: int, within: dict[str, Any] | None) -> None:
        run, training = self.run, self.training
        assert run is not None
        weights = [weight.isfinite().all() for weight in training.objective.parameters()]
        if not bool(torch.stack(weights).all()):
            raise diverged(training.settings, behind if within else behind - 1, "the weights are not finite")
        run.save_checkpoint(
            {
                "behind": behind,
                "within": within,
                "objective": training.objective.state_dict(),
                "optimizer": training.optimizer.state_dict(),
                "memory": training.memory.state_dict(),
                "attributes": attributes(training),
                "data": training.identity,
            }
        )
        self._tell_where(behind, within)

    def _tell_where(self, behind: int, within: dict[str, Any] | None) -> None:
        """For the sentence of a run that diverges later."""
        assert self.run is not None
        step = f"step {within['log']['steps']} of epoch {behind + 1}" if within else f"epoch {behind}"
        self.last = (
            f"The checkpoint after {step} is of before that: 'cst train --resume {self.run.folder}' goes on from it, "
            "should this have been an accident of the machine."
        )


def finish(run: Run, training: Training, keep: bool) -> None:
    """Keep of a finished run's checkpoint what tells its data, or all; the weights lie beside it."""
    if not keep:
        run.save_checkpoint({"epochs": training.settings.epochs, "data": training.identity})
    run.previous_file.unlink(missing_ok=True)


def attributes(training: Training) -> dict[str, dict[str, Any]]:
    """What has changed without being a weight or a buffer: plain values, by whose they are and their names."""
    return {
        owner: {name: value for name, value in vars(part).items() if name not in skipped and is_plain(value)}
        for owner, part, skipped in _owners(training)
    }


def set_attributes(training: Training, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Bring them back; tensors of terms lie where the model is."""
    for owner, part, _ in _owners(training):
        kept = values.get(owner, {})
        for name, value in (training.feed.to_device(kept) if isinstance(part, nn.Module) else kept).items():
            setattr(part, name, value)


def _owners(training: Training) -> Iterator[tuple[str, Any, frozenset[str] | tuple[str, ...]]]:
    yield "sampler", training.sampler, OF_THE_DATA
    yield "update", training.update, ()
    for name, term in training.objective.items():
        yield f"terms.{name}", term, OF_MODULES


def is_plain(value: Any) -> bool:
    """Whether a checkpoint can hold it without running code when it is read.

    >>> is_plain({"seen": [3, torch.zeros(2)]}), is_plain(print)
    (True, False)
    """
    if isinstance(value, dict):
        return type(value) is dict and all(is_plain(part) for item in value.items() for part in item)
    if isinstance(value, list | tuple | set):
        return type(value) in (list, tuple, set) and all(map(is_plain, value))
    return type(value) in (bool, int, float, str, type(None), Tensor)


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Of the random numbers of the CPU, and of the device that trains."""
    states = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        states[device.type] = torch.get_device_module(device.type).get_rng_state()
    return states


def set_random_state(states: Mapping[str, Tensor]) -> None:
    """Go back to it, as far as there are such devices."""
    for device, state in states.items():
        if device == "cpu":
            torch.set_rng_state(state)
        elif torch.get_device_module(device).is_available():
            torch.get_device_module(device).set_rng_state(state)
