"""A model after adaptation: predict, look inside, save, load."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cst.config import Settings
from cst.data.domain import Domain, Reading
from cst.data.readers.memory import table_in_memory
from cst.data.readers.tables import Table
from cst.data.stream import Stream
from cst.data.task import Task
from cst.engine.card import MARK, model_card
from cst.engine.evaluation import DomainView, evaluating
from cst.engine.progress import shown
from cst.engine.run import Run
from cst.extras import missing
from cst.files import write_text_aside
from cst.kinds import KINDS, kind_of_path
from cst.kinds.contract import Kind
from cst.models.backbones import CUSTOM
from cst.models.model import Model
from cst.models.spec import FILE, ModelSpec
from cst.selection import Choice, Verdict


class Adapted:
    """A classifier for the target domain.

    Attributes:
        model: the network, in evaluation mode.
        spec: what it is made of and how it takes its inputs.
        classes: the labels as they were given, in the order of the columns of ``predict_proba``.
        history: one record for each epoch, as in ``metrics.jsonl``.
        settings: what the run went by.
        workers: processes that read files; one a core if ``None``.
        verdict: what became of the run, told without labels of the target; ``None`` of a model that was saved alone.
        choice: with ``method="auto"``, which candidate it is and why.
    """

    def __init__(
        self,
        model: Model,
        settings: Settings,
        history: list[dict[str, Any]],
        workers: int | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        self.verdict = verdict
        self.choice: Choice | None = None
        self.model, self.settings, self.history, self.workers = model.eval(), settings, history, workers
        self.spec, self.classes = model.spec, model.spec.classes
        self.kind: Kind = KINDS[model.spec.kind]

    def __repr__(self) -> str:
        made = f"{self.settings.method} on {self.spec.kind}, {self.spec.backbone}, {len(self.classes)} classes"
        return f"<Adapted: {made}, {len(self.history)} epochs>"

    def predict(self, inputs: Any) -> NDArray[Any]:
        """The class of each input, as a label of the kind that training was given."""
        labels: NDArray[Any] = np.asarray(self.classes)[self.predict_proba(inputs).argmax(1)]
        return labels

    def predict_proba(self, inputs: Any) -> NDArray[np.float32]:
        """The probability of each class [N, K]."""
        with shown("predict"):
            return self.probs(inputs).numpy()

    def probs(self, inputs: Any) -> Tensor:
        """The same as a tensor: softmax of the logits over the temperature that calibration found."""
        return (self.view(inputs).logits / self.spec.temperature).softmax(-1)

    def of_inputs(self, inputs: Tensor) -> Tensor:
        """Probabilities [N, K] of inputs that are encoded already, in one pass."""
        with evaluating(self.model):
            device = next(self.model.parameters()).device
            logits: Tensor = self.model(inputs.to(device)).float().cpu()
        return (logits / self.spec.temperature).softmax(-1)

    def features(self, inputs: Any) -> NDArray[np.float32]:
        """The features ``h_phi(x)`` [N, d]."""
        with shown("features"):
            features: NDArray[np.float32] = self.view(inputs).features.numpy()
        return features

    def view(self, inputs: Any) -> DomainView:
        """New inputs as the model sees them: arrays, texts, paths of images, or one path as training was given."""
        if isinstance(inputs, str | os.PathLike):
            # Of a path all is read: a sample left out would shift the others.
            inputs = [inputs] if self.kind.is_item(inputs) else self.read(Path(inputs), strict=True, fill=True).items
        elif table := table_in_memory(inputs, "new"):
            inputs = self._rows(inputs, table)
        return DomainView(self.model, self.spec.encoder.encode(inputs), workers=self.workers)

    def _rows(self, inputs: Any, table: Table) -> Any:
        """The inputs of a table in memory, all of them; a frame that the encoder takes as it is."""
        column = self.settings.data["text"]
        if self.kind.reads_column and column is None:
            raise ValueError(
                "The inputs are a table, but the model learned from lists of texts: give one column, data['name']."
            )
        if table.frame is not None and not self.kind.reads_column:
            return inputs
        reading = Reading(
            column if self.kind.reads_column else None,
            labels=False,
            columns=self.spec.columns,
            strict=True,
            role="new",
        )
        if not self.kind.claims_table(table, reading):
            raise ValueError(f"The model was trained on {self.kind.name}, but the new data hold none.")
        if self.kind.has_columns and not self.spec.columns:
            raise ValueError("The model was trained on arrays, which name no columns: give an array of the same shape.")
        domain = self.kind.read_table(table, reading)
        for note in domain.notes:
            warnings.warn(note, stacklevel=4)
        return domain.items

    def read(self, path: Path, text: str | None = None, strict: bool = False, fill: bool | None = None) -> Domain:
        """New inputs from a folder, a table, arrays or a saved dataset, of the kind that the model takes.

        With ``strict`` what would be left out is refused; and missing values too, unless ``fill`` says otherwise.
        """
        return self.kind.read_path(path, self._reading(path, text, strict, not strict if fill is None else fill))

    def stream(self, path: Path, text: str | None = None, strict: bool = False) -> Stream:
        """The same in parts, so that a folder may be larger than memory."""
        return self.kind.stream(path, self._reading(path, text, strict, not strict))

    def _reading(self, path: Path, text: str | None, strict: bool, fill: bool) -> Reading:
        """What a reader should look for in a path that holds data of the model's kind."""
        column = text or self.settings.data["text"]
        if self.kind.reads_column and column is None:
            raise ValueError("The model reads text: name the column that holds it with text=.")
        reading = Reading(
            column if self.kind.reads_column else None,
            labels=False,
            columns=self.spec.columns,
            carry=True,
            strict=strict,
            fill=fill,
            role="new",
        )
        if not path.exists() or not self.kind.claims_path(path, reading):
            other = kind_of_path(path, Reading()).name
            raise ValueError(f"The model was trained on {self.kind.name}, but {path} holds {other}.")
        return reading

    def check(self, task: Task) -> None:
        """Refuse data that the model was not made for."""
        if task.kind != self.spec.kind:
            raise ValueError("The data are not of the kind and shape that the run was trained on.")
        if task.classes != self.classes:
            ours, theirs = (", ".join(map(str, classes)) for classes in (self.classes, task.classes))
            raise ValueError(f"The data have the classes {theirs}, but the run was trained on {ours}.")

    def save(self, folder: str | Path) -> None:
        """Write the model into ``folder``, from which :func:`cst.load` brings it back.

        A model that was saved there before is replaced; a run, or anything else, is not.
        """
        if not str(folder).strip():
            raise ValueError("The folder for the model has no name: choose one.")
        run = Run(Path(folder))
        if run.folder.is_file():
            raise ValueError(f"{folder} is a file: choose a folder for the model.")
        run.check_place()
        under_way = run.has_checkpoint or (run.folder / "candidates").exists()
        if run.result_file.exists() or under_way or run.is_locked:
            raise ValueError(f"{folder} holds a run, which saving would replace: choose another folder for the model.")
        self.write(run)

    def save_pretrained(self, folder: str | Path, name: str = "") -> None:
        """The same with a model card, as the Hugging Face hub wants a folder.

        Args:
            folder: a new one, or one that was saved before; a README.md that somebody wrote is left alone.
            name: the title of the card.
        """
        self.save(folder)
        page = Path(folder) / "README.md"
        if not page.is_file() or MARK in page.read_text(encoding="utf-8", errors="replace"):
            write_text_aside(page, model_card(self, name))

    @classmethod
    def from_pretrained(cls, name: str | Path, **options: Any) -> Adapted:
        """A model from a folder, or from the hub by its name; ``options`` go to the download, such as ``revision``."""
        if Path(name).is_dir():
            return load(name)
        return load(hub().snapshot_download(str(name), **options))

    def push_to_hub(self, name: str, private: bool = False, token: str | None = None) -> str:
        """Publish the model with its card as the repository ``name`` of the hub, and return the address."""
        api = hub().HfApi(token=token)
        with TemporaryDirectory() as folder:
            self.save_pretrained(Path(folder) / "model", name.rpartition("/")[2])
            api.create_repo(name, private=private, exist_ok=True)
            return str(api.upload_folder(repo_id=name, folder_path=str(Path(folder) / "model")))

    def write(self, run: Run, settings: Settings | None = None) -> None:
        """Write the model among the files of a run, whose settings may be others."""
        run.folder.mkdir(parents=True, exist_ok=True)
        run.save_weights(self.model.state_dict())
        (settings or self.settings).save(run.config_file)
        run.write_records(self.history)
        self.spec.save(run.folder)


def hub() -> Any:
    """The client of the Hugging Face hub."""
    try:
        import huggingface_hub
    except ImportError:
        raise missing("huggingface_hub", "The Hugging Face hub") from None
    return huggingface_hub


def load(folder: str | Path, backbone: nn.Module | None = None) -> Adapted:
    """The model that :meth:`Adapted.save` or a run left in ``folder``.

    Args:
        folder: a saved model or a finished run.
        backbone: a module of the same architecture, where training was given one.
    """
    run = Run(Path(folder))
    if not run.has_model:
        unfinished = run.has_checkpoint
        hint = f"finish it first with 'cst train --resume {folder}'." if unfinished else "name a finished run."
        raise ValueError(f"{folder} holds no adapted model: {hint}")
    weights = run.load_weights()
    broken = next((name for name, value in weights.items() if not torch.isfinite(value).all()), None)
    if broken is not None:
        raise ValueError(f"The weights in {folder} are not all numbers ('{broken}'): restore them, or train anew.")
    spec = ModelSpec.load(run.folder)
    settings = run.settings
    if spec.backbone == CUSTOM and backbone is None:
        raise ValueError(
            f"The model in {folder} has a backbone of your own: pass it, as load(folder, backbone=module)."
        )
    try:
        with torch.random.fork_rng():
            model = spec.build(backbone)
    except (ValueError, OSError, ImportError):
        raise
    except Exception as error:
        raise ValueError(
            f"{run.folder / FILE} describes no network that can be built ({type(error).__name__}): restore it."
        ) from None
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise ValueError(
            f"The weights in {folder} do not fit this backbone: pass the one it was trained with."
        ) from None
    return Adapted(model, settings, _records(run), verdict=Verdict.of((run.result or {}).get("verdict")))


def _records(run: Run) -> list[dict[str, Any]]:
    """Of the epochs; none where they cannot be read, which is no reason not to predict."""
    try:
        return run.history()
    except ValueError as error:
        warnings.warn(f"{error} The model is loaded without its history.", stacklevel=3)
        return []
