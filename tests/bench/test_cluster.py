"""A real Ray cluster on this machine: two workers, one of them killed in mid-task."""

import os
import signal
from pathlib import Path

import pytest

from bench.small import small_suite
from cst.bench.engines import Cluster
from cst.bench.job import Place, jobs_of
from cst.bench.progress import SuiteProgress
from cst.bench.rows import rows_of
from cst.bench.runner import run_suite

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def cluster():
    # On a busy machine Ray's workers would wait for everybody else.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


class KillsAWorker(SuiteProgress):
    """Kills the worker of a run when it has trained two epochs and is not at its end."""

    def __init__(self, victim):
        super().__init__(lambda line: None)
        self.victim, self.killed, self.record = victim, 0, ""

    def moved(self, label, share, note=""):
        super().moved(label, share, note)
        if label == self.victim.label and not self.killed and 2 / 6 <= share < 1:
            self.killed = worker_of(self.victim)
            self.record = self.victim.run.metrics_file.read_text().splitlines()[0]
            os.kill(self.killed, signal.SIGKILL)


def worker_of(job):
    """The process that holds the lock of the run's folder."""
    lock = os.stat(job.run.folder / ".lock")
    for words in map(str.split, Path("/proc/locks").read_text().splitlines()):
        if words[5].endswith(f":{lock.st_ino}"):
            return int(words[4])
    raise AssertionError("nobody trains it")


def test_everything_completes_and_nothing_twice_when_a_worker_is_killed(cluster, tmp_path):
    suite = small_suite(settings={"epochs": 6, "steps_per_epoch": 10}, seeds=2)
    jobs = jobs_of(suite, tmp_path)
    progress = KillsAWorker(jobs[0])
    engine = Cluster("auto", Place())
    assert engine.slots == 2
    ended = run_suite(jobs, engine, progress)
    assert progress.killed
    assert not ended.failed
    assert len(rows_of(jobs)) == 4
    for job in jobs:
        numbers = [record["epoch"] for record in job.run.history()]
        assert numbers == list(range(1, 7))  # no epoch is missing, none is there twice
    # The first epoch was not trained again: its record has the seconds that it took before the worker was killed.
    assert jobs[0].run.metrics_file.read_text().splitlines()[0] == progress.record
    written = [job.run.result_file.stat().st_mtime_ns for job in jobs]
    assert not run_suite(jobs, Cluster("auto", Place()), SuiteProgress(lambda line: None)).failed
    assert [job.run.result_file.stat().st_mtime_ns for job in jobs] == written  # nothing is run again


def test_what_a_task_raises_is_the_runs_message(cluster, tmp_path):
    jobs = jobs_of(small_suite(tasks=["digits:mnist-usps"], methods=["cst"]), tmp_path)
    ended = run_suite(jobs, Cluster("auto", Place(tmp_path)), SuiteProgress(lambda line: None))
    (message,) = ended.failed.values()
    assert "MNIST" in message
    assert "\n" not in message


def test_a_run_that_does_not_fit_is_refused(cluster):
    with pytest.raises(ValueError, match="The cluster has 2 CPUs and 0 GPUs, too few for a run of 1 and 1"):
        Cluster("auto", Place(), gpus=1)
