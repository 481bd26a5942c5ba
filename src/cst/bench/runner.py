"""Run a suite: every variant with every seed, each in a process of its own, several at a time.

A finished run is never run again and an interrupted one goes on where it stopped, so a suite may be
stopped and started at will, and two processes may share one: each leaves to the other what it trains.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from cst.bench import RunError
from cst.bench.suites import Suite, Variant
from cst.engine.run import Run


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
    def epochs_done(self) -> int:
        """How many epochs it has behind it."""
        file = self.run.metrics_file
        return file.read_bytes().count(b"\n") if file.is_file() else 0

    def claimed(self) -> FileLock | None:
        """A lock that keeps the run for this suite from before its process has begun; None if another has it."""
        self.run.folder.mkdir(parents=True, exist_ok=True)
        claim = FileLock(self.run.folder / ".job", timeout=0)
        try:
            claim.acquire()
        except Timeout:
            return None
        except (OSError, NotImplementedError):  # a file system without locks
            pass
        return claim

    def start(self, data_root: Path | None = None) -> subprocess.Popen[str]:
        """Train, or go on training, in a process with one thread."""
        words = ["--resume", str(self.run.folder)]
        if not self.run.config_file.is_file():
            file = self.run.folder / "options.yaml"
            file.write_text(yaml.safe_dump({**self.variant.config, "seed": self.seed}), encoding="utf-8")
            words = ["--config", str(file), "--out", str(self.run.folder)]
        words += ["--cache", str(self.run.folder.parent / "cache")]
        if data_root is not None:
            words += ["--data-root", str(data_root)]
        return subprocess.Popen(
            [sys.executable, "-m", "cst", "train", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )


def jobs_of(suite: Suite, seeds: int, out: Path) -> list[Job]:
    """Every run of the suite, seed by seed."""
    return [
        Job(variant, seed, Run(out / f"{re.sub(r'[^a-z0-9.]+', '-', variant.name.lower())}-seed{seed}"))
        for seed in range(seeds)
        for variant in suite.variants
        if variant.seeds is None or seed < variant.seeds
    ]


def run_suite(jobs: list[Job], at_once: int, tell: Callable[[str], None], data_root: Path | None = None) -> None:
    """Bring every job to its end; the first that fails stops the suite."""
    waiting = [job for job in jobs if job.run.result is None]
    tell(f"{len(jobs) - len(waiting)} of {len(jobs)} runs were finished before")
    running: list[tuple[Job, subprocess.Popen[str], FileLock]] = []
    told: dict[str, int] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.pop(0)
                claim = job.claimed()
                if claim is None or job.run.is_locked:
                    tell(f"{job.label}: left to the process that trains it")
                    continue
                told[job.label] = job.epochs_done
                running.append((job, job.start(data_root), claim))
            time.sleep(0.2)
            for job, process, claim in list(running):
                if process.poll() is not None:
                    running.remove((job, process, claim))
                    claim.release()
                    _check(job, process)
                    tell(f"{job.label}: done, {len(waiting) + len(running)} to go")
                elif (done := job.epochs_done) > told[job.label]:
                    epochs = job.run.settings.epochs
                    if 5 * done // epochs > 5 * told[job.label] // epochs:
                        tell(f"{job.label}: epoch {done} of {epochs}")
                    told[job.label] = done
    finally:
        for _, process, claim in running:
            process.terminate()
            claim.release()


def _check(job: Job, process: subprocess.Popen[str]) -> None:
    assert process.stderr
    said = process.stderr.read().strip().splitlines()
    if process.returncode != 0:
        sentence = f"{job.label} failed: {said[-1].removeprefix('cst: ') if said else 'no message'}"
        raise ValueError(sentence) if process.returncode == 2 else RunError(sentence)


def rows_of(jobs: list[Job]) -> list[dict[str, Any]]:
    """The figures of those runs that are finished, one row a run."""
    rows = []
    for job in jobs:
        result, history = job.run.result, job.run.history()
        if result is None:
            continue
        rows.append(
            {
                "variant": job.variant.name,
                "method": job.variant.method,
                "task": job.variant.task,
                "group": job.variant.group,
                "seed": job.seed,
                **result["oracle"],
                "target_accuracy": 1 - result["oracle"]["pseudo_label_error"],
                "target_head_source_error": result["target_head_source_error"],
                "milliseconds_per_step": 1000 * sum(r["cpu_seconds"] for r in history) / history[-1]["step"],
                "cpu_minutes": round(sum(r["cpu_seconds"] for r in history) / 60, 1),
                "oracle_epoch_accuracy": max(r["oracle"]["accuracy"] for r in history),
            }
        )
    return rows


def histories_of(jobs: list[Job]) -> dict[str, dict[str, list[list[dict[str, Any]]]]]:
    """The epochs of those runs that are finished: by task, then by variant, one list for each seed."""
    histories: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}
    for job in jobs:
        if job.run.result is not None:
            task = job.variant.task
            name = job.variant.name.removesuffix(f" {task}")
            histories.setdefault(task, {}).setdefault(name, []).append(job.run.history())
    return histories
