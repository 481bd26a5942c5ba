"""Who else is told the figures of a run: TensorBoard, MLflow, Weights & Biases.

Each is a `cst.Callback`. What they write lies in the run folder, unless the environment names a server in the way of
each. A run that goes on goes on with them, too. What goes wrong there while a run goes on does not end it.
"""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.config.options import TRACKERS
from cst.engine.callbacks import Callback
from cst.engine.metrics import metric
from cst.engine.run import Run
from cst.extras import missing
from cst.files import write_text_aside

if TYPE_CHECKING:
    from cst.config import Settings

ORACLE = "oracle"
PROJECT = "cst"
"""What runs are filed under, unless the environment says otherwise."""
AT_ONCE = 100
"""Figures or settings that MLflow takes in one message."""
LONGEST = 500
"""Characters of a setting."""


def figures(record: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of a record by the names of the table of metrics, groups in front; vectors are left out.

    What looked at labels of the target says so, wherever it stands.

    >>> dict(figures({"alpha": 1.5, "loss": {"total": 0.5}, "oracle": {"accuracy": 0.8}, "accuracy": 0.8}))
    {'alpha': 1.5, 'loss/total': 0.5, 'oracle/accuracy': 0.8}
    """
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from figures(value, f"{group}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            marked = metric(name).oracle and ORACLE not in group.split("/")
            yield f"{group}{f'{ORACLE}/' * marked}{name}", float(value)


class Tracker(Callback, ABC):
    """Hands the numbers of a run to a program that keeps and draws them.

    Args:
        folder: of the run.
    """

    name: str

    def __init__(self, folder: Path) -> None:
        self.run = Run(Path(folder))
        self.step, self.finished, self._broken = 0, False, False

    @abstractmethod
    def begin(self, settings: Settings) -> None:
        """Open or go on with the run there."""

    @abstractmethod
    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """Numbers by name, after an epoch."""

    @abstractmethod
    def conclude(self, numbers: Mapping[str, float], verdict: str) -> None:
        """The figures of the finished run."""

    @abstractmethod
    def close(self) -> None:
        """The run is over, finished or not."""

    def on_settings(self, settings: Settings) -> None:
        """Begin; where that cannot be done, the run does not begin either."""
        try:
            self.begin(settings)
        except Exception as error:
            self._broken = True
            reason = " ".join(str(error).split())[:LONGEST] or type(error).__name__
            raise ValueError(f"log={self.name} cannot begin: {reason}") from None

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Every number of the record."""
        self.step = record["epoch"]
        numbers = {name: number for name, number in figures(record) if name != "epoch"}
        self._unless_broken(lambda: self.write(numbers, self.step))

    def on_result(self, result: dict[str, Any]) -> None:
        """The final figures, beside those of the last epoch."""
        self.finished = True
        verdict = str((result.get("verdict") or {}).get("word", ""))
        self._unless_broken(lambda: self.conclude(dict(figures(result, "result/")), verdict))

    def on_end(self) -> None:
        """Close."""
        self._unless_broken(self.close)

    def _unless_broken(self, act: Callable[[], None]) -> None:
        if self._broken:
            return
        try:
            act()
        except Exception as error:
            self._broken = True
            warnings.warn(f"log={self.name} is told no more ({type(error).__name__}); the run goes on.", stacklevel=2)

    @property
    def known_as(self) -> str | None:
        """What the run is called there, if an earlier part of it was told."""
        return self._names().get(self.name)

    def remember(self, name: str) -> None:
        """Keep what the run is called there, for its later parts."""
        write_text_aside(self.run.trackers_file, json.dumps({**self._names(), self.name: name}) + "\n")

    def _names(self) -> dict[str, str]:
        with suppress(OSError, ValueError, TypeError):
            return dict(json.loads(self.run.trackers_file.read_text(encoding="utf-8")))
        return {}


class TensorBoard(Tracker):
    """Events in ``tensorboard/`` of the run folder."""

    name = "tensorboard"

    def begin(self, settings: Settings) -> None:
        """Open a file of events."""
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(self.run.folder / "tensorboard"))

    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """One event for each number."""
        for name, number in numbers.items():
            self.writer.add_scalar(name, number, step)

    def conclude(self, numbers: Mapping[str, float], verdict: str) -> None:
        """Likewise, and the verdict as a text."""
        self.write(numbers, self.step)
        self.writer.add_text("verdict", verdict, self.step)

    def close(self) -> None:
        """Close the file."""
        self.writer.close()


class MLflow(Tracker):
    """A run of MLflow, at ``MLFLOW_TRACKING_URI`` or in ``mlflow.db`` of the run folder."""

    name = "mlflow"

    def begin(self, settings: Settings) -> None:
        """Open a run with the settings as its parameters, or go on with one."""
        from mlflow import MlflowClient
        from mlflow.entities import Param

        place = os.environ.get("MLFLOW_TRACKING_URI")
        self.client = MlflowClient(place or f"sqlite:///{self.run.folder.resolve() / 'mlflow.db'}")
        if self.known_as:
            self.id = self.known_as
            self.client.update_run(self.id, status="RUNNING")
            return
        project = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        known = self.client.get_experiment_by_name(project)
        artifacts = None if place else (self.run.folder.resolve() / "mlflow").as_uri()
        experiment = known.experiment_id if known else self.client.create_experiment(project, artifacts)
        self.id = self.client.create_run(experiment, run_name=self.run.folder.name).info.run_id
        self.remember(self.id)
        values = [Param(name, str(value)[:LONGEST]) for name, value in settings.to_dict().items()]
        for start in range(0, len(values), AT_ONCE):
            self.client.log_batch(self.id, params=values[start : start + AT_ONCE])

    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """All numbers in few messages; its names have letters, digits and some marks only."""
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        values = [Metric(re.sub(r"[^\w\-. /]", "_", name), number, now, step) for name, number in numbers.items()]
        for start in range(0, len(values), AT_ONCE):
            self.client.log_batch(self.id, metrics=values[start : start + AT_ONCE])

    def conclude(self, numbers: Mapping[str, float], verdict: str) -> None:
        """Likewise, and the verdict as a tag."""
        self.write(numbers, self.step)
        self.client.set_tag(self.id, "verdict", verdict)

    def close(self) -> None:
        """Say how it ended."""
        self.client.set_terminated(self.id, "FINISHED" if self.finished else "KILLED")


class WandB(Tracker):
    """A run of Weights & Biases in ``wandb/`` of the run folder; sent nowhere unless ``WANDB_MODE`` says so."""

    name = "wandb"

    def begin(self, settings: Settings) -> None:
        """Open a run with the settings as its configuration, or go on with one."""
        import wandb

        mode: Any = os.environ.get("WANDB_MODE", "offline")
        self.session: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=self.run.folder.name,
            id=self.known_as,
            resume="allow" if self.known_as else None,
            mode=mode,
            dir=str(self.run.folder),
            config=settings.to_dict(),
            reinit="create_new",
            settings=wandb.Settings(console="off", silent=True, disable_git=True, disable_code=True),
        )
        self.remember(str(self.session.id))

    def write(self, numbers: Mapping[str, float], step: int) -> None:
        """One row of its history."""
        self.session.log(dict(numbers), step=step)

    def conclude(self, numbers: Mapping[str, float], verdict: str) -> None:
        """The summary of the run."""
        self.session.summary.update({**numbers, "verdict": verdict})

    def close(self) -> None:
        """Say how it ended."""
        self.session.finish(exit_code=0 if self.finished else 1)


KINDS: dict[str, type[Tracker]] = {kind.name: kind for kind in (TensorBoard, MLflow, WandB)}
assert tuple(KINDS) == TRACKERS


def check_trackers(names: tuple[str, ...], folder: Path | None) -> None:
    """Refuse trackers that are not installed, or that have no folder to write to, before anything is done."""
    if names and folder is None:
        raise ValueError("log= writes into the folder of a run: name one with out=.")
    for name in names:
        if find_spec(name) is None:
            raise missing(name, f"log={name}")


def tracker(name: str, run: Run) -> Tracker:
    """The tracker of that name."""
    return KINDS[name](run.folder)
