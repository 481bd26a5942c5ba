"""One run of a suite: a variant with a seed, in a folder of its own."""

from __future__ import annotations

import dataclasses
import hashlib
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
from cst.files import load_yaml, write_text_aside

if TYPE_CHECKING:
    from cst.engine.callbacks import Callback

FAILURE = "failed.json"
LONGEST = 120
"""Bytes of a name that becomes a folder's."""


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
        if not self.run.config_file.is_file():
            return []
        try:
            then = dict(load_yaml(self.options_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # a run that somebody else made, or damaged
            return []
        if "method" not in then:
            return []
        now = yaml.safe_load(yaml.safe_dump(self.options))
        names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
        return [f"{name} was {then.get(name)}, now {now.get(name)}" for name in names]

    @property
    def is_done(self) -> bool:
        """Whether all that a table reads of it is there and whole."""
        return is_whole(self.run)

    @property
    def share_done(self) -> float:
        """How much of it is behind it, by epochs; nothing of one that cannot be read."""
        try:
            return min(1.0, self.run.metrics_file.read_bytes().count(b"\n") / self.run.settings.epochs)
        except (OSError, ValueError):
            return 0.0

    def prepare(self) -> None:
        """Make the folder fit for training: begin anew where nothing was learned, forget a result that is not whole."""
        self.run.folder.mkdir(parents=True, exist_ok=True)
        begun = self.run.has_checkpoint or (self.run.folder / "candidates").exists()
        if self.run.config_file.is_file() and not begun:
            self.run.clear()
        if not self.run.config_file.is_file():
            self.keep_options()
        self.run.result_file.unlink(missing_ok=True)

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


def is_whole(run: Run) -> bool:
    """Whether a run is finished, and its settings, records and result can be read."""
    try:
        result = run.result
        if not isinstance(result, dict) or "target_head_source_error" not in result:
            return False
        records = run.history()
        return bool(records and run.settings) and all({"cpu_seconds", "step"} <= set(record) for record in records)
    except (ValueError, TypeError):
        return False


def jobs_of(suite: Suite, out: Path) -> list[Job]:
    """Every run of the suite, seed by seed, so that a suite that is stopped has all of the first seeds."""
    slugs = [slug(variant.name) for variant in suite.variants]
    names = [
        short if slugs.count(short) == 1 and short else f"{short}-{_digest(variant.group, variant.name)}".lstrip("-")
        for variant, short in zip(suite.variants, slugs, strict=True)
    ]
    return [
        Job(variant, seed, Run(out / f"{name}-seed{seed}"))
        for seed in range(max(variant.seeds or suite.seeds for variant in suite.variants))
        for variant, name in zip(suite.variants, names, strict=True)
        if seed < (variant.seeds or suite.seeds)
    ]


def slug(name: str) -> str:
    """A name as a folder can have it, in any script.

    >>> slug("cst, l2=0.1 Ar-Cl"), slug("方法 一"), len(slug(300 * "a"))
    ('cst-l2-0.1-ar-cl', '方法-一', 30)
    """
    short = re.sub(r"[^\w.]+", "-", name.lower()).strip("-.")
    return short if len(short.encode()) <= LONGEST else f"{short[: LONGEST // 4 - 9]}-{_digest(name)}"


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:8]


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
