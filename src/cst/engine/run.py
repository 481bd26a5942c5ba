"""A run is a folder: configuration, metrics, checkpoint, adapted model.

::

    config.yaml      the resolved configuration
    metrics.jsonl    one JSON object for each epoch
    checkpoint.pt    all that is needed to go on after the last finished epoch
    model.json       what the model is: classes, input shape, backbone
    model.pt         its weights
    result.json      the figures of the finished run
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cst.config import Config, load_config, save_config

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with a damaged file into one sentence that names it."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        reason = type(error).__name__
        raise ValueError(
            f"{path} is damaged or was not written by cst ({reason}): restore it or start a new run."
        ) from None


class Run:
    """The files of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.config_file = self.folder / "config.yaml"
        self.metrics_file = self.folder / "metrics.jsonl"
        self.checkpoint_file = self.folder / "checkpoint.pt"
        self.result_file = self.folder / "result.json"

    @classmethod
    def create(cls, folder: Path, config: Config, overwrite: bool = False) -> Run:
        """A new run; a folder that already holds one is refused, so that nothing is lost."""
        run = cls(folder)
        if run.folder.exists() and not run.folder.is_dir():
            raise ValueError(f"{folder} is a file: choose another folder for the run.")
        if run.config_file.exists() and not overwrite:
            raise ValueError(
                f"{folder} already holds a run: continue it with --resume {folder}, or choose another --out."
            )
        run.folder.mkdir(parents=True, exist_ok=True)
        with run.claimed():
            pass  # nobody else is at work here
        for old in (run.metrics_file, run.checkpoint_file, run.result_file, run.folder / "model.pt"):
            old.unlink(missing_ok=True)
        save_config(config, run.config_file)
        return run

    @classmethod
    def open(cls, folder: Path) -> Run:
        """An existing run."""
        run = cls(folder)
        if not run.config_file.is_file():
            raise ValueError(f"{folder} is not a run: it has no config.yaml. Name a folder that 'cst train' wrote.")
        return run

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep the folder for this training: two at once would mix their records."""
        if not self.config_file.exists() or fcntl is None:
            yield
            return
        with self.config_file.open("rb") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"{self.folder} is being trained by another process: wait for its end, or choose another --out."
                ) from None
            except OSError:  # a file system without locks
                pass
            yield

    @property
    def in_hand(self) -> bool:
        """Whether a process trains here now."""
        try:
            with self.claimed():
                return False
        except ValueError:
            return True

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        return load_config(self.config_file)

    def append(self, record: dict[str, Any]) -> None:
        """Add one epoch's record."""
        with self.metrics_file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record) + "\n")

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
        self.metrics_file.write_text("".join(json.dumps(record) + "\n" for record in kept), encoding="utf-8")
        return kept

    def save_checkpoint(self, state: dict[str, Any]) -> None:
        """Replace the checkpoint; an interruption leaves either the old one or the new one."""
        import torch

        partial = self.checkpoint_file.with_suffix(".partial")
        torch.save(state, partial)
        os.replace(partial, self.checkpoint_file)

    def load_checkpoint(self) -> dict[str, Any] | None:
        """The last checkpoint, if the run got so far."""
        import torch

        if not self.checkpoint_file.is_file():
            return None
        with reading(self.checkpoint_file):
            state: dict[str, Any] = torch.load(self.checkpoint_file, map_location="cpu", weights_only=True)
            needed = {key: state[key] for key in ("epochs", "learner", "optimizer", "memory")}
            return {**needed, **{key: state[key] for key in ("data",) if key in state}}

    def save_result(self, result: dict[str, Any]) -> None:
        """Write the figures of the finished run."""
        self.result_file.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")

    @property
    def result(self) -> dict[str, Any] | None:
        """The figures of the run, once it is finished."""
        if not self.result_file.is_file():
            return None
        with reading(self.result_file):
            found: dict[str, Any] = json.loads(self.result_file.read_text(encoding="utf-8"))
            return found
