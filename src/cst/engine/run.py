"""A run is a folder: settings, metrics, checkpoint, adapted model, figures.

::

    config.yaml         the settings
    metrics.jsonl       one JSON object for each epoch
    checkpoint.pt       all that is needed to go on after its step, with a checksum
    checkpoint-1.pt     the one before it
    model.json          what the model is made of and how it takes its inputs
    model.safetensors   its weights
    tokenizer/          of a text model
    result.json         the figures of the finished run, and the verdict
    before.safetensors  what the model made of some samples when the warm-up ended
    after.safetensors   what the finished one makes of them
    selected.safetensors, last.safetensors
                        weights of the best epoch so far and of the last, where one is selected
    trackers.json       what MLflow and Weights & Biases call the run, if they were told of it

Every file is written aside and renamed, so that each is whole at any moment.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cst.config import Config, Settings, load_config
from cst.config.options import load_options
from cst.engine.sealed import check_seal, seal
from cst.files import check_place, lies_in, load_yaml, reading, write_aside, write_text_aside

LOCK = ".lock"
CHECKPOINT = ("behind", "within", "objective", "optimizer", "memory", "attributes", "data")
"""What it holds: the epochs behind it, where it was written within one, and what `cst.engine.checkpoint` says."""
EARLIER = ("epochs", "objective", "optimizer", "memory", "data")
"""What it held in earlier versions: always the end of an epoch."""
SINCE = 4
"""The format from which on config.yaml says its own."""
FINISHED = ("epochs", "data")
"""What a finished run keeps of its checkpoint: to know its data again."""


class Run:
    """The files of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.config_file = self.folder / "config.yaml"
        self.metrics_file = self.folder / "metrics.jsonl"
        self.checkpoint_file = self.folder / "checkpoint.pt"
        self.previous_file = self.folder / "checkpoint-1.pt"
        self.weights_file = self.folder / "model.safetensors"
        self.selected_file = self.folder / "selected.safetensors"
        self.last_file = self.folder / "last.safetensors"
        self.earlier_weights_file = self.folder / "model.pt"
        self.result_file = self.folder / "result.json"
        self.trackers_file = self.folder / "trackers.json"
        self._damaged: set[Path] = set()

    @property
    def files(self) -> tuple[Path, ...]:
        """All that a run writes."""
        return (
            *(self.config_file, self.metrics_file, self.checkpoint_file, self.result_file, self.folder / "model.json"),
            *(self.weights_file, self.selected_file, self.last_file, self.earlier_weights_file, self.previous_file),
            *(self.folder / f"{name}.safetensors" for name in ("before", "after")),
            self.folder / "tokenizer",
            self.trackers_file,
        )

    @property
    def is_run(self) -> bool:
        """Whether cst wrote what lies here: somebody else may call a file config.yaml too."""
        try:
            values = load_yaml(self.config_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return self.has_model
        return self.has_model or (isinstance(values, dict) and {"task", "method"} <= set(values))

    def check_place(self, data: Iterable[Path | None] = ()) -> None:
        """Refuse a folder that cannot be written, that lies among the data, or whose files are not a run's."""
        for origin in data:
            if origin is None:
                continue
            if lies_in(self.folder, origin):
                raise ValueError(f"out={self.folder} lies in the data {origin}: choose a folder outside of it.")
            if origin.exists() and origin.resolve().parent == self.folder.resolve():
                inside = self.folder / "run"
                raise ValueError(f"out={self.folder} is where {origin} lies: choose a folder of its own, {inside} say.")
        if self.folder.is_symlink() and not self.folder.exists():
            raise ValueError(f"out={self.folder} is a link that leads nowhere: choose another folder.")
        check_place(self.folder, "out=")
        others = [file for file in self.files if file.exists()]
        if others and not self.is_run:
            raise ValueError(
                f"out={self.folder} has a file {others[0].name} but holds no run, which would replace it: choose "
                "another folder."
            )

    @classmethod
    def open(cls, folder: Path) -> Run:
        """An existing run."""
        run = cls(folder)
        if not run.config_file.is_file():
            raise ValueError(f"{folder} is not a run: it has no config.yaml. Name a folder that 'cst train' wrote.")
        return run

    @classmethod
    @contextmanager
    def begun(cls, folder: Path, settings: Settings, resume: bool, overwrite: bool) -> Iterator[Run]:
        """A new run, or one to go on with, which belongs to this process meanwhile."""
        run = cls.open(folder) if resume else cls(folder)
        if run.folder.exists() and not run.folder.is_dir():
            raise ValueError(f"{folder} is a file: choose another folder for the run.")
        if not resume and run.config_file.exists() and not overwrite:
            raise ValueError(
                f"{folder} already holds a run, which 'cst train --resume {folder}' continues: choose another out=."
            )
        run.folder.mkdir(parents=True, exist_ok=True)
        with run.locked():
            for left_over in run.folder.glob(".*.partial"):  # of a process that was killed
                left_over.unlink(missing_ok=True)
            if resume:
                run._check_same(settings)
            else:
                run.clear()
                settings.save(run.config_file)
            yield run

    def _check_same(self, settings: Settings) -> None:
        written = load_options(self.config_file)
        if written.get("views") is None and not self.result_file.exists():  # of format 5 or before
            raise ValueError(
                f"{self.folder} is of an earlier version of cst: finish the run with that one, or begin anew."
            )
        # A finished run of an earlier version lacks fields that came later.
        if changed := settings.differences(Settings.load(self.config_file), written):
            raise ValueError(
                f"{self.folder} was started with another configuration ({', '.join(changed)}): resume it as it was."
            )

    def clear(self) -> None:
        """Remove what an earlier run wrote."""
        for old in self.files:
            if not old.is_dir():
                old.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep the folder for this process: two at once would mix their records."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.folder / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise ValueError(
                f"{self.folder} is being trained by another process: wait for its end, or choose another out=."
            ) from None
        except (OSError, NotImplementedError):  # a file system without locks
            yield
            return
        try:
            yield
        finally:
            lock.release()

    @property
    def is_locked(self) -> bool:
        """Whether a process trains here now."""
        if not self.folder.is_dir():
            return False
        try:
            with self.locked():
                return False
        except ValueError:
            return True

    @property
    def config(self) -> Config:
        """What the run was started with, complete, to start or to go on with."""
        _ = self.settings  # which refuses a file that is not whole
        return load_config(self.config_file)

    @property
    def settings(self) -> Settings:
        """What the run goes by."""
        settings = Settings.load(self.config_file)
        model = self.folder / "model.json"
        if model.is_file() and "format" not in self.config_file.read_text(encoding="utf-8"):
            with reading(model):
                earlier = json.loads(model.read_text(encoding="utf-8"))["format"] < SINCE
            if not earlier:
                raise ValueError(f"{self.config_file} is not whole: restore it or start a new run.")
        return settings

    def write_records(self, history: list[dict[str, Any]]) -> None:
        """Replace the metrics by these records, one a line."""
        write_text_aside(self.metrics_file, "".join(json.dumps(record) + "\n" for record in history))

    def history(self, epochs: int | None = None) -> list[dict[str, Any]]:
        """The records of the first ``epochs`` epochs."""
        if not self.metrics_file.is_file():
            return []
        with reading(self.metrics_file):
            lines = self.metrics_file.read_text(encoding="utf-8").splitlines()
            return [json.loads(line) for line in lines[:epochs]]

    def rewind(self, epochs: int) -> list[dict[str, Any]]:
        """Forget the records after ``epochs``, which an interruption left without a checkpoint."""
        kept = self.history(epochs)
        if len(kept) != epochs:
            raise ValueError(
                f"{self.metrics_file} has {len(kept)} of the {epochs} epochs that the checkpoint has behind it: "
                "restore it or start a new run."
            )
        self.write_records(kept)
        return kept

    @property
    def has_checkpoint(self) -> bool:
        """Whether the run got so far; an interruption may leave the previous one alone."""
        return self.checkpoint_file.is_file() or self.previous_file.is_file()

    def save_checkpoint(self, state: dict[str, Any]) -> None:
        """Write a checkpoint with its checksum; the one before it stays until then, and after it under another name."""
        import torch

        def write(aside: Path) -> None:
            torch.save(state, aside)
            seal(aside)

        keeps = self.checkpoint_file not in self._damaged
        write_aside(self.checkpoint_file, write, self.previous_file if keeps else None)
        self._damaged.clear()

    def load_checkpoint(self) -> dict[str, Any] | None:
        """The last checkpoint that is whole, if the run got so far."""
        damaged: dict[Path, ValueError] = {}
        for file in (self.checkpoint_file, self.previous_file):
            if file.is_file():
                try:
                    state = _read_checkpoint(file)
                except ValueError as error:
                    damaged[file] = error
                    continue
                if damaged:
                    warnings.warn(f"{self.checkpoint_file} is damaged: going on from the one before it.", stacklevel=2)
                    self._damaged = set(damaged)
                return _of_this_version(file, state)
        if damaged:
            raise next(iter(damaged.values()))
        return None

    def save_weights(self, weights: dict[str, Any], file: Path | None = None) -> None:
        """Write the model's weights, or others beside them; names that share a tensor get one each."""
        from safetensors.torch import save_file

        plain = {name: value.detach().cpu().clone().contiguous() for name, value in weights.items()}
        write_aside(file or self.weights_file, lambda aside: save_file(plain, aside))

    def load_weights(self, file: Path | None = None) -> dict[str, Any]:
        """The model's weights, as this version writes them or as an earlier one did, or others beside them."""
        import torch

        file = file or self.weights_file
        if file.is_file() or file != self.weights_file:
            from safetensors.torch import load_file

            with reading(file):
                return dict(load_file(file))
        with reading(self.earlier_weights_file):
            return dict(torch.load(self.earlier_weights_file, map_location="cpu", weights_only=True))

    @property
    def has_model(self) -> bool:
        """Whether a finished model lies in the folder."""
        weights = self.weights_file.is_file() or self.earlier_weights_file.is_file()
        return weights and (self.folder / "model.json").is_file()

    def save_result(self, result: dict[str, Any]) -> None:
        """Write the figures of the finished run."""
        write_text_aside(self.result_file, json.dumps(result, indent=2) + "\n")

    @property
    def finished(self) -> dict[str, Any]:
        """The figures of a run that is known to be finished."""
        if (result := self.result) is None:
            raise ValueError(f"{self.folder} is not finished: continue it with resume=.")
        return result

    @property
    def result(self) -> dict[str, Any] | None:
        """The figures of the run, once it is finished."""
        if not self.result_file.is_file():
            return None
        with reading(self.result_file):
            result: dict[str, Any] = json.loads(self.result_file.read_text(encoding="utf-8"))
            _check_shape(result)
            return result


def _read_checkpoint(file: Path) -> dict[str, Any]:
    import torch

    with reading(file):
        check_seal(file)
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        known = ({*CHECKPOINT}, {*EARLIER}, {*FINISHED})
        if "learner" not in state and set(state) not in known:
            raise KeyError(*set(state))
        return state


def _of_this_version(file: Path, state: dict[str, Any]) -> dict[str, Any]:
    if "learner" in state:
        raise ValueError(f"{file} is of an earlier version of cst: finish the run with that one, or begin anew.")
    if set(state) == set(EARLIER):
        return {**state, "behind": state["epochs"], "within": None, "attributes": {}}
    return state


def _check_shape(result: dict[str, Any]) -> None:
    """Fail where a part is missing that commands print."""
    for sign in (result.get("verdict") or {}).get("evidence", {}).values():
        _ = sign["label"], sign["before"], sign["after"]
    if selected := result.get("selected"):
        _ = selected["by"], selected["epoch"], selected["last"]
