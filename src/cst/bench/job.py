"""One run of a suite: a variant with a seed, in a folder of its own."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from filelock import FileLock, Timeout

from cst.bench.suite import Suite, Variant
from cst.config import config_from
from cst.engine.run import Run
from cst.files import reading, write_text_aside

if TYPE_CHECKING:
    from cst.engine.callbacks import Callback

FAILURE = "failed.json"


@dataclass(frozen=True)
class Place:
    """Where runs find what belongs to the machine: the datasets, and how many threads and devices each may have."""

    data_root: Path | None = None
    threads: int = 1


@dataclass(frozen=True)
class Job:
    """One variant with one seed."""

    variant: Variant
    seed: int
    run: Run

    @property
    def label(self) -> str:
        """What progress calls it."""
        return f"{self.variant.name}  seed {self.seed}"

    @property
    def options(self) -> dict[str, Any]:
        """What the run is started with."""
        return {**self.variant.config, "seed": self.seed}

    def keep_options(self) -> None:
        """Write what the run is started with, so that nobody takes it for another one later."""
        write_text_aside(self.options_file, yaml.safe_dump(self.options))

    @property
    def options_file(self) -> Path:
        """What the run was started with."""
        return self.run.folder / "options.yaml"

    @property
    def changed(self) -> list[str]:
        """In what the run that lies there was started otherwise than the suite has it now."""
        if not self.run.config_file.is_file() or not self.options_file.is_file():
            return []
        with reading(self.options_file):
            then = dict(yaml.safe_load(self.options_file.read_text(encoding="utf-8")))
        now = yaml.safe_load(yaml.safe_dump(self.options))
        names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
        return [f"{name} was {then.get(name)}, now {now.get(name)}" for name in names]

    @property
    def is_done(self) -> bool:
        """Whether its result is there and whole; one that is not is made again."""
        try:
            return self.run.result is not None
        except ValueError:
            self.run.result_file.unlink(missing_ok=True)
            return False

    @property
    def share_done(self) -> float:
        """How much of it is behind it, by epochs."""
        file = self.run.metrics_file
        if not file.is_file():
            return 0.0
        return min(1.0, file.read_bytes().count(b"\n") / self.run.settings.epochs)

    def claimed(self) -> FileLock | None:
        """A lock that keeps the run for this suite from before it has begun; None if another has it."""
        self.run.folder.mkdir(parents=True, exist_ok=True)
        claim = FileLock(self.run.folder / ".job", timeout=0)
        try:
            claim.acquire()
        except Timeout:
            return None
        except (OSError, NotImplementedError):  # a file system without locks
            pass
        return None if self.run.is_locked else claim

    @property
    def failure(self) -> str:
        """The message of the last attempt, if it failed."""
        try:
            return str(json.loads((self.run.folder / FAILURE).read_text(encoding="utf-8"))["message"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def record_failure(self, message: str, attempts: int) -> None:
        """Keep the message beside what there is of the run."""
        self.run.folder.mkdir(parents=True, exist_ok=True)
        write_text_aside(self.run.folder / FAILURE, json.dumps({"message": message, "attempts": attempts}) + "\n")

    def forget_failure(self) -> None:
        """It has succeeded since."""
        with suppress(OSError):
            (self.run.folder / FAILURE).unlink(missing_ok=True)


def jobs_of(suite: Suite, out: Path) -> list[Job]:
    """Every run of the suite, seed by seed, so that a suite that is stopped has all of the first seeds."""
    jobs = [
        Job(variant, seed, Run(out / f"{_slug(variant)}-seed{seed}"))
        for seed in range(max(variant.seeds or suite.seeds for variant in suite.variants))
        for variant in suite.variants
        if seed < (variant.seeds or suite.seeds)
    ]
    folders = [job.run.folder for job in jobs]
    for job in jobs:
        if folders.count(job.run.folder) > 1:
            raise ValueError(f"Two runs of '{suite.name}' would lie in {job.run.folder}: give one another name.")
    return jobs


def _slug(variant: Variant) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", variant.name.lower()).strip("-.")


def train_job(
    folder: Path,
    options: dict[str, Any],
    place: Place,
    callbacks: Sequence[Callback] = (),
    tell: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Train a run in this process, or go on with it where an earlier one stopped."""
    import torch

    from cst.engine.auto import train_or_choose
    from cst.tasks import load_task

    run = Run(folder)
    going_on = run.config_file.is_file()
    config = run.config if going_on else config_from(options)
    config = dataclasses.replace(config, data_root=place.data_root, cache=folder.parent / "cache", out=folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(place.threads)
    try:
        train_or_choose(load_task(config), config, resume=going_on, out=folder, callbacks=callbacks, tell=tell)
    finally:
        torch.set_num_threads(threads)
