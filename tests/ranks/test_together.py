"""Several real processes take the steps of one: losses, gradients and weights of every method of the catalogue."""

import time
from functools import partial

import numpy as np
import pytest
import torch
import work
from PIL import Image

import cst
from cst.config import Config
from cst.engine.callbacks import Callback
from cst.engine.joining import to_launch
from cst.engine.launch import Launch
from cst.engine.run import Run
from cst.methods import CATALOGUE
from cst.ranks import group
from cst.ranks.group import Lost

HANDFUL = ("cst+sam", "mcd", "vat+entropy", "mixmatch", "cst-official")
TWO = ("mcd", "cst-official")
"""With several backward passes, and with a perturbation of the weights."""
SIMPLE = {"epochs": 4, "steps_per_epoch": 3, "batch_size": 16, "device": "cpu", "warmup_epochs": 0}


@pytest.fixture(scope="module")
def alone():
    return work.every_method(CATALOGUE)


@pytest.fixture(scope="module")
def two():
    return Launch(2).run(partial(work.in_one_group, partial(work.every_method, tuple(CATALOGUE))))


class LastStep(Callback):
    def on_step(self, step, total):
        self.number, self.at = step, time.monotonic()


class Hearing(Callback):
    def __init__(self):
        self.remarks = []

    def on_remark(self, sentence):
        self.remarks.append(sentence)


@pytest.fixture(scope="module")
def heard():
    return [], Hearing()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for number in range(7):
        Image.fromarray(random.integers(0, 255, (24, 30, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


@pytest.fixture(scope="module")
def three(heard, pictures):
    sentences, hearing = heard
    job = partial(work.several, pictures, HANDFUL, TWO)
    return Launch(3, [hearing], sentences.append).run(partial(work.in_one_group, job))


def compare(ours, theirs, within=1e-5):
    """Everything that was kept of two runs, number by number."""
    assert theirs["alike"]
    for one, other in zip(ours["losses"], theirs["losses"], strict=True):
        assert other == pytest.approx(one, abs=within)
    assert len(ours["gradients"]) == len(theirs["gradients"]) > 0
    for step, (one, other) in enumerate(zip(ours["gradients"], theirs["gradients"], strict=True)):
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(b, a, atol=within, rtol=0, msg=lambda text, step=step: f"step {step}: {text}")
    assert max(float(part.abs().max()) for step in ours["gradients"] for part in step) > 1000 * within
    for what in ("after five steps", "weights"):
        assert ours[what].keys() == theirs[what].keys()
        for name, value in ours[what].items():
            torch.testing.assert_close(theirs[what][name], value, atol=within, rtol=0, equal_nan=True)
    torch.testing.assert_close(theirs["probabilities"], ours["probabilities"], atol=within, rtol=0)


@pytest.mark.parametrize("method", CATALOGUE)
def test_two_processes_take_the_steps_of_one(method, alone, two):
    """In float64, where rounding hides nothing; cst-official in float32 is at 1.2e-5 in its largest gradients."""
    compare(alone[method], two[method])


@pytest.mark.parametrize("method", HANDFUL)
def test_three_processes_with_uneven_shares_do_so_too(method, alone, three):
    compare(alone[method], three["methods"][method])


@pytest.mark.parametrize("method", TWO)
def test_batch_norm_goes_by_the_whole_batch(method, three):
    compare(work.every_method((method,), norm=True)[method], three["with batch norm"][method])


@pytest.mark.parametrize("method", TWO)
def test_slices_of_a_batch_take_the_step_of_the_batch(method, alone, three):
    """In several processes, and in one."""
    compare(alone[method], three["in slices"][method])
    compare(alone[method], work.every_method((method,), accumulate=5)[method])


def test_gradients_of_weights_and_inputs_on_both_sides(three):
    ours, theirs = work.arithmetic(), three["arithmetic"]
    assert (ours["count"], theirs["count"]) == (1, 3)
    for name in ("loss", "inputs", "weights", "few rows", "bf16", "next number"):
        if name != "next number":
            torch.testing.assert_close(theirs[name], ours[name])
    assert len({tuple(row.tolist()) for row in theirs["noise"]}) == 7, "each draws noise of its own"
    assert theirs["asked"] == [True, True, True, False]


def test_files_are_read_in_parts(three):
    """Random crops too are those that one process draws."""
    parts = three["pictures"]
    assert torch.equal(parts["crops"], parts["read"])
    assert parts["features"].shape == (7, 4)


def test_the_first_alone_writes(three, pictures):
    assert three["written"] == [0, 1, 2]
    assert [file.name for file in pictures.glob("*.txt")] == ["0.txt"]


def test_sentences_and_remarks_are_heard_once_and_here(three, heard):
    assert (heard[0], heard[1].remarks) == (["A sentence."], ["A remark."])


@pytest.fixture
def failing():
    cst.register("failing", work.Failing)
    return "source+failing"


def adapt(method, folder, **options):
    source, labels, target, _ = work.blobs()
    data = {"source": (source, labels), "target": target, "backbone": work.network()}
    return cst.adapt(**data, method=method, out=folder, **{**SIMPLE, **options})


def test_a_process_that_is_killed_ends_all_and_the_run_goes_on_with_another_number(failing, tmp_path):
    method, last = f"{failing}(how=kill)", LastStep()
    with pytest.raises(Lost, match=r"Process 2 of 2 was ended by the signal SIGKILL.*the others were stopped"):
        adapt(method, tmp_path / "run", devices=2, callbacks=[last])
    assert time.monotonic() - last.at < 60
    assert last.number == 6
    assert Run(tmp_path / "run").load_checkpoint() is not None
    resumed = adapt(method, tmp_path / "run", resume=True)
    whole = adapt(method, tmp_path / "whole")
    assert len(resumed.history) == 4
    for name, value in whole.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], value, atol=1e-5, rtol=0)


def test_what_cannot_be_is_refused_before_anything_starts(monkeypatch):
    with pytest.raises(ValueError, match="num_nodes=2 needs something that starts"):
        to_launch(Config(num_nodes=2))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match="devices=2, but this machine has 1 GPUs"):
        to_launch(Config(devices=2, device="cuda"))
    with pytest.raises(ValueError, match="there is one only"):
        to_launch(Config(devices=2, device="mps"))
    assert to_launch(Config(devices=3, device="cpu")) == 3
    assert to_launch(Config()) == to_launch(Config(devices=1)) == 0
    for name, value in {"TORCHELASTIC_RUN_ID": "1", "RANK": "1", "WORLD_SIZE": "4"}.items():
        monkeypatch.setenv(name, value)
    assert group.started_elsewhere() == (1, 4)
    assert to_launch(Config()) == to_launch(Config(devices=2, num_nodes=2)) == 0
    with pytest.raises(ValueError, match="make 3 processes, but 4 were started"):
        to_launch(Config(devices=3))


def test_what_cannot_be_sent_is_said(tmp_path):
    source, labels, target, _ = work.blobs()
    module = work.network()
    module.file = (tmp_path / "open").open("w")
    with pytest.raises(ValueError, match="something in them cannot be sent"):
        cst.adapt((source, labels), target, backbone=module, devices=2, device="cpu")
