"""What an epoch leaves behind: its losses, read from the device now and then, and its record."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cst.config import Settings
from cst.engine.metrics import target_head_error

if TYPE_CHECKING:
    from cst.engine.evaluation import Evaluation
    from cst.engine.setup import Training

INTERVAL, SECONDS = 50, 2.0
"""Steps, and seconds, after which losses are read from the device and looked at."""


def diverged(settings: Settings, epoch: int, what: str) -> FloatingPointError:
    """The error of a run whose numbers are no longer finite; ``what`` says the step and whose they are."""
    return FloatingPointError(
        f"Training diverged in epoch {epoch + 1} ({what}): lower the learning rate, now {settings.lr:g}, "
        "and begin a new run."
    )


def who_diverged(losses: dict[str, float]) -> str:
    """Which losses of a step are not finite, of those of its terms and their total.

    >>> who_diverged({"source": 0.3, "cycle": math.nan, "total": math.nan})
    'cycle is nan; source is 0.3'
    >>> who_diverged({"source": math.inf, "cycle": math.nan, "total": math.nan})
    'source is inf, cycle is nan: the step before left weights that give no numbers'
    """
    terms = {name: value for name, value in losses.items() if name != "total"}
    wrong = {name: value for name, value in terms.items() if not math.isfinite(value)}
    listed, others = (
        ", ".join(f"{name} is {value:g}" for name, value in part.items())
        for part in (wrong or losses, {name: value for name, value in terms.items() if name not in wrong})
    )
    if len(wrong) == len(terms) > 1:
        return f"{listed}: the step before left weights that give no numbers"
    return f"{listed}; {others}" if wrong and others else listed


class EpochLog:
    """Losses and pseudo-labels of an epoch. They stay on the device and are read every `INTERVAL` steps."""

    def __init__(
        self,
        settings: Settings,
        epoch: int,
        num_classes: int,
        tell: Callable[[dict[str, float]], None] = lambda _: None,
    ) -> None:
        self.settings, self.epoch, self.num_classes, self.tell = settings, epoch, num_classes, tell
        self.means: dict[str, float] = {}
        self._pending: list[dict[str, Tensor]] = []
        self._counts: Tensor | int = 0
        self._began, self._cpu_began = time.perf_counter(), time.process_time()
        self._read_steps, self._read_at = 0, self._began

    @property
    def steps(self) -> int:
        """How many have been taken."""
        return self._read_steps + len(self._pending)

    def add(self, losses: dict[str, Tensor], labels: Tensor) -> None:
        """Keep the losses of a step and the pseudo-labels of its target batch."""
        self._pending.append({name: loss.detach() for name, loss in losses.items()})
        self._counts = self._counts + torch.bincount(labels, minlength=self.num_classes)
        if len(self._pending) == INTERVAL or time.perf_counter() - self._read_at > SECONDS:
            self.read()

    def read(self) -> None:
        """Take what is pending from the device, at once; a loss that is not finite ends the run."""
        if not self._pending:
            return
        precise = torch.float32 if self._pending[0]["total"].device.type == "mps" else torch.float64
        flat = torch.stack([loss.to(precise) for losses in self._pending for loss in losses.values()]).tolist()
        values = iter(flat)
        for number, losses in enumerate(self._pending, self._read_steps + 1):
            step = {name: next(values) for name in losses}
            if not all(map(math.isfinite, step.values())):
                raise self.diverged(number, who_diverged(step))
            for name, value in step.items():
                self.means[name] = self.means.get(name, 0.0) + value / self.settings.steps_per_epoch
        self._read_steps += len(self._pending)
        self._pending.clear()
        self._read_at = time.perf_counter()
        share = self._read_steps / self.settings.steps_per_epoch
        self.tell({name: value / share for name, value in self.means.items()})

    def diverged(self, step: int, what: str) -> FloatingPointError:
        """The error of a run whose numbers are no longer finite at step number ``step`` of the epoch, from 1."""
        return diverged(self.settings, self.epoch, f"step {step} of {self.settings.steps_per_epoch}: {what}")

    def state_dict(self) -> dict[str, Any]:
        """For a checkpoint within the epoch; all that was pending has been read."""
        now, cpu_now = time.perf_counter(), time.process_time()
        return {
            "steps": self._read_steps,
            "means": self.means,
            "counts": torch.as_tensor(self._counts).cpu(),
            "seconds": (now - self._began, cpu_now - self._cpu_began),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """From a checkpoint."""
        self._read_steps, self.means = state["steps"], dict(state["means"])
        self._counts = state["counts"]
        self._began -= state["seconds"][0]
        self._cpu_began -= state["seconds"][1]

    @property
    def source_loss(self) -> float:
        """The mean of the source's loss, or of the total where another term stands in for it."""
        self.read()
        return self.means.get("source", self.means["total"])

    def record(self, training: Training, evaluation: Evaluation) -> dict[str, Any]:
        """The epoch's line in the metrics."""
        self.read()
        seconds, cpu_seconds = time.perf_counter() - self._began, time.process_time() - self._cpu_began
        objective, after = training.objective, self.epoch + 1
        weights = {name: round(objective.weight(name, after), 6) for name, _ in objective.items()}
        counts = torch.as_tensor(self._counts).float().cpu()
        record: dict[str, Any] = {
            "epoch": after,
            "step": after * self.settings.steps_per_epoch,
            "lr": training.optimizer.param_groups[-1]["lr"],
            "loss": {name: round(value, 6) for name, value in self.means.items()},
            "weight": weights,
            **objective.metrics(),
            "pseudo_label_distribution": [round(float(share), 6) for share in counts / counts.sum()],
            "batch_target_head_error": round(target_head_error(*training.memory.stacked(), self.num_classes), 6),
        }
        if oracle := evaluation.figures(oracle=True):
            record["oracle"] = oracle
        return {**record, "seconds": round(seconds, 3), "cpu_seconds": round(cpu_seconds, 3)}
