"""What a model is made of and how it takes its inputs: saved as ``model.json``, and the only maker of networks."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

from torch import Tensor, nn

from cst.config import Settings
from cst.config.options import VERSIONS
from cst.config.settings import FORMAT, versions
from cst.data.columns import Column
from cst.data.samples import Samples
from cst.data.task import EncodedTask, Labelled, Oracle, Task
from cst.files import reading, write_text_aside
from cst.kinds import KINDS
from cst.models.backbones import CUSTOM, backbone_parts
from cst.models.model import Model, NormalizedFeatures, StandardizeEach, feature_dim, head
from cst.models.parts import Parts

if TYPE_CHECKING:
    from cst.kinds.contract import Encoder, Kind

FILE = "model.json"


@dataclass(frozen=True)
class ModelSpec:
    """Encoding and architecture of a model.

    Attributes:
        kind: of the data, by name.
        classes: the labels as they were given, in the order of the model's outputs.
        encoding: how raw items become inputs, as their kind has it.
        backbone: its name; ``custom`` for a module of the user's own.
        freeze: how many of its lower layers are not trained.
        pooling: how the features of tokens become one.
        standardize: whether each image is standardised by itself.
        feature_norm: whether features are normalised by batch statistics.
        head: the last layer of the head, ``linear`` or ``prototype``.
        bottleneck: width of a hidden layer in the head, 0 for none.
        batch_norm: ``joint`` or ``per-domain``.
        feature_dim: d; 0 until the model has been built.
        architecture: of the backbone in plain values, where its name alone does not say it.
        temperature: by which logits are divided in predicted probabilities.
        home: the folder that the model was loaded from.
    """

    kind: str
    classes: tuple[Any, ...]
    encoding: Mapping[str, Any]
    backbone: str
    freeze: int = 0
    pooling: str = "mean"
    standardize: str = "dataset"
    feature_norm: bool = False
    head: str = "linear"
    bottleneck: int = 0
    batch_norm: str = "per-domain"
    feature_dim: int = 0
    architecture: Mapping[str, Any] = field(default_factory=dict)
    temperature: float = 1.0
    home: Path | None = field(default=None, compare=False)

    @classmethod
    def of(cls, task: Task, settings: Settings, custom: bool) -> ModelSpec:
        """The model that settings ask for, to take the data of a task; ``custom`` for a module of the user's own."""
        kind: Kind = KINDS[task.kind]
        shared = {name: getattr(settings, name) for name in SHARED}
        return cls(
            kind=task.kind,
            classes=task.classes,
            encoding=kind.encoding(task.source, settings, raw=custom),
            backbone=CUSTOM if custom else settings.backbone,
            **shared,
        )

    @cached_property
    def encoder(self) -> Encoder:
        """What makes samples of raw items."""
        kind: Kind = KINDS[self.kind]
        return kind.encoder(self.encoding, self.backbone, self.home)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Of the table that the inputs come from, if they do."""
        return tuple(getattr(self.encoder, "columns", ()))

    def encode(self, task: Task) -> EncodedTask:
        """A task as the model takes it."""
        test = task.oracle.test
        held_out: Labelled[Samples] | None = None
        source = self.encoder.encode(task.source.items, "source")
        target = self.encoder.encode(task.target.items, "target")
        if test is not None:
            held_out = Labelled(self.encoder.encode(test.inputs.items, "test"), test.labels)
        return EncodedTask(source, task.labels, target, task.classes, Oracle(task.oracle.target_labels, held_out))

    def build(self, module: nn.Module | None = None, weights: str = "none", example: Tensor | None = None) -> Model:
        """A network of this description, which it carries as ``spec``.

        Args:
            module: the backbone, where it is the user's own; a copy of it is taken.
            weights: what a backbone by name starts from: ``"pretrained"``, ``"none"`` or a file.
            example: two encoded inputs, by which the length of the features is found where it is not known yet.
        """
        parts = backbone_parts(self, weights) if module is None else self._around(module)
        dim = self.feature_dim
        if not dim:
            assert example is not None
            dim = feature_dim(nn.Sequential(parts.prepare, parts.trained), example)
        backbone = NormalizedFeatures(parts.trained, dim) if self.feature_norm else parts.trained
        source_head = head(dim, len(self.classes), self.bottleneck, self.head)
        model = Model(backbone, source_head, self.batch_norm, parts.prepare)
        model.spec = dataclasses.replace(self, feature_dim=dim, architecture=parts.architecture)
        model.spec.__dict__["encoder"] = self.encoder  # it may hold a tokenizer
        return model

    def _around(self, module: nn.Module) -> Parts:
        prepare = StandardizeEach() if self.standardize == "image" else nn.Identity()
        return Parts(prepare, copy.deepcopy(module))

    def save(self, folder: Path) -> None:
        """Write ``model.json``, and what the encoding needs beside it."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "home"}
        self.encoder.save(folder)
        write_text_aside(folder / FILE, json.dumps({**versions(), **values}, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> ModelSpec:
        """The description in a folder; one of an unknown format is refused."""
        file = folder / FILE
        with reading(file):
            values = json.loads(file.read_text(encoding="utf-8"))
            number = values["format"]
            values = {name: value for name, value in values.items() if name not in VERSIONS}
        if number not in range(3, FORMAT + 1):  # since 3, columns are more than their names
            from cst.models.earlier import FORMATS, completed

            if number not in FORMATS:
                raise ValueError(f"{file} has format {number}, but this cst reads formats up to {FORMAT}: update it.")
            with reading(file):
                values = completed(folder, values, SHARED)
        with reading(file):
            spec = cls(**{**values, "classes": tuple(values["classes"])}, home=folder)
            for name, hint in get_type_hints(cls).items():
                if name != "home" and not isinstance(getattr(spec, name), get_origin(hint) or hint):
                    raise TypeError(name)
            KINDS[spec.kind].encoder(spec.encoding, spec.backbone, folder)
            return spec


SHARED = ("freeze", "pooling", "standardize", "feature_norm", "head", "bottleneck", "batch_norm")
"""What a model has from the settings as it is."""
