"""The loop: Algorithm 1 for any sum of terms."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Protocol

import torch
from torch import Tensor

from cst.config import Config
from cst.data.cached import through_frozen
from cst.data.domains import Samples, Task, glimpse
from cst.data.identity import identity
from cst.data.loading import ahead, worker_count
from cst.data.samplers import Uniform
from cst.data.views import of_each_domain
from cst.engine.evaluation import oracle_metrics, predict, target_head_error
from cst.engine.events import event_writer
from cst.engine.memory import Memory
from cst.engine.objective import Learner, Objective
from cst.engine.run import Run
from cst.engine.schedules import rate
from cst.grammar import make
from cst.methods import Method
from cst.models.frozen import Frozen
from cst.models.model import Model
from cst.terms.contract import Batch, Epoch, Problem, Step

MEMORY = 1024
"""Samples of each domain whose features are kept for selecting alpha."""
WATCHED = 10_000
"""Target samples that the oracle looks at after each epoch; of the finished model it looks at all."""


StepSamples = tuple[Tensor, Tensor, Tensor, Tensor]
"""Positions in the source, positions in the target, and the inputs at both."""


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
        assert config.epochs
        assert config.ramp_epochs is not None
        assert config.augment
        self.task, self.config, self.run, self.listener = task, config, run, listener
        self.given = task
        self.batch_size, self.steps_per_epoch = config.batch_size, config.steps_per_epoch
        self.lr, self.schedule, self.epochs = config.lr, config.schedule, config.epochs
        try:
            self.fabric = Fabric(accelerator=config.device, devices=1, precision=config.precision)
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"Device '{config.device}' with precision '{config.precision}': {error}") from None
        problem = Problem(task.num_classes, feature_dim, len(task.target))
        self.objective = Objective(method, problem, config.ramp_epochs, config.warmup_epochs or 0.0)
        self.learner = Learner(model, self.objective)
        self.views = of_each_domain(config.augment)
        self._check_inputs()
        self.model = model
        self.objective.attach(model)
        optimizer: torch.optim.Optimizer = (
            torch.optim.AdamW(self._groups(), lr=self.lr)
            if config.optimizer == "adamw"
            else torch.optim.SGD(self._groups(), lr=self.lr, momentum=config.momentum)
        )
        self.wrapped, self.optimizer = self.fabric.setup(self.learner, optimizer)
        self.update = make(method.update, self.optimizer, self.fabric.backward)
        sizes = (len(task.target), task.num_classes, self.batch_size, config.seed)
        self.sampler: Uniform = make(method.sampling, task.source.labels, *sizes)
        self.memory = Memory(MEMORY, self.batch_size)
        self.task = self._after_frozen_layers()
        self.watched = glimpse(self.task, WATCHED)
        self.workers = worker_count(config.workers, self.task.source.samples, self.task.target)
        self.history: list[dict[str, Any]] = []

    def _check_inputs(self) -> None:
        """Tokens can be hidden and their word vectors perturbed where the backbone is one of ours, never averaged."""
        example = self.task.target.take(torch.tensor([0]))
        if "flip" in self.views and example.ndim != 4:
            raise ValueError("--augment flip mirrors images, but the data are none: choose mild or none.")
        if example.is_floating_point():
            return
        items = self.objective.items()
        ours = hasattr(self.learner.model.backbone, "embed")
        refused = [n for n, t in items if t.mixes or (not ours and (t.random_views or t.perturbs))]
        if self.config.augment != "none" and not ours:
            refused.append("augment")
        if refused:
            raise ValueError(
                f"{' and '.join(refused)} would change the inputs, which are whole numbers (tokens?): "
                "choose a method that works on features, such as cst."
            )

    def _after_frozen_layers(self) -> Task:
        """The task as the trained layers see it, where nothing random happens before them."""
        random = self.config.augment != "none" or any(term.random_views for _, term in self.objective.items())
        if random or not isinstance(self.model.prepare, Frozen):
            return self.task
        return through_frozen(self.task, self.model.prepare, self.config.cache, self.config.workers)

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
        with torch.random.fork_rng(), event_writer(self.config, self.run) as board:
            for epoch in range(self._restore(), self.epochs):
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
        numbers = range(epoch * self.steps_per_epoch, (epoch + 1) * self.steps_per_epoch)
        for number, samples in zip(numbers, ahead(self._read, numbers, self.workers), strict=True):
            self._set_rate(number, epoch)
            step = self._step(number, samples)
            taken = self._take(step)
            self.objective.after_step(self.model)
            for name, loss in taken.items():
                losses[name] = losses.get(name, 0.0) + loss / self.steps_per_epoch
            self.memory.add(step)
            counts += torch.bincount(self.memory.batches[-1][-1].cpu(), minlength=len(counts))
            if self.listener:
                self.listener.on_step(number + 1, self.epochs * self.steps_per_epoch)
        times = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu_began}
        return self._record(epoch, losses, counts / counts.sum(), times)

    def _start(self, epoch: int) -> None:
        """Let the sampling rule and the terms prepare for the epoch."""

        def target_logits() -> Tensor:
            return predict(self.model, self.task.target, workers=self.config.workers)[1]

        self.sampler.start_epoch(target_logits)
        try:
            self.objective.start_epoch(Epoch(epoch, self.epochs, lambda: self._gathered(epoch), target_logits))
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
            raise self.diverged(epoch, "the target head has no solution") from None

    def diverged(self, epoch: int, what: str) -> FloatingPointError:
        """The error of a run whose numbers are no longer finite."""
        return FloatingPointError(
            f"Training diverged in epoch {epoch + 1} ({what}): lower the learning rate, now {self.lr:g}, "
            "and begin a new run."
        )

    def _take(self, step: Step) -> dict[str, float]:
        """Take the step and return its losses, which must be finite."""
        try:
            losses = {name: float(loss.detach()) for name, loss in self.update.take(self.wrapped, step).items()}
        except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
            losses = {"cycle": math.nan}
        if not all(math.isfinite(loss) for loss in losses.values()):
            raise self.diverged(int(step.epochs), ", ".join(f"{name} {loss:g}" for name, loss in losses.items()))
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
        oracle = oracle_metrics(self.model, self.watched, self.watched.oracle, self.config.workers)
        if oracle:
            record["oracle"] = oracle
        record |= {name: round(seconds, 3) for name, seconds in times.items()}
        return record

    @property
    def _read(self) -> Callable[[int], StepSamples]:
        """What reads the samples of a step, here or in a worker process."""
        crops = tuple(self.task.views.crops and view == "mild" for view in self.views)
        return partial(_read_step, self.sampler, self.task.source.samples, self.task.target, self.config.seed, crops)

    def _step(self, number: int, samples: StepSamples | None = None) -> Step:
        """Step ``number``, of samples that were read before or are read now."""
        source, target, inputs, others = self._read(number) if samples is None else samples
        views = self.task.views
        batch = Batch(
            source=views.called(self.views[0])(inputs),
            labels=self.task.source.labels[source],
            target=views.called(self.views[1])(others),
            target_indices=target,
            strong=views.strong(others) if "strong" in self.objective.views else None,
            augment=views.strong,
        )
        moved = Batch(**self.fabric.to_device(vars(batch)))
        epochs = number / self.steps_per_epoch
        return Step(self.model, moved, self.objective.views, epochs, epochs / self.epochs)

    @torch.no_grad()
    def _gathered(self, epoch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Features for selecting alpha: of the epoch that has passed, or of a look ahead before the first."""
        if not self.memory:
            first = epoch * self.steps_per_epoch
            numbers = range(first, first + min(MEMORY // self.batch_size, self.steps_per_epoch))
            for number, samples in zip(numbers, ahead(self._read, numbers, self.workers), strict=True):
                self.memory.add(self._step(number, samples).again())
        return self.memory.stacked()[:3]

    def _set_rate(self, step: int, epoch: int) -> None:
        factor = rate(self.schedule, step, epoch, self.epochs)
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
                "data": self._data,
            }
        )

    @cached_property
    def _data(self) -> dict[str, Any]:
        """What must not change while a run is interrupted."""
        return {
            "classes": [str(name) for name in self.task.classes],
            "columns": list(self.task.columns),
            "source": len(self.task.source),
            "target": len(self.task.target),
            "content": identity(self.given),
        }

    def _restore(self) -> int:
        """Go back to the last checkpoint and return how many epochs it has behind it."""
        if self.run is None:
            return 0
        state = self.run.load_checkpoint()
        if state is None:
            self.run.rewind(0)
            return 0
        changed = [key for key, value in state.get("data", {}).items() if self._data[key] != value]
        if changed:
            raise ValueError(
                f"{self.run.folder} began with other data ({' and '.join(changed)} differ): resume it with those."
            )
        try:
            self.learner.load_state_dict(state["learner"])
        except RuntimeError:
            where = self.run.folder
            raise ValueError(f"{where} began with another model: resume it with the same data and backbone.") from None
        self.optimizer.load_state_dict(state["optimizer"])
        self.memory.load_state_dict(self.fabric.to_device(state["memory"]))
        self.history = self.run.rewind(state["epochs"])
        return int(state["epochs"])


def _read_step(
    sampler: Uniform, source: Samples, target: Samples, seed: int, crops: tuple[bool, ...], number: int
) -> StepSamples:
    """What a step sees of both domains; of files random parts, where the domain's ``crops`` say so."""
    first, second = sampler.batch(number)
    own = 2 * (seed * 1_000_003 + number)
    seeds = (own if crops[0] else None, own + 1 if crops[1] else None)
    return first, second, source.take(first, seeds[0]), target.take(second, seeds[1])
