"""`cst bench`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.bench import RunError
from cst.cli.options import POSITIONAL
from cst.cli.table import check_table_files, default_place, show_suite
from cst.files import check_place

if TYPE_CHECKING:
    from cst.bench.engines import Engine
    from cst.bench.progress import SuiteProgress


@dataclass(frozen=True)
class Bench:
    """Run a suite of methods, tasks and seeds and print its table; it can be interrupted and started again."""

    suite: str = field(metadata={POSITIONAL: "SUITE"})
    """The paper's tables: office-home, sentiment, visda, ablation, batch-size, digits, domainnet40; small ones: demo,
    battery, ablation-small, batch-size-small, office-home-features, office-home-small, and others; or a file of your
    own that ends in .yaml."""
    methods: str | None = None
    """Only these methods of the suite, or others, names with commas between."""
    tasks: str | None = None
    """Only these tasks of the suite, or others from `cst tasks`, names with commas between."""
    seeds: int | None = None
    """How many seeds. (default: as many as the suite asks for)"""
    set: Mapping[str, Any] = field(default_factory=dict)
    """A setting of every run, for instance epochs=5 or weights=FILE, over the suite's own; the flag may be repeated."""
    jobs: int | None = None
    """Train so many runs at a time, each in a process of its own. (default: in this process, one after the other)"""
    threads: int = 1
    """Threads of each run; with another number figures may differ by rounding."""
    ray: str | None = None
    """Train on a Ray cluster: its address, auto for the one that is running or a new one here."""
    cpus: float | None = None
    """CPUs of each run on a Ray cluster. (default: as many as --threads)"""
    gpus: float = 0.0
    """GPUs of each run on a Ray cluster; 0.5 lets two share one."""
    oracle: bool = False
    """A second table of the best epoch by the target's labels, marked as such, and one of the samples trained on where
    others were tested."""
    data_root: Path | None = None
    """Folder of datasets for suites that read files; CST_DATA if not given."""
    out: Path | None = None
    """Folder for the runs and table.md, .csv, .tex, .html. (default: runs/bench/SUITE)"""
    to: Path | None = None
    """Write the table to this file only: .md, .csv, .tex or .html."""
    figure: Path | None = None
    """Draw accuracy and selected alpha over the epochs of the finished runs into this file, a PNG."""
    json: Path | None = None
    """Write one row for each run to this file."""

    def run(self) -> None:
        """Run what is missing and print the table."""
        from cst.bench.suite import check_data, with_seeds
        from cst.bench.suite_file import find_suite

        for name in ("seeds", "jobs", "threads"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1.")
        if not 0 <= self.gpus < math.inf or not 0 < (1 if self.cpus is None else self.cpus) < math.inf:
            raise ValueError("--cpus must be more than 0, and --gpus at least 0.")
        if self.ray is None and (self.cpus is not None or self.gpus):
            raise ValueError("--cpus and --gpus are for runs on a cluster: name it with --ray.")
        if self.ray is not None and self.jobs is not None:
            raise ValueError("--ray fills the cluster by itself: leave out --jobs.")
        check_table_files(self.to, self.figure, self.json)
        suite = with_seeds(find_suite(self.suite, self.methods, self.tasks, self._settings()), self.seeds)
        out = self.out or default_place(suite)
        check_place(out, "out=")

        from cst.bench.job import jobs_of
        from cst.bench.progress import SuiteProgress
        from cst.bench.runner import run_suite

        jobs = jobs_of(suite, out)
        check_data((job.variant for job in jobs if not job.is_done), self.data_root)
        progress = SuiteProgress()
        ended = run_suite(jobs, self._engine(progress), progress)
        if any(job.is_done for job in jobs):
            show_suite(suite, jobs, out, self)
        elif not ended.failed:
            raise ValueError(f"No run in {out} is finished: all are being trained by another process.")
        if ended.failed:
            first, why = next(iter(ended.failed.items()))
            raise RunError(
                f"{len(ended.failed)} of {len(jobs)} runs failed, twice each; the same command tries them again. "
                f"{first}: {why}"
            )

    def _settings(self) -> dict[str, Any]:
        """What `--set` says; values are read as YAML reads them."""
        import yaml

        from cst.config import config_from

        values = {}
        for word in self.set:
            name, equals, value = word.partition("=")
            if not equals:
                raise ValueError(f"--set {word}: write NAME=VALUE, for instance 'epochs=5'.")
            try:
                values[name.strip().replace("-", "_")] = yaml.safe_load(value)
            except yaml.YAMLError:
                raise ValueError(f"--set {word}: the value cannot be read; put quotes around it.") from None
        config_from(values, where="--set")
        return values

    def _engine(self, progress: SuiteProgress) -> Engine:
        from cst.bench.engines import Cluster, Here, Processes
        from cst.bench.job import Place

        place = Place(self.data_root, self.threads)
        if self.ray is not None:
            return Cluster(self.ray, place, self.threads if self.cpus is None else self.cpus, self.gpus)
        if self.jobs is not None:
            return Processes(place, self.jobs)
        return Here(place, lambda job: progress.showing(job.label))
