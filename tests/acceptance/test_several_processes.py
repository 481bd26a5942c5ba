"""Whole commands in several processes: by `--devices`, and by torchrun."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import cst
from cst.engine.adapted import load
from cst.methods import CATALOGUE

sys.path.insert(0, str(Path(__file__).parent.parent / "ranks"))
import work

pytestmark = pytest.mark.acceptance
CST = [sys.executable, "-m", "cst"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
SHORT = ["--device", "cpu", "--epochs", "2", "--steps-per-epoch", "4", "--batch-size", "16"]
QUIET = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    for name in ("lab", "field"):
        rows = random.normal(size=(60, 3)) + (name == "field") * 0.3
        lines = [f"{a:.4f},{b:.4f},{c:.4f},{'up' if a + b > 0 else 'down'}" for a, b, c in rows]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    return ["--source", str(folder / "lab.csv"), "--target", str(folder / "field.csv")]


def run(*words, **options):
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, env=QUIET, timeout=900, **options
    )


def features(folder):
    return load(folder).predict_proba(np.linspace(-1, 1, 30).reshape(10, 3).astype(np.float32))


def test_one_two_and_torchrun_are_one_run(tables, tmp_path):
    ends = {
        name: run(*start, "train", *tables, *SHORT, *more, "--out", tmp_path / name)
        for name, start, more in (
            ("one", CST, []),
            ("two", CST, ["--devices", "2"]),
            ("torchrun", [*TORCHRUN, "-m", "cst"], []),
        )
    }
    for name, end in ends.items():
        assert end.returncode == 0, end.stderr
        assert end.stdout.count("Verdict") == ends["one"].stdout.count("Verdict"), "one process prints"
        np.testing.assert_allclose(features(tmp_path / name), features(tmp_path / "one"), atol=1e-4)
    keys = [sorted(json.loads((tmp_path / name / "result.json").read_text())) for name in ends]
    assert keys[0] == keys[1] == keys[2]
    assert "accuracy" not in ends["two"].stderr


def test_one_sentence_under_torchrun(tables, tmp_path):
    end = run(*TORCHRUN, "-m", "cst", "train", *tables, *SHORT, "--lr", "1e30", "--out", tmp_path / "run")
    assert end.returncode != 0
    assert end.stderr.count("cst: Training diverged") == 1
    end = run(*TORCHRUN, "-m", "cst", "train", *tables, "--epochs", "0", "--out", tmp_path / "run")
    assert end.stderr.count("cst: --epochs must be") == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_ending_the_command_ends_its_processes(how, tables, tmp_path):
    words = [*CST, "train", *tables, "--device", "cpu", "--epochs", "2000", "--devices", "2", "--out", tmp_path / "run"]
    log = (tmp_path / "log").open("w+")
    process = subprocess.Popen([str(word) for word in words], env=QUIET, stdout=log, stderr=log)
    until = time.monotonic() + 600
    while not (tmp_path / "run" / "checkpoint.pt").exists():
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.2)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    process.send_signal(how)
    assert process.wait(60) == (143 if how == signal.SIGTERM else -9)
    until = time.monotonic() + 60
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < until
        time.sleep(0.2)
    if how == signal.SIGTERM:
        assert f"terminated: continue with 'cst train --resume {tmp_path / 'run'}'" in (tmp_path / "log").read_text()


def test_a_process_that_raises_ends_all_with_its_sentence(tmp_path):
    cst.register("failing", work.Failing)
    source, labels, target, _ = work.blobs()
    with pytest.raises(ValueError, match="This picture cannot be read") as raised:
        cst.adapt(
            (source, labels), target, "source+failing(step=2)", work.network(), 2,
            batch_size=16, device="cpu", out=tmp_path / "other", devices=2,
        )  # fmt: skip
    assert "In process 1" in raised.value.__notes__[0]
    assert not (tmp_path / "other" / "result.json").exists()


@pytest.mark.parametrize("method", CATALOGUE)
def test_every_method_trains_in_mixed_precision(method):
    work.trains_in_mixed_precision(method)
