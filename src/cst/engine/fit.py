"""The loop: Algorithm 1 for any sum of terms."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor

from cst.config import Config
from cst.data import views
from cst.data.domains import Task
from cst.data.samplers import Uniform
from cst.engine.evaluation import oracle_metrics, predict, target_head_error
from cst.engine.memory import Memory
from cst.engine.objective import Learner, Objective
from cst.engine.run import Run
from cst.engine.schedules import rate
from cst.grammar import make
from cst.methods import Method
from cst.models.model import Model
from cst.terms.contract import Batch, Epoch, Problem, Step

MEMORY = 1024
"""Samples of each domain whose features are kept for selecting alpha."""


class Listener(Protocol):
    """Somebody who watches a run."""

    def on_step(self, step: int, total: int) -> None:
        """After each step."""

    def on_epoch(self, record: dict[str, Any]) -> None:
        """After each epoch."""


class Trainer:
    """One run in progress.

    Args:
        model: what is trained, in place.
        task: the data.
        method: terms and update rule.
        config: resolved, nothing in it is ``None`` but ``out``.
        feature_dim: d.
        run: where to write; nothing is written without.
        listener: who is told.
    """

    def __init__(
        self,
        model: Model,
        task: Task,
        method: Method,
        config: Config,
        feature_dim: int,
        run: Run | None = None,
        listener: Listener | None = None,
    ) -> None:
        from lightning_fabric import Fabric

        assert config.batch_size
        assert config.steps_per_epoch
        assert config.lr is not None
        assert config.schedule
        self.task, self.config, self.run, self.listener = task, config, run, listener
        self.batch_size, self.steps_per_epoch = config.batch_size, config.steps_per_epoch
        self.lr, self.schedule = config.lr, config.schedule
        try:
            self.fabric = Fabric(accelerator=config.device, devices=1, precision=config.precision)
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"Device '{config.device}' with precision '{config.precision}': {error}") from None
        problem = Problem(task.num_classes, feature_dim, len(task.target))
        self.objective = Objective(method, problem, config.ramp_epochs)
        self._check_inputs()
        self.learner = Learner(model, self.objective)
        self.model = model
        self.objective.attach(model)
        optimizer = torch.optim.SGD(self._groups(), lr=self.lr, momentum=config.momentum)
        self.wrapped, self.optimizer = self.fabric.setup(self.learner, optimizer)
        self.update = make(method.update, self.optimizer, self.fabric.backward)
        sizes = (len(task.target), task.num_classes, self.batch_size, config.seed)
        self.sampler: Uniform = make(method.sampling, task.source.labels, *sizes)
        self.memory = Memory(MEMORY, self.batch_size)
        self.history: list[dict[str, Any]] = []

    def _check_inputs(self) -> None:
        """Random views and perturbations exist for real numbers only."""
        changing = [name for name, term in self.objective.items() if term.changes_inputs]
        if self.config.augment != "none":
            changing.append("augment")
        if changing and not self.task.target.take(torch.tensor([0])).is_floating_point():
            raise ValueError(
                f"{' and '.join(changing)} would change the inputs, which are whole numbers (tokens?): "
                "choose a method that works on features, such as cst."
            )

    def _groups(self) -> list[dict[str, Any]]:
        """The backbone learns at its own rate; the head and what terms own learn at the full one."""
        heads = [*self.model.head.parameters(), *(p for p in self.objective.parameters() if p.requires_grad)]
        decay = self.config.weight_decay
        groups: list[dict[str, Any]] = [
            {"role": "backbone", "params": list(self.model.backbone.parameters()), "scale": self.config.backbone_lr},
            {"role": "heads", "params": heads, "scale": 1.0},
        ]
        groups = [{**group, "weight_decay": decay} for group in groups]
        return [group for group in groups if group["params"]]

    def fit(self) -> list[dict[str, Any]]:
        """Train from where the run stands to its last epoch and return the records of all epochs."""
        with torch.random.fork_rng(), _tensorboard(self.config, self.run) as board:
            for epoch in range(self._restore(), self.config.epochs):
                record = self._epoch(epoch)
                self.history.append(record)
                if self.run:
                    self.run.append(record)
                    self._checkpoint(epoch + 1)
                board(record)
                if self.listener:
                    self.listener.on_epoch(record)
        return self.history

    def _epoch(self, epoch: int) -> dict[str, Any]:
        began, cpu_began = time.perf_counter(), time.process_time()
        torch.manual_seed((self.config.seed * 1_000_003 + epoch + 1) % 2**63)
        self.learner.train()
        self._start(epoch)
        losses: dict[str, float] = {}
        counts = torch.zeros(self.task.num_classes)
        for place in range(self.steps_per_epoch):
            number = epoch * self.steps_per_epoch + place
            self._set_rate(number, epoch)
            step = self._step(number)
            taken = self._take(step)
            self.objective.after_step(self.model)
            for name, loss in taken.items():
                losses[name] = losses.get(name, 0.0) + loss / self.steps_per_epoch
            self.memory.add(step)
            counts += torch.bincount(self.memory.batches[-1][-1].cpu(), minlength=len(counts))
            if self.listener:
                self.listener.on_step(number + 1, self.config.epochs * self.steps_per_epoch)
        times = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu_began}
        return self._record(epoch, losses, counts / counts.sum(), times)

    def _start(self, epoch: int) -> None:
        """Let the sampling rule and the terms prepare for the epoch."""

        def target_logits() -> Tensor:
            return predict(self.model, self.task.target)[1]

        self.sampler.start_epoch(target_logits)
        try:
            self.objective.start_epoch(Epoch(epoch, self.config.epochs, lambda: self._gathered(epoch), target_logits))
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
            raise self._diverged(epoch, "the target head has no solution") from None

    def _diverged(self, epoch: int, what: str) -> FloatingPointError:
        return FloatingPointError(
            f"Training diverged in epoch {epoch + 1} ({what}): lower the learning rate, now {self.lr:g}."
        )

    def _take(self, step: Step) -> dict[str, float]:
        """Take the step and return its losses, which must be finite."""
        try:
            losses = {name: float(loss.detach()) for name, loss in self.update.take(self.wrapped, step).items()}
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
            losses = {"cycle": math.nan}
        if not all(math.isfinite(loss) for loss in losses.values()):
            raise self._diverged(int(step.epochs), ", ".join(f"{name} {loss:g}" for name, loss in losses.items()))
        return losses

    def _record(self, epoch: int, losses: dict[str, float], labels: Tensor, times: dict[str, float]) -> dict[str, Any]:
        """What the epoch's line in the metrics says."""
        weights = {name: round(self.objective.weight(name, epoch + 1), 6) for name, _ in self.objective.items()}
        record: dict[str, Any] = {
            "epoch": epoch + 1,
            "step": (epoch + 1) * self.steps_per_epoch,
            "lr": self.optimizer.param_groups[-1]["lr"],
            "loss": {name: round(value, 6) for name, value in losses.items()},
            "weight": weights,
            **self.objective.metrics(),
            "pseudo_label_distribution": [round(float(share), 6) for share in labels],
            "target_head_source_error": round(target_head_error(*self.memory.stacked(), self.task.num_classes), 6),
        }
        oracle = oracle_metrics(self.model, self.task, self.task.oracle)
        if oracle:
            record["oracle"] = oracle
        record |= {name: round(seconds, 3) for name, seconds in times.items()}
        return record

    def _step(self, number: int) -> Step:
        source, target = self.sampler.batch(number)
        inputs = self.task.target.take(target)
        augment = views.mild if self.config.augment == "mild" else lambda x: x
        batch = Batch(
            source=augment(self.task.source.samples.take(source)),
            labels=self.task.source.labels[source],
            target=augment(inputs),
            target_indices=target,
            strong=views.strong(inputs) if "strong" in self.objective.views else None,
            augment=views.strong,
        )
        moved = Batch(**self.fabric.to_device(vars(batch)))
        epochs = number / self.steps_per_epoch
        return Step(self.model, moved, self.objective.views, epochs, epochs / self.config.epochs)

    @torch.no_grad()
    def _gathered(self, epoch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Features for selecting alpha: of the epoch that has passed, or of a look ahead before the first."""
        if not self.memory:
            for number in range(min(MEMORY // self.batch_size, self.steps_per_epoch)):
                self.memory.add(self._step(epoch * self.steps_per_epoch + number).again())
        return self.memory.stacked()[:3]

    def _set_rate(self, step: int, epoch: int) -> None:
        factor = rate(self.schedule, step, epoch, self.config.epochs)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr * factor * group["scale"]

    def _checkpoint(self, epochs: int) -> None:
        assert self.run
        self.run.save_checkpoint(
            {
                "epochs": epochs,
                "learner": self.learner.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "memory": self.memory.state_dict(),
            }
        )

    def _restore(self) -> int:
        """Go back to the last checkpoint and return how many epochs it has behind it."""
        if self.run is None:
            return 0
        state = self.run.load_checkpoint()
        if state is None:
            self.run.rewind(0)
            return 0
        try:
            self.learner.load_state_dict(state["learner"])
        except RuntimeError:
            where = self.run.folder
            raise ValueError(f"{where} began with another model: resume it with the same data and backbone.") from None
        self.optimizer.load_state_dict(state["optimizer"])
        self.memory.load_state_dict(self.fabric.to_device(state["memory"]))
        self.history = self.run.rewind(state["epochs"])
        return int(state["epochs"])


@contextmanager
def _tensorboard(config: Config, run: Run | None) -> Iterator[Any]:
    """A function that writes a record's numbers as TensorBoard events, or does nothing."""
    if not (config.tensorboard and run):
        yield lambda record: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ValueError(
            "--tensorboard needs the package tensorboard: pip install 'cycle-self-training[tensorboard]'."
        ) from None
    with SummaryWriter(str(run.folder / "tensorboard")) as writer:

        def write(record: dict[str, Any]) -> None:
            for key, value in record.items():
                for name, number in value.items() if isinstance(value, dict) else [("", value)]:
                    if isinstance(number, int | float):
                        writer.add_scalar(f"{key}/{name}".rstrip("/"), number, record["epoch"])

        yield write
