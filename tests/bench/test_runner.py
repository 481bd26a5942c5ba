import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

from bench.small import VALUES, small_suite
from cst.bench.engines import Done, Here, Processes
from cst.bench.job import FAILURE, Place, jobs_of
from cst.bench.progress import SuiteProgress
from cst.bench.rows import histories_of, rows_of
from cst.bench.runner import run_suite

PLACE = Place()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The runs of the small suite, trained once in this process."""
    folder = tmp_path_factory.mktemp("bench")
    said = []
    ended = run_suite(jobs_of(small_suite(), folder), Here(PLACE), SuiteProgress(said.append))
    assert not ended.failed
    return folder, said


@pytest.fixture
def jobs(trained, tmp_path):
    """The same in a folder of the test's own, all finished."""
    folder, _ = trained
    shutil.copytree(folder, tmp_path / "runs")
    return jobs_of(small_suite(), tmp_path / "runs")


class Fails:
    """An engine whose runs fail as often as they are told to, and are trained after that."""

    def __init__(self, times, message="the disk is full"):
        self.times, self.message, self.started, self.slots = times, message, [], 1

    def start(self, job):
        self.started.append(job.label)
        if self.started.count(job.label) <= self.times.get(job.variant.line, 0):
            return Done(self.message)
        return Here(PLACE).start(job)

    def close(self):
        self.closed = True


def test_progress_counts_runs_and_tells_the_time_left(trained):
    _, said = trained
    assert said[0] == "0 of 2 runs were finished before"
    assert said[1].startswith("source-only  seed 0: done, 1 to go, about ")
    assert said[2] == "strong ridge  seed 0: done, 0 to go"


def test_what_is_finished_is_not_run_again(jobs):
    rows = rows_of(jobs)
    assert [row["line"] for row in rows] == ["source-only", "strong ridge"]
    assert all(row["milliseconds_per_step"] > 0 for row in rows)
    engine = Fails({})
    run_suite(jobs, engine, SuiteProgress(lambda line: None))
    assert engine.started == []
    jobs[1].run.result_file.unlink()
    run_suite(jobs, engine, SuiteProgress(lambda line: None))
    assert engine.started == ["strong ridge  seed 0"]
    assert rows_of(jobs)[1]["accuracy"] == rows[1]["accuracy"]


def test_a_run_that_was_made_with_other_settings_is_not_taken_for_this_one(jobs):
    before = jobs[0].run.result_file.read_bytes()
    folder = jobs[0].run.folder.parent
    others = jobs_of(small_suite(settings={"epochs": 2, "steps_per_epoch": 3}), folder)
    with pytest.raises(ValueError, match=r"trained with other settings \(epochs was 1, now 2\): choose another out="):
        run_suite(others, Fails({}), SuiteProgress(lambda line: None))
    assert jobs[0].run.result_file.read_bytes() == before


def test_a_run_that_failed_before_it_learned_anything_begins_anew_with_new_settings(tmp_path):
    wild = small_suite(settings={"epochs": 1, "steps_per_epoch": 3, "lr": 1e30}, methods=["source-only"])
    (job,) = jobs_of(wild, tmp_path)
    ended = run_suite([job], Here(PLACE), SuiteProgress(lambda line: None))
    assert "diverged" in ended.failed[job.label]
    tame = small_suite(settings={"epochs": 1, "steps_per_epoch": 3, "lr": 0.01}, methods=["source-only"])
    assert not run_suite(jobs_of(tame, tmp_path), Here(PLACE), SuiteProgress(lambda line: None)).failed
    assert job.run.settings.lr == 0.01


@pytest.mark.parametrize("file", ["config.yaml", "metrics.jsonl", "result.json", "options.yaml", "failed.json"])
@pytest.mark.parametrize("text", ["", "[]", "{", "{}"])
def test_a_damaged_run_does_not_stop_the_others_or_the_table(jobs, file, text):
    (jobs[0].run.folder / file).write_text(text)
    jobs[1].run.result_file.unlink()
    assert len(rows_of(jobs)) <= 1
    ended = run_suite(jobs, Here(PLACE), SuiteProgress(lambda line: None))
    assert jobs[1].is_done
    assert set(ended.failed) <= {jobs[0].label}
    assert jobs[0].is_done or jobs[0].failure


def test_what_only_reads_changes_nothing(jobs):
    jobs[0].run.result_file.write_text("{")
    before = {path: path.read_bytes() for path in jobs[0].run.folder.parent.rglob("*") if path.is_file()}
    assert not jobs[0].is_done
    assert len(rows_of(jobs)) == 1
    assert {path: path.read_bytes() for path in before} == before


def test_names_of_any_script_and_length_have_folders(tmp_path):
    names = ["方法一", "方法二", "a/b", "a b", "x" * 300, "=", "?"]
    suite = small_suite(methods=[{"name": name, "method": "cst"} for name in names])
    folders = [job.run.folder for job in jobs_of(suite, tmp_path)]
    assert len(set(folders)) == len(names)
    for folder in folders:
        folder.mkdir()
        assert folder.parent == tmp_path


def test_a_result_that_is_half_written_is_made_again_and_corrupts_nothing(jobs):
    rows = rows_of(jobs)
    text = jobs[0].run.result_file.read_text()
    jobs[0].run.result_file.write_text(text[: len(text) // 2])
    assert [row["line"] for row in rows_of(jobs)] == ["strong ridge"]
    engine = Fails({})
    assert not run_suite(jobs, engine, SuiteProgress(lambda line: None)).failed
    assert engine.started == ["source-only  seed 0"]
    assert [row["accuracy"] for row in rows_of(jobs)] == [row["accuracy"] for row in rows]


def test_a_run_that_fails_once_is_tried_again_and_the_others_go_on(tmp_path):
    jobs, said, engine = jobs_of(small_suite(), tmp_path), [], Fails({"source-only": 1})
    ended = run_suite(jobs, engine, SuiteProgress(said.append))
    assert not ended.failed
    assert engine.started == ["source-only  seed 0", "strong ridge  seed 0", "source-only  seed 0"]
    assert "source-only  seed 0: failed, is tried once more: the disk is full" in said
    assert all(job.is_done and not job.failure for job in jobs)
    assert not list(tmp_path.rglob(FAILURE))
    assert engine.closed


def test_a_run_that_fails_twice_is_recorded_with_its_message(tmp_path):
    jobs, engine = jobs_of(small_suite(), tmp_path), Fails({"source-only": 9})
    ended = run_suite(jobs, engine, SuiteProgress(lambda line: None))
    assert ended.failed == {"source-only  seed 0": "the disk is full"}
    assert engine.started.count("source-only  seed 0") == 2
    assert [job.is_done for job in jobs] == [False, True]
    assert jobs[0].failure == "the disk is full"
    assert json.loads((jobs[0].run.folder / FAILURE).read_text())["attempts"] == 2


def test_whatever_a_run_raises_is_a_failure_of_that_run_alone(tmp_path, monkeypatch):
    from cst.bench import engines

    def broken(folder, options, place, callbacks):
        raise MemoryError("no room")

    monkeypatch.setattr(engines, "train_job", broken)
    assert Here(PLACE).start(jobs_of(small_suite(), tmp_path)[0]).outcome() == "MemoryError: no room"


def test_a_run_that_another_process_trains_is_left_to_it(jobs):
    for job in jobs:
        job.run.result_file.unlink()
    said = []
    with jobs[0].run.locked():
        ended = run_suite(jobs, Here(PLACE), SuiteProgress(said.append))
    assert ended.elsewhere == ["source-only  seed 0"]
    assert "source-only  seed 0: left to the process that trains it" in said
    assert [row["line"] for row in rows_of(jobs)] == ["strong ridge"]


def test_processes_train_the_same_as_this_one(jobs, tmp_path):
    others = jobs_of(small_suite(), tmp_path / "others")
    assert not run_suite(others, Processes(PLACE, 2), SuiteProgress(lambda line: None)).failed
    assert [row["accuracy"] for row in rows_of(others)] == [row["accuracy"] for row in rows_of(jobs)]
    for ours, theirs in zip(jobs, others, strict=True):
        assert ours.run.weights_file.read_bytes() == theirs.run.weights_file.read_bytes()
    assert not list((tmp_path / "others").rglob("stderr.txt"))


def test_the_message_of_a_process_is_its_last_line(tmp_path):
    suite = small_suite(tasks=["digits:mnist-usps"], methods=["cst"])
    (job,) = jobs_of(suite, tmp_path)
    ended = run_suite([job], Processes(Place(tmp_path)), SuiteProgress(lambda line: None))
    assert "MNIST" in ended.failed[job.label]
    assert "cst: " not in ended.failed[job.label]


def test_a_suite_that_is_killed_goes_on(tmp_path, cst):
    """The command itself, with SIGKILL while a run is under way; epochs that were finished are not trained again."""
    file = tmp_path / "mine.yaml"
    values = {**VALUES, "settings": {"epochs": 8, "steps_per_epoch": 20}, "methods": ["source-only"], "seeds": 2}
    file.write_text(yaml.safe_dump(values))
    out = tmp_path / "runs"
    words = ["bench", str(file), "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-m", "cst", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    metrics = out / "source-only-seed0" / "metrics.jsonl"
    until = time.monotonic() + 60
    while not (metrics.is_file() and metrics.read_text().count("\n") >= 2):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (out / "source-only-seed0" / "result.json").exists()
    before = metrics.read_text().splitlines()[0]
    code, said, err = cst(*words)
    assert code == 0, err
    assert "source-only" in said
    assert metrics.read_text().splitlines()[0] == before  # with the seconds that the first epoch took then
    assert len(metrics.read_text().splitlines()) == 8


@pytest.mark.parametrize("jobs", [[], ["--jobs", "1"]])
def test_a_suite_that_is_terminated_leaves_no_process_behind_and_says_how_to_go_on(tmp_path, jobs):
    file, out = tmp_path / "mine.yaml", tmp_path / "runs"
    file.write_text(yaml.safe_dump({**VALUES, "settings": {"epochs": 400, "steps_per_epoch": 20}}))
    words = [sys.executable, "-m", "cst", "bench", str(file), "--out", str(out), *jobs]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    metrics, until = out / "source-only-seed0" / "metrics.jsonl", time.monotonic() + 60
    while not metrics.is_file():
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    _, said = process.communicate(timeout=30)
    assert process.returncode == 143
    assert said.rstrip().endswith("cst: terminated: the same command continues.")
    time.sleep(0.5)
    count = metrics.read_text().count("\n")
    time.sleep(1.5)
    assert metrics.read_text().count("\n") == count


def test_histories_of_finished_runs_go_by_task_and_method(trained, tmp_path):
    settings = (trained[0] / "source-only-seed0" / "config.yaml").read_bytes()
    suite = small_suite(methods=["cst", "dann"], tasks=["synthetic-digits", "tables:wine-rescaled"], seeds=2)
    jobs = jobs_of(suite, tmp_path)
    for number, job in enumerate(jobs[:-1]):
        job.run.folder.mkdir()
        job.run.metrics_file.write_text(json.dumps({"epoch": 1, "number": number, "cpu_seconds": 1, "step": 1}) + "\n")
        job.run.save_result({"target_head_source_error": 0.0})
        (job.run.folder / "config.yaml").write_bytes(settings)
    found = histories_of(jobs)
    numbers = {(t, m): [runs[0]["number"] for runs in found[t][m]] for t in found for m in found[t]}
    first, second = "synthetic-digits", "wine-rescaled"
    assert numbers == {(first, "cst"): [0, 4], (first, "dann"): [1, 5], (second, "cst"): [2, 6], (second, "dann"): [3]}
