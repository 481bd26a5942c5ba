"""Where runs are trained: in this process, in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from cst.bench.job import Job, Place, train_job
from cst.extras import missing

Outcome = str
"""Empty where a run has succeeded, else what went wrong."""


class Handle(Protocol):
    """A run that has been started."""

    def outcome(self) -> Outcome | None:
        """How it ended; None while it goes on."""

    def stop(self) -> None:
        """End it; it can go on later."""


class Engine(Protocol):
    """Starts runs, so many at a time."""

    slots: int

    def start(self, job: Job) -> Handle:
        """Begin a run, or go on with it."""

    def close(self) -> None:
        """Let go of what it holds."""


@dataclass
class Done:
    """A run that ended before anybody could ask."""

    ended: Outcome

    def outcome(self) -> Outcome:
        """How."""
        return self.ended

    def stop(self) -> None:
        """Nothing is left to end."""


@dataclass
class Here:
    """In this process, one after the other.

    Args:
        place: of data and threads.
        showing: makes callbacks that show how far a run is.
    """

    place: Place
    showing: Callable[[Job], list[Any]] = lambda job: []
    slots: int = 1

    def start(self, job: Job) -> Done:
        """Train it to its end."""
        try:
            train_job(job.run.folder, job.options, self.place, self.showing(job))
        except Exception as error:  # whatever it is, the other runs go on
            return Done(sentence_of(error))
        return Done("")

    def close(self) -> None:
        """Nothing is held."""


def sentence_of(error: Exception) -> str:
    """What an error says, in one line, with its kind where it is none of our sentences."""
    words = " ".join(str(error).split())
    return words if isinstance(error, ValueError) and words else f"{type(error).__name__}: {words}"


@dataclass
class Processes:
    """Each run in a process of this machine."""

    place: Place
    slots: int = 1

    def start(self, job: Job) -> Process:
        """Call `cst train`."""
        folder = job.run.folder
        words = ["--resume", str(folder)]
        if not job.run.config_file.is_file():
            words = ["--config", str(job.options_file), "--out", str(folder)]
        words += ["--cache", str(folder.parent / "cache")]
        if self.place.data_root is not None:
            words += ["--data-root", str(self.place.data_root)]
        said = folder / "stderr.txt"
        with said.open("wb") as file_of_errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "cst", "train", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file_of_errors,
                env={**os.environ, "OMP_NUM_THREADS": str(self.place.threads)},
                preexec_fn=_end_with_parent if sys.platform == "linux" else None,
            )
        return Process(process, said)

    def close(self) -> None:
        """Processes are stopped by their handles."""


def _end_with_parent() -> None:
    """Ask Linux to terminate this process when the one that started it is gone, however it went."""
    import ctypes

    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)


@dataclass
class Process:
    """A run in a process."""

    process: subprocess.Popen[bytes]
    said: Path

    def outcome(self) -> Outcome | None:
        """Its last line, if it failed."""
        if self.process.poll() is None:
            return None
        code = self.process.returncode
        lines = self.said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if code == 0:
            self.said.unlink(missing_ok=True)
            return ""
        if code < 0:
            return f"killed by signal {-code}."
        return lines[-1].removeprefix("cst: ") if lines else f"ended with code {code}, without a message."

    def stop(self) -> None:
        """Terminate it."""
        self.process.terminate()
        self.process.wait()


class Cluster:
    """One task a run on a Ray cluster.

    A worker trains in the run's folder, which on several machines should be one that all of them see: then a run whose
    worker dies goes on after its last finished epoch. Its records come back with the task as well, so that a driver
    that does not see the folder has its figures.

    Args:
        address: of a running cluster, ``"auto"`` for the one that the environment names or one on this machine, or
            ``"local"`` to start one here.
        place: of data and threads.
        cpus: of each run.
        gpus: of each run, also a part of one.
        slots: runs that are submitted at a time; as many as the cluster has room for if not given.
    """

    def __init__(self, address: str, place: Place, cpus: float = 1, gpus: float = 0, slots: int | None = None) -> None:
        try:
            import ray
        except ImportError:
            raise missing("ray", "ray=") from None
        self.ray: Any = ray
        self.ours = not ray.is_initialized()
        if self.ours:
            _connect(ray, address)
        self.place, self.cpus, self.gpus = place, cpus, gpus
        room = self.ray.cluster_resources()
        most = [
            room.get("CPU", 0) / cpus if cpus else float("inf"),
            room.get("GPU", 0) / gpus if gpus else float("inf"),
        ]
        fits = int(min(most))
        if fits < 1:
            raise ValueError(
                f"The cluster has {room.get('CPU', 0):g} CPUs and {room.get('GPU', 0):g} GPUs, too few for a run of "
                f"{cpus:g} and {gpus:g}: lower cpus= or gpus=."
            )
        self.slots = slots or fits

    def start(self, job: Job) -> Task:
        """Submit it; a worker that dies is replaced by Ray, and the run goes on."""
        remote = self.ray.remote(num_cpus=self.cpus, num_gpus=self.gpus, max_retries=3)(_train_there)
        folder = job.run.folder.resolve()
        place = replace(self.place, data_root=self.place.data_root and self.place.data_root.resolve())
        return Task(self.ray, remote.remote(str(folder), _from_anywhere(job.options), place), job)

    def close(self) -> None:
        """Leave the cluster."""
        if self.ours:
            self.ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    options = {"logging_level": "warning", "log_to_driver": False}
    try:
        if address in ("auto", "local"):
            try:
                ray.init(address="auto" if address == "auto" else "local", include_dashboard=False, **options)
            except (ConnectionError, ValueError):
                ray.init(address="local", include_dashboard=False, **options)
        else:
            ray.init(address=address, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ValueError(f"ray={address}: there is no cluster to join ({sentence_of(error)}).") from None


def _from_anywhere(options: dict[str, Any]) -> dict[str, Any]:
    """The same with whole paths: a worker may stand in another folder."""
    whole = dict(options)
    for name in ("source", "target", "target_labels", "label", "weights"):
        if options.get(name) and Path(str(options[name])).exists():
            whole[name] = str(Path(str(options[name])).resolve())
    return whole


RECORDS = ("config.yaml", "metrics.jsonl", "result.json")


def _train_there(folder: str, options: dict[str, Any], place: Place) -> dict[str, str]:
    """Runs in a worker: train, and return the records."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    if not (path / "result.json").is_file():
        train_job(path, options, place)
    return {name: (path / name).read_text(encoding="utf-8") for name in RECORDS}


@dataclass
class Task:
    """A run on the cluster."""

    ray: Any
    reference: Any
    job: Job

    def outcome(self) -> Outcome | None:
        """What the worker raised, or the records, which are written where they are missing."""
        from cst.files import write_text_aside

        ready, _ = self.ray.wait([self.reference], timeout=0)
        if not ready:
            return None
        try:
            records = self.ray.get(self.reference)
        except Exception as error:  # a failed task raises a class that is made of its own and of Ray's
            cause = getattr(error, "cause", None)
            return sentence_of(cause if isinstance(cause, Exception) else error)
        for name, text in records.items():
            file = self.job.run.folder / name
            if not file.is_file():
                write_text_aside(file, text)
        return ""

    def stop(self) -> None:
        """Cancel it."""
        self.ray.cancel(self.reference, force=True)
