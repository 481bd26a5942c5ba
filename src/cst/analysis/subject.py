"""A run that is looked at: its records, what it kept, and, where its data are still there, its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from cst.config.options import IN_MEMORY, config_from, load_options
from cst.data.labels import UNKNOWN
from cst.engine import snapshots
from cst.engine.metrics import distribution
from cst.engine.run import Run
from cst.engine.snapshots import AFTER, BEFORE, Snapshot
from cst.selection import Outputs
from cst.spelling import printable

if TYPE_CHECKING:
    from cst.data.samples import Samples
    from cst.data.task import EncodedTask, Task
    from cst.engine.adapted import Adapted
    from cst.engine.evaluation import DomainView

MOST_FEATURES = 1000
"""Samples of each domain whose features are computed where no snapshot has them."""


@dataclass(frozen=True)
class Data:
    """The data of a run, and its model."""

    adapted: Adapted
    task: Task
    encoded: EncodedTask


@dataclass(frozen=True)
class Predictions:
    """Logits of the target, and its labels where they are known.

    Attributes:
        logits: [M, K].
        positions: the places of these samples in the target [M].
        labels: [M], `UNKNOWN` where there is none; ``None`` if there are none at all (oracle).
        temperature: that calibration found.
    """

    logits: Tensor
    positions: Tensor
    labels: Tensor | None = None
    temperature: float = 1.0

    @property
    def raw_probs(self) -> Tensor:
        """The softmax of the logits, which the paper's figures are about [M, K]."""
        return self.logits.double().softmax(-1)

    @property
    def probs(self) -> Tensor:
        """The probabilities that users get [M, K]."""
        return (self.logits.double() / self.temperature).softmax(-1)

    @property
    def pseudo_labels(self) -> Tensor:
        """The first choice [M]."""
        return self.logits.argmax(-1)

    @property
    def known(self) -> Tensor | None:
        """Which samples have a label [M] (oracle)."""
        return None if self.labels is None else self.labels != UNKNOWN


class Subject:
    """A run that is looked at. Data are read, and predictions made, when they are asked for, once.

    Args:
        folder: of the run.
        changes: options that differ from the run's, such as where the data lie now.

    Attributes:
        name: what figures call it.
        trouble: why the data cannot be read, once that was tried.
    """

    def __init__(self, folder: Path, changes: Mapping[str, Any] | None = None) -> None:
        self.run = Run.open(folder)
        self.settings, self.history = self.run.settings, self.run.history()
        self.result: dict[str, Any] = self.run.result or {}
        self.changes = dict(changes or {})
        self.name = self.task_name
        self.trouble = ""
        self._features: dict[str, Tensor] = {}

    @property
    def task_name(self) -> str:
        """What the data are called, with how they were drawn from a task."""
        return ", ".join(filter(None, [self.settings.label_of_data, self.settings.data["resample"]]))

    @cached_property
    def data(self) -> Data | None:
        """The data as the run took them, and its model; ``None``, and the reason in ``trouble``, if they are gone."""
        try:
            return self._read()
        except (ValueError, OSError, ImportError) as error:
            if set(self.changes) - {"workers"}:  # somebody said where they are
                raise
            self.trouble = " ".join(str(error).split())
            return None

    def _read(self) -> Data:
        from cst.engine.adapted import load
        from cst.tasks import load_task

        file = self.run.config_file
        config = config_from({**load_options(file), **self.changes}, where=str(file))
        if config.task in IN_MEMORY:
            raise ValueError("The run was trained on arrays or lists in memory, which have no place.")
        adapted = load(self.run.folder)
        task = load_task(config, adapted.spec.columns)
        adapted.check(task)
        return Data(adapted, task, adapted.spec.encode(task))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; numbers where no model says them."""
        from cst.models.spec import ModelSpec

        if self.run.has_model:
            return tuple(printable(str(name)) for name in ModelSpec.load(self.run.folder).classes)
        return tuple(map(str, range(len(self.predicted_shares or ()))))

    @cached_property
    def predictions(self) -> Predictions | None:
        """Of the whole target; of the samples of the last snapshot, if the data are gone."""
        if self.data is None:
            if self.after is None:
                return None
            return Predictions(self.after.outputs.target_logits, self.after.target_positions)
        view = self._view("target", self.data.encoded.target)
        if self.after is None and len(view.samples) <= MOST_FEATURES:
            self._features["target"] = view.features  # of which logits follow
        labels = self.data.encoded.oracle.target_labels
        return Predictions(view.logits, torch.arange(len(view.samples)), labels, self.data.adapted.spec.temperature)

    def _view(self, domain: str, samples: Samples) -> DomainView:
        from cst.engine.evaluation import DomainView

        assert self.data is not None
        return DomainView(self.data.adapted.model, samples, domain, self.changes.get("workers"))

    @cached_property
    def before(self) -> Snapshot | None:
        """What the model made of some samples when its warm-up on the source ended."""
        return snapshots.load(self.run.folder, BEFORE)

    @cached_property
    def after(self) -> Snapshot | None:
        """What the finished model makes of the same samples."""
        return snapshots.load(self.run.folder, AFTER)

    @cached_property
    def features(self) -> tuple[Tensor, Tensor] | None:
        """Of some samples of the source and the target, by the finished model."""
        if self.after is not None:
            return features_of(self.after.outputs)
        if self.data is None:
            return None
        from cst.data.samples import SomeSamples

        for domain, samples in (("source", self.data.encoded.source), ("target", self.data.encoded.target)):
            if domain not in self._features:
                places = torch.linspace(0, len(samples) - 1, min(len(samples), MOST_FEATURES)).long()
                self._features[domain] = self._view(domain, SomeSamples(samples, places)).features
        return self._features["source"], self._features["target"]

    @cached_property
    def predicted_shares(self) -> list[float] | None:
        """The share of each class among the pseudo-labels of the whole target."""
        records = [self.result, *reversed(self.history)]
        return next((r["pseudo_label_distribution"] for r in records if "pseudo_label_distribution" in r), None)

    @cached_property
    def source_shares(self) -> list[float] | None:
        """The share of each class in the source."""
        labels = None
        if self.after is not None:
            labels = self.after.outputs.source_labels
        if self.data is not None:
            labels = self.data.task.labels
        return None if labels is None else distribution(labels, len(self.classes)).tolist()

    def records(self, name: str) -> list[float] | None:
        """A figure of every epoch; ``None`` if it was not recorded."""
        values = [record.get(name, record.get("oracle", {}).get(name)) for record in self.history]
        return None if not values or any(value is None for value in values) else values


def features_of(outputs: Outputs) -> tuple[Tensor, Tensor]:
    """Features of the source and of the target."""
    return outputs.source_features, outputs.target_features


def subjects(folders: Sequence[Path], changes: Mapping[str, Any] | None = None) -> list[Subject]:
    """Runs to be looked at together, each named by what tells it from the others."""
    runs = [Subject(folder, changes) for folder in folders]
    parts = [_parts(run) for run in runs]
    telling = [len({row[place] for row in parts}) > 1 for place in range(4)]
    if not any(telling):
        telling = [True, True, True, False]
    names = [", ".join(part for part, tells in zip(row, telling, strict=True) if tells and part) for row in parts]
    if len(set(names)) < len(names):
        names = [str(run.run.folder) for run in runs]
    if len(set(names)) < len(names):
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} is named twice: name each run once.")
    for run, name in zip(runs, names, strict=True):
        run.name = printable(name)
    return runs


def _parts(run: Subject) -> tuple[str, str, str, str]:
    """What a run is, from the data to the seed."""
    settings = run.settings
    return settings.label_of_data, settings.data["resample"] or "", settings.method, f"seed {settings.seed}"
