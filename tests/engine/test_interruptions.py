"""A run that was interrupted, in whatever way and wherever, ends as the one that nobody touched."""

import errno
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import cst
from cst.engine.run import Run
from cst.engine.stopping import Stopping

SHORT = {"epochs": 3, "steps_per_epoch": 6, "batch_size": 16}
ROOT = Path(__file__).parents[2]
OF_TIME = ("seconds", "cpu_seconds")


class At(cst.Callback):
    """Does something once, after step number ``step``."""

    def __init__(self, step, do):
        self.step, self.do, self.steps = step, do, []

    def on_step(self, step, total):
        self.steps.append(step)
        if step == self.step:
            self.do()


def interrupt():
    raise KeyboardInterrupt


def records(adapted):
    return [{name: value for name, value in record.items() if name not in OF_TIME} for record in adapted.history]


def same(first, second):
    ours, theirs = first.model.state_dict(), second.model.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in ours.items()) and records(first) == records(second)


def left_after(step, data, method, out, do=interrupt, error=KeyboardInterrupt, **options):
    with pytest.raises(error):
        cst.adapt(*data, method, out=out, callbacks=[At(step, do)], **{**SHORT, **options})


@pytest.fixture
def blobs(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    return (source, labels), target


METHODS = {
    "cst": {"select": "snd"},
    "mean-teacher": {"optimizer": "adamw", "augment": "mild"},
    "kld": {},
    "dirt-t": {},
    "star": {"hold_out": 0.2},
    "mcd": {"select": "verdict", "warmup_epochs": 1.5},
    "fixmatch+mdd+ia": {},
    "sentry+sam": {},
}


@pytest.mark.parametrize("method", METHODS)
def test_within_an_epoch_too(method, blobs, tmp_path):
    options = {"batch_norm": "per-domain", **METHODS[method]}
    whole = cst.adapt(*blobs, method, **SHORT, **options)
    left_after(11, blobs, method, tmp_path, checkpoint_every=4, **options)
    again = At(0, interrupt)
    resumed = cst.adapt(*blobs, method, out=tmp_path, resume=True, callbacks=[again], **SHORT, **options)
    assert again.steps[0] == 11, "from the fourth step of the second epoch on"
    assert same(whole, resumed)


def test_candidates_of_auto_go_on_within_an_epoch(blobs, tmp_path):
    """The second one begins with the warm-up of the first."""
    options = {"epochs": 4, "steps_per_epoch": 4, "batch_size": 16}
    whole = cst.adapt(*blobs, "auto", **options)
    second = At(6, interrupt)
    second.on_settings = lambda settings: setattr(second, "step", 6 if settings.method == "mcc" else -1)
    with pytest.raises(KeyboardInterrupt):
        cst.adapt(*blobs, "auto", out=tmp_path, callbacks=[second], checkpoint_every=1, **options)
    begun = [run for run in (tmp_path / "candidates").iterdir() if run.is_dir()]
    assert {run.name for run in begun if not Run(run).result} == {"mcc"}
    resumed = cst.adapt(*blobs, "auto", out=tmp_path, resume=True, **options)
    assert same(whole, resumed)


class Counting(cst.Term):
    """Remembers in plain attributes what it has seen, without a word to anybody."""

    def __init__(self):
        super().__init__()
        self.epochs, self.recent = 0, [torch.zeros(3)]

    def start_epoch(self, epoch):
        self.epochs += 1

    def forward(self, step):
        self.recent = [*self.recent[-2:], step.target.probs.detach().mean(0)]
        return self.epochs * (step.target.probs.mean(0) - torch.stack(self.recent).mean(0)).square().sum()


@pytest.mark.parametrize("every", [None, 1])
def test_what_a_term_remembers_in_plain_attributes_is_kept(every, blobs, tmp_path):
    whole = cst.adapt(*blobs, Counting(), **SHORT)
    left_after(9, blobs, Counting(), tmp_path, checkpoint_every=every)
    resumed = cst.adapt(*blobs, Counting(), out=tmp_path, resume=True, **SHORT)
    assert same(whole, resumed)


class Killed(BaseException):
    """Stands for the end of the process."""


def test_dying_at_any_write_loses_nothing(blobs, tmp_path, monkeypatch):
    """Before and after renamings, to the very end; each time the run goes on from what lies there."""
    method, options = "cst", {"epochs": 4, "steps_per_epoch": 2, "batch_size": 16, "select": "snd"}
    whole = cst.adapt(*blobs, method, out=tmp_path / "whole", **options)
    replace, count = os.replace, [0]

    def dying(at, after):
        def renaming(old, new):
            count[0] += 1
            if after:
                replace(old, new)
            if count[0] == at:
                raise Killed
            if not after:
                replace(old, new)

        return renaming

    out, resumed, attempts = tmp_path / "broken", None, 0
    while resumed is None:
        attempts, count[0] = attempts + 1, 0
        resume = (out / "config.yaml").exists()
        monkeypatch.setattr(os, "replace", dying(attempts, after=attempts % 2 == 0))
        try:
            resumed = cst.adapt(*blobs, method, out=out, resume=resume, checkpoint_every=1, **options)
        except Killed:
            assert not list(out.glob(".*.partial"))
    assert same(whole, resumed)
    names = [{path.name for path in folder.iterdir()} for folder in (tmp_path / "whole", out)]
    assert names[0] == names[1]
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()


class TestDamage:
    @pytest.fixture
    def left(self, blobs, tmp_path):
        left_after(15, blobs, "cst", tmp_path / "run", checkpoint_every=4)
        return Run(tmp_path / "run")

    def test_the_checkpoint_before_is_there_and_takes_its_place(self, left, blobs):
        assert left.checkpoint_file.is_file()
        assert left.previous_file.is_file()
        place = left.load_checkpoint()
        assert (place["behind"], place["within"]) == (2, None)
        content = left.checkpoint_file.read_bytes()
        whole = cst.adapt(*blobs, "cst", **SHORT)
        for damaged in (
            content[: len(content) // 2],
            content[:-1],
            b"",
            *(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in (300, len(content) // 2)),
        ):
            left.checkpoint_file.write_bytes(damaged)
            with pytest.warns(UserWarning, match=r"checkpoint.pt is damaged: going on from the one before it\."):
                place = Run(left.folder).load_checkpoint()
            assert (place["behind"], place["within"]["log"]["steps"]) == (1, 4)
        with pytest.warns(UserWarning, match="is damaged"):
            resumed = cst.adapt(*blobs, "cst", out=left.folder, resume=True, **SHORT)
        assert same(whole, resumed)

    def test_a_damaged_one_never_takes_the_place_of_a_whole_one(self, left, blobs):
        left.checkpoint_file.write_bytes(b"garbage")
        good = left.previous_file.read_bytes()
        with pytest.warns(UserWarning, match="is damaged"):
            left_after(12, blobs, "cst", left.folder, resume=True, checkpoint_every=5)  # one is written
        assert left.previous_file.read_bytes() == good
        assert left.load_checkpoint()["within"]["log"]["steps"] == 5

    def test_with_both_damaged_it_says_so(self, left, blobs):
        left.checkpoint_file.write_bytes(b"garbage")
        left.previous_file.write_bytes(b"garbage")
        with pytest.raises(ValueError, match=r"checkpoint\.pt is damaged .*restore it or start a new run"):
            cst.adapt(*blobs, "cst", out=left.folder, resume=True, **SHORT)

    def test_between_two_renamings_the_previous_one_serves(self, left, blobs):
        left.checkpoint_file.replace(left.previous_file)
        resumed = cst.adapt(*blobs, "cst", out=left.folder, resume=True, **SHORT)
        assert same(cst.adapt(*blobs, "cst", **SHORT), resumed)

    def test_one_of_the_last_version_is_read(self, left, blobs):
        """It had no checksum, and knew the ends of epochs only."""
        state = left.load_checkpoint()
        names = ("objective", "optimizer", "memory", "data")
        torch.save({"epochs": 2, **{name: state[name] for name in names}}, left.checkpoint_file)
        left.previous_file.unlink()
        resumed = cst.adapt(*blobs, "cst", out=left.folder, resume=True, **SHORT)
        assert same(cst.adapt(*blobs, "cst", **SHORT), resumed)


class TestSignals:
    @pytest.fixture(autouse=True)
    def python_handles_ctrl_c(self):
        """Where tests run in the background, it is ignored."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    def test_the_step_is_finished_and_kept(self, blobs, tmp_path):
        whole = cst.adapt(*blobs, "mean-teacher", **SHORT)
        left_after(9, blobs, "mean-teacher", tmp_path, do=lambda: signal.raise_signal(signal.SIGINT))
        again = At(0, interrupt)
        resumed = cst.adapt(*blobs, "mean-teacher", out=tmp_path, resume=True, callbacks=[again], **SHORT)
        assert again.steps[0] == 10
        assert same(whole, resumed)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_without_a_folder_nothing_waits(self, blobs):
        seen = At(9, lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            cst.adapt(*blobs, "cst", callbacks=[seen], **SHORT)
        assert seen.steps[-1] == 9

    def test_another_error_does_not_swallow_it(self):
        def failing():
            with Stopping():
                signal.raise_signal(signal.SIGINT)
                raise ValueError

        with pytest.raises(KeyboardInterrupt):
            failing()

    def test_a_second_ctrl_c_does_not_wait(self):
        with Stopping() as stopping:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)  # a scheduler that follows is no impatience
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            assert stopping.asked is None

    def test_a_step_that_does_not_end_is_cut_short(self):
        began = time.monotonic()

        def endless():
            with Stopping(patience=0.2):
                signal.raise_signal(signal.SIGINT)
                time.sleep(20)

        with pytest.raises(KeyboardInterrupt):
            endless()
        assert time.monotonic() - began < 10

    def test_other_threads_and_ignored_signals_are_left_alone(self):
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            with Stopping():
                assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGTERM, before)
        handlers = []

        def look():
            with Stopping():
                handlers.append(signal.getsignal(signal.SIGINT))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert handlers == [signal.default_int_handler]

    def test_a_scheduler_gets_143_and_a_run_that_goes_on_where_it_was(self, photos, tmp_path):
        """SIGTERM to the whole group, as schedulers send it: the processes that read images outlive it."""
        source, target = photos
        out = tmp_path / "run"
        words = ["--source", source, "--target", target, "--backbone", "cnn", "--image-size", "16", "--workers", "2"]
        words += ["--epochs", "1", "--steps-per-epoch", "5000", "--batch-size", "8", "--out", out]
        words += ["--checkpoint-every", "1"]
        process = subprocess.Popen(
            [sys.executable, "-m", "cst", "train", *map(str, words)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        deadline = time.monotonic() + 120
        while not (out / "checkpoint-1.pt").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 143
        assert said.splitlines()[-1] == f"cst: terminated: continue with 'cst train --resume {out}'."
        assert "Traceback" not in said
        assert Run(out).load_checkpoint()["within"]["log"]["steps"] > 1


def test_killed_again_and_again_a_run_ends_as_if_nothing_had_been(tmp_path):
    """Real processes, `kill -9`, moments drawn at random; 25 of them are among the acceptance tests."""
    kills = [ROOT / "benchmarks" / "kills.py", "--kills", "4", "--methods", "mean-teacher"]
    words = [sys.executable, *kills, "--keep", tmp_path / "kills.json"]
    found = subprocess.run(words, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    result = json.loads((tmp_path / "kills.json").read_text())["mean-teacher"]
    assert result["kills"] == 4
    assert result["identical"] == result["runs"] > 0


class Poison(cst.Term):
    """A loss that is not a number from some step on."""

    def __init__(self, since, value=math.nan):
        super().__init__()
        self.since, self.value, self.seen = since, value, 0

    def forward(self, step):
        self.seen += 1
        return step.target.logits.sum() * 0 + (self.value if self.seen >= self.since else 0.1)


class TestDivergence:
    def test_it_names_the_step_the_term_and_the_checkpoint(self, blobs, tmp_path):
        with pytest.raises(FloatingPointError) as stop:
            cst.adapt(*blobs, Poison(since=11), out=tmp_path, checkpoint_every=2, warmup_epochs=0, **SHORT)
        said = str(stop.value)
        assert said.startswith("Training diverged in epoch 2 (step 5 of 6: Poison is nan; source is ")
        assert said.endswith(
            f"The checkpoint after step 4 of epoch 2 is of before that: 'cst train --resume {tmp_path}' goes on from "
            "it, should this have been an accident of the machine."
        )
        place = Run(tmp_path).load_checkpoint()
        assert (place["behind"], place["within"]["log"]["steps"]) == (1, 4)
        assert all(value.isfinite().all() for name, value in place["objective"].items() if name.startswith("model."))

    def test_an_infinite_loss_is_one_too(self, blobs):
        with pytest.raises(FloatingPointError, match=r"epoch 1 \(step 3 of 6: Poison is inf; source is "):
            cst.adapt(*blobs, Poison(since=3, value=math.inf), warmup_epochs=0, **SHORT)

    def test_a_target_head_without_a_solution_is_of_its_term(self, blobs):
        class Cycle(cst.Term):
            def forward(self, step):
                return torch.linalg.cholesky(-torch.eye(2)).sum()

        with pytest.raises(FloatingPointError, match=r"step 1 of 6: Cycle: the target head has no solution"):
            cst.adapt(*blobs, Cycle(), warmup_epochs=0, **SHORT)

    def test_weights_that_are_not_finite_are_never_kept(self, blobs, tmp_path):
        class Spoiling(cst.Term):
            def after_step(self, network):
                self.count = getattr(self, "count", 0) + 1
                if self.count == 4:
                    torch.nn.init.constant_(network.head.weight, math.nan)

            def forward(self, step):
                return step.target.logits.sum() * 0

        with pytest.raises(FloatingPointError, match=r"the weights are not finite.*The checkpoint after step 3 of"):
            cst.adapt(*blobs, Spoiling(), out=tmp_path, checkpoint_every=1, warmup_epochs=0, **SHORT)
        assert Run(tmp_path).load_checkpoint()["within"]["log"]["steps"] == 3


FILL = """
import resource, sys
import cst, numpy as np
from pathlib import Path
out, limit = Path(sys.argv[1]), int(sys.argv[2])
random = np.random.default_rng(0)
data = (random.normal(size=(40, 5)).astype("f4"), np.arange(40) % 2), random.normal(size=(40, 5)).astype("f4")

class Filling(cst.Callback):
    def on_step(self, step, total):
        if step == 9:
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            else:
                with open(out.parent / "ballast", "wb") as file:
                    while True:
                        file.write(bytes(4096))
                        file.flush()

class Quiet(Filling):
    def on_step(self, step, total):
        try:
            super().on_step(step, total)
        except OSError:
            pass

try:
    short = {"epochs": 3, "steps_per_epoch": 6, "batch_size": 16}
    cst.adapt(*data, "cst", out=out, checkpoint_every=2, callbacks=[Quiet()], **short)
except OSError as error:
    print(error.errno, error)
"""


@pytest.fixture(params=["disk", "limit"])
def full(request, tmp_path):
    """A folder on a disk of a megabyte or so, and no limit; or any folder, and a limit to the size of files."""
    if request.param == "limit":
        yield tmp_path / "run", 20_000, errno.EFBIG
        return
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        yield place / "run", 0, errno.ENOSPC
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_one_sentence_and_loses_nothing(full):
    out, limit, number = full
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # as this process has one thread, whose rounding is compared
    found = subprocess.run([sys.executable, "-c", FILL, out, str(limit)], capture_output=True, text=True, env=alone)
    assert found.stdout.startswith(f"{number} "), found.stderr
    assert "what was there before is kept" in found.stdout
    assert "checkpoint" in found.stdout
    assert not list(out.glob(".*.partial"))
    assert Run(out).load_checkpoint()["within"]["log"]["steps"] == 2
    (out.parent / "ballast").unlink(missing_ok=True)
    random = np.random.default_rng(0)
    data = (random.normal(size=(40, 5)).astype("f4"), np.arange(40) % 2), random.normal(size=(40, 5)).astype("f4")
    resumed = cst.adapt(*data, "cst", out=out, resume=True, **SHORT)
    assert same(cst.adapt(*data, "cst", **SHORT), resumed)


def test_the_option_needs_a_folder_and_a_number(blobs):
    with pytest.raises(ValueError, match="checkpoint_every= needs a folder for the checkpoints: pass out="):
        cst.adapt(*blobs, "cst", checkpoint_every=3, **SHORT)
    with pytest.raises(ValueError, match="checkpoint_every= must be a whole number of at least 1"):
        cst.adapt(*blobs, "cst", out="nowhere", checkpoint_every=0, **SHORT)
