"""A model after adaptation: predict, look inside, save, load."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cst.config import Config, load_config, save_config
from cst.data.arrays import in_columns, samples_from
from cst.data.collection import Collection, Wanted, samples_of
from cst.data.domains import Samples, Task
from cst.data.readers import TABLES, is_saved_dataset, kind_of, read
from cst.engine.evaluation import predict
from cst.engine.run import Run, reading
from cst.engine.train import CUSTOM
from cst.models.backbones import build_network
from cst.models.model import Model, NormalizedFeatures, Standardize, head, standardization
from cst.models.text import load_tokenizer

FORMAT = 2
TOKENIZER = "tokenizer"


@dataclass(frozen=True)
class Inputs:
    """What a model takes, and what its backbone is."""

    kind: str
    shape: tuple[int, ...]
    backbone: str
    bytes_in: bool = False
    columns: tuple[str, ...] = ()
    architecture: dict[str, Any] = field(default_factory=dict)


class Adapted:
    """A classifier for the target domain.

    Attributes:
        model: the network, in evaluation mode.
        classes: the labels as they were given, in the order of the columns of ``predict_proba``.
        history: one record for each epoch, as in ``metrics.jsonl``.
        config: the resolved configuration of the run.
        inputs: what the model takes.
    """

    def __init__(
        self,
        model: Model,
        classes: tuple[Any, ...],
        config: Config,
        history: list[dict[str, Any]],
        inputs: Inputs,
        tokenizer: Any = None,
    ) -> None:
        self.model, self.classes, self.config, self.history = model, classes, config, history
        self.inputs, self.tokenizer = inputs, tokenizer

    def __repr__(self) -> str:
        made = f"{self.config.method} on {self.inputs.kind}, {self.inputs.backbone}, {len(self.classes)} classes"
        return f"<Adapted: {made}, {len(self.history)} epochs>"

    def predict(self, inputs: Any) -> NDArray[Any]:
        """The class of each input, as a label of the kind that training was given."""
        best = self.predict_proba(inputs).argmax(1)
        labels: NDArray[Any] = np.asarray(self.classes)[best]
        return labels

    def predict_proba(self, inputs: Any) -> NDArray[np.float32]:
        """The probability of each class [N, K]."""
        probs: NDArray[np.float32] = self._run(inputs)[1].softmax(-1).numpy()
        return probs

    def features(self, inputs: Any) -> NDArray[np.float32]:
        """The features ``h_phi(x)`` [N, d]."""
        found: NDArray[np.float32] = self._run(inputs)[0].numpy()
        return found

    def _run(self, inputs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return predict(self.model, self.samples(inputs), workers=self.config.workers)

    def read(self, path: Path, text: str | None = None, strict: bool = False) -> Collection:
        """New inputs from a folder, a table, arrays or a saved dataset, of the kind that the model takes."""
        kind, text = self.inputs.kind, text or self.config.text
        if kind == "text" and text is None:
            raise ValueError("The model reads text: name the column that holds it with --text.")
        text = text if kind == "text" else None
        may_hold_text = is_saved_dataset(path) or path.suffix.lower() in TABLES
        if not (may_hold_text if text else kind_of(path, None) == kind):
            raise ValueError(f"The model was trained on {kind}, but {path} holds {kind_of(path, None)}.")
        return read(path, Wanted(text, self.config.label, False, self.inputs.columns, strict))

    def samples(self, inputs: Any) -> Samples:
        """New inputs as the model takes them: arrays, texts, paths of images, or one path as training was given."""
        kind = self.inputs.kind
        if isinstance(inputs, str | os.PathLike) and (
            kind == "arrays" or os.path.isdir(inputs) or (kind == "text" and os.path.isfile(inputs))
        ):
            inputs = self.read(Path(inputs), strict=True).items  # a sample left out would shift the others
        if kind != "arrays":
            if isinstance(inputs, str | os.PathLike):
                inputs = [inputs]
            elif not isinstance(inputs, Sequence):  # a sequence may be read as it is asked for
                inputs = list(inputs)
            if not len(inputs):
                raise ValueError("There are no new inputs: give at least one.")
            if kind == "images" and not isinstance(inputs[0], str | os.PathLike | bytes):
                raise ValueError(
                    f"The model takes paths of images, got {type(inputs[0]).__name__}: save them as files."
                )
            return samples_of(kind, inputs, self.config, tokenizer=self.tokenizer)
        inputs = in_columns(inputs, self.inputs.columns, "new")
        samples = samples_from(inputs, "new", as_images=self.inputs.backbone != CUSTOM)
        if samples.bytes_in != self.inputs.bytes_in:
            kinds = ("numbers", "bytes (uint8)")
            wanted = self.inputs.bytes_in
            raise ValueError(f"The model was trained on {kinds[wanted]}, but the new inputs are {kinds[not wanted]}.")
        shape = tuple(samples.take(torch.tensor([0])).shape[1:])
        if shape != self.inputs.shape:
            raise ValueError(
                f"One input has shape {shape}, but the model was trained on inputs of {self.inputs.shape}."
            )
        return samples

    def check(self, task: Task) -> None:
        """Refuse data that the model was not made for."""
        if task.kind != self.inputs.kind or (task.kind == "arrays" and task.input_shape != self.inputs.shape):
            raise ValueError("The data are not of the kind and shape that the run was trained on.")
        if task.classes != self.classes:
            ours, theirs = (", ".join(map(str, classes)) for classes in (self.classes, task.classes))
            raise ValueError(f"The data have the classes {theirs}, but the run was trained on {ours}.")

    def save(self, folder: str | Path) -> None:
        """Write the model into ``folder``, from which :func:`cst.load` brings it back."""
        run = Run(Path(folder))
        if run.folder.is_file():
            raise ValueError(f"{folder} is a file: choose a folder for the model.")
        run.folder.mkdir(parents=True, exist_ok=True)
        torch.save(self.model.state_dict(), run.folder / "model.pt")
        if self.tokenizer is not None:
            self.tokenizer.save_pretrained(str(run.folder / TOKENIZER))
        description = {"format": FORMAT, "classes": list(self.classes), **asdict(self.inputs)}
        (run.folder / "model.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        save_config(self.config, run.config_file)
        run.metrics_file.write_text("".join(json.dumps(r) + "\n" for r in self.history), encoding="utf-8")


def load(folder: str | Path, backbone: nn.Module | None = None) -> Adapted:
    """The model that :meth:`Adapted.save` or a run left in ``folder``.

    Args:
        folder: a saved model or a finished run.
        backbone: a module of the same architecture, where training was given one.
    """
    run = Run(Path(folder))
    description_file, weights_file = run.folder / "model.json", run.folder / "model.pt"
    if not (description_file.is_file() and weights_file.is_file()):
        unfinished = run.checkpoint_file.is_file()
        hint = f"finish it first with 'cst train --resume {folder}'." if unfinished else "name a finished run."
        raise ValueError(f"{folder} holds no adapted model: {hint}")
    with reading(description_file):
        description = json.loads(description_file.read_text(encoding="utf-8"))
        classes = tuple(description["classes"])
        inputs = Inputs(**{key: description[key] for key in (f.name for f in fields(Inputs))})
        inputs = replace(inputs, shape=tuple(inputs.shape), columns=tuple(inputs.columns))
    with reading(weights_file):
        weights = dict(torch.load(weights_file, map_location="cpu", weights_only=True))
    config = load_config(run.config_file)
    if inputs.backbone == CUSTOM and backbone is None:
        raise ValueError(
            f"The model in {folder} has a backbone of your own: pass it, as load(folder, backbone=module)."
        )
    prepare = standardization(config, nn.Identity)
    if backbone is not None:
        backbone = copy.deepcopy(backbone)
    else:

        def standardize() -> nn.Module:
            return Standardize(weights["prepare.mean"], weights["prepare.std"])

        shape = inputs.shape if inputs.kind == "arrays" else (3, config.image_size or 0, config.image_size or 0)
        prepare, backbone, _ = build_network(config, inputs.kind, shape, standardize, inputs.architecture)
    first = weights["head.0.weight" if config.bottleneck else "head.weight"]
    if config.feature_norm:
        backbone = NormalizedFeatures(backbone, first.shape[1])
    source_head = head(first.shape[1], len(classes), config.bottleneck or 0, config.head or "linear")
    model = Model(backbone, source_head, config.batch_norm or "per-domain", prepare)
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise ValueError(
            f"The weights in {folder} do not fit this backbone: pass the one it was trained with."
        ) from None
    tokenizer = load_tokenizer(str(run.folder / TOKENIZER)) if (run.folder / TOKENIZER).is_dir() else None
    return Adapted(model.eval(), classes, config, run.history(), inputs, tokenizer)
