import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
import torch

import cst
from cst.config import Config, Settings
from cst.engine.loop import fit
from cst.engine.optimisation import rate
from cst.engine.run import Run
from cst.engine.setup import set_up, settle
from cst.engine.train import train
from cst.methods import CATALOGUE
from cst.tasks.own import task_in_memory
from cst.terms.contract import Step

SHORT = {"epochs": 4, "steps_per_epoch": 5, "batch_size": 16}


class Interrupt(cst.Callback):
    """Stops the run in the middle of an epoch."""

    def __init__(self, at_step):
        self.at_step = at_step

    def on_step(self, step, total):
        if step == self.at_step:
            raise KeyboardInterrupt


def weights(adapted):
    return adapted.model.state_dict()


def same(first, second):
    return all(torch.equal(value, second[key]) for key, value in first.items())


@pytest.mark.parametrize("method", CATALOGUE)
def test_an_interrupted_and_resumed_run_ends_with_the_same_weights(method, shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    task = task_in_memory((source, labels), target)
    whole = train(task, Config(method=method, out=tmp_path / "whole", **SHORT))
    config = Config(method=method, out=tmp_path / "broken", **SHORT)
    with pytest.raises(KeyboardInterrupt):
        train(task, config, callbacks=[Interrupt(at_step=13)])
    assert len(Run(config.out).history()) == 2
    resumed = train(task, config, resume=True)
    assert same(weights(whole), weights(resumed))
    records = [
        [{k: v for k, v in r.items() if k not in ("seconds", "cpu_seconds")} for r in a.history]
        for a in (whole, resumed)
    ]
    assert records[0] == records[1]
    assert len(Run(config.out).history()) == 4


def test_a_run_repeats_bit_for_bit_and_depends_on_its_seed(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    first, second, other = (
        cst.adapt((source, labels), target, seed=seed, augment="mild", **SHORT) for seed in (1, 1, 2)
    )
    assert same(weights(first), weights(second))
    assert not same(weights(first), weights(other))


def test_training_leaves_the_callers_random_numbers_alone(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    cst.adapt((source, labels), target, **SHORT)
    assert torch.equal(torch.rand(3), expected)


def test_target_labels_change_nothing_but_the_oracle(shifted_blobs):
    source, labels, target, truth = shifted_blobs
    blind = cst.adapt((source, labels), target, **SHORT)
    watched = cst.adapt((source, labels), target, target_labels=truth, **SHORT)
    assert same(weights(blind), weights(watched))
    assert all("oracle" not in record for record in blind.history)
    assert set(watched.history[-1]["oracle"]) == {
        "accuracy",
        "mean_class_accuracy",
        "pseudo_label_error",
        "total_variation",
        "calibration_error",
    }


def test_of_a_partly_labelled_target_the_labelled_part_is_evaluated(shifted_blobs, tmp_path):
    source, labels, target, truth = shifted_blobs
    known = np.arange(len(truth)) % 4 == 1
    some = [int(label) if there else None for label, there in zip(truth, known, strict=True)]
    with pytest.warns(UserWarning, match="30 of the target's 120 samples have a label to evaluate with"):
        adapted = cst.adapt((source, labels), target, target_labels=some, out=tmp_path, **SHORT)
    found = Run(tmp_path).result["oracle"]
    hits = adapted.predict(target)[known] == truth[known]
    assert found["accuracy"] == pytest.approx(hits.mean(), abs=1e-6)
    assert found["pseudo_label_error"] == pytest.approx(1 - hits.mean(), abs=1e-6)


def test_records_hold_what_the_epoch_did(shifted_blobs, tmp_path):
    source, labels, target, truth = shifted_blobs
    adapted = cst.adapt(
        (source, labels), target, target_labels=truth, out=tmp_path / "run", ramp_epochs=2, warmup_epochs=0, **SHORT
    )
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert lines == adapted.history
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    for line in lines:
        assert set(line["loss"]) == {"source", "cycle", "tsallis", "total"}
        assert len(line["alpha_losses"]) == 11
        assert sum(line["pseudo_label_distribution"]) == pytest.approx(1, abs=1e-4)
        assert 0 <= line["batch_target_head_error"] <= 1
    assert [line["weight"]["tsallis"] for line in lines] == [0.5, 1, 1, 1]
    assert [line["weight"]["cycle"] for line in lines] == [1, 1, 1, 1]
    alphas = [2.0, *(line["alpha"] for line in lines)]
    assert all(abs(after - before) <= 0.1001 for before, after in pairwise(alphas))
    assert min(alphas) < 2
    assert lines[-1]["loss"]["source"] < lines[0]["loss"]["source"]


def test_run_folder_is_complete_and_refuses_to_be_overwritten(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    out = tmp_path / "run"
    cst.adapt((source, labels), target, out=out, log="tensorboard", **SHORT)
    names = {path.name for path in out.iterdir()} - {".lock"}
    assert names == {
        "config.yaml",
        "metrics.jsonl",
        "checkpoint.pt",
        "model.safetensors",
        "model.json",
        "result.json",
        "before.safetensors",
        "after.safetensors",
        "tensorboard",
    }
    assert any("events" in path.name for path in (out / "tensorboard").iterdir())
    settings = Settings.load(out / "config.yaml")
    assert (settings.lr, settings.schedule, settings.batch_size) == (0.02, "cosine", 16)
    with pytest.raises(ValueError, match="already holds a run"):
        cst.adapt((source, labels), target, out=out, **SHORT)
    with pytest.raises(ValueError, match="epochs was 4, now 5"):
        cst.adapt((source, labels), target, out=out, resume=True, **{**SHORT, "epochs": 5})


def test_method_defaults_yield_to_the_user(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    for name, options in (("theirs", {}), ("mine", {"schedule": "constant", "bottleneck": 0})):
        cst.adapt((source, labels), target, "cst-official", out=tmp_path / name, **options, **SHORT)
    theirs, mine = (Settings.load(tmp_path / name / "config.yaml") for name in ("theirs", "mine"))
    assert (theirs.schedule, theirs.bottleneck) == ("inverse", 256)
    assert (mine.schedule, mine.bottleneck) == ("constant", 0)


def test_learning_rates_follow_schedule_and_group(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    task = task_in_memory((source, labels), target)
    training = set_up(task, *settle(Config(lr=0.1, backbone_lr=0.1, epochs=3, batch_size=16, schedule="step"), task))
    fit(training)
    backbone, head = training.optimizer.param_groups
    assert backbone["lr"] == pytest.approx(1e-4)
    assert head["lr"] == pytest.approx(1e-3)
    assert rate("inverse", 1000, 5, 10) == pytest.approx(2**-0.75)
    assert rate("constant", 1000, 5, 10) == 1


def test_of_a_large_target_some_samples_are_watched_and_all_are_evaluated(shifted_blobs, tmp_path, monkeypatch):
    source, labels, target, truth = shifted_blobs
    seen = truth.copy()
    seen[np.linspace(0, 119, 40).astype(int)] = (seen[np.linspace(0, 119, 40).astype(int)] + 1) % 3  # those are wrong
    monkeypatch.setattr("cst.engine.setup.WATCHED", 40)
    adapted = cst.adapt((source, labels), target, epochs=3, target_labels=seen, out=tmp_path)
    hits = adapted.predict(target) == seen
    assert adapted.history[-1]["oracle"]["accuracy"] == pytest.approx(hits[np.linspace(0, 119, 40).astype(int)].mean())
    assert Run(tmp_path).result["oracle"]["accuracy"] == pytest.approx(hits.mean(), abs=1e-6)


def test_a_run_that_diverges_in_its_last_step_leaves_no_model(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    with pytest.raises(FloatingPointError, match=r"diverged in epoch 1 \(the weights are not finite\)"):
        cst.adapt((source, labels), target, lr=1e10, epochs=1, steps_per_epoch=2, out=tmp_path)
    assert not (tmp_path / "model.safetensors").exists()
    assert not Run(tmp_path).has_model


def test_a_run_goes_on_with_the_data_it_began_with(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    options = {"batch_norm": "per-domain", **SHORT}
    cst.adapt((source, labels), target, "source-only", out=tmp_path, **options)
    cst.adapt((source, labels), target, "source-only", out=tmp_path, resume=True, **options)
    for other in (((source + 1, labels), target), ((source, 2 - labels), target), ((source, labels), target[::-1])):
        with pytest.raises(ValueError, match=r"began with other data \(content differ\)"):
            cst.adapt(*other, "source-only", out=tmp_path, resume=True, **options)


@pytest.mark.parametrize("method", ["cst", "entropy"])
def test_a_diverging_run_says_so(method, shifted_blobs):
    source, labels, target, _ = shifted_blobs
    with pytest.raises(
        FloatingPointError, match=r"Training diverged in epoch 1 .* lower the learning rate, now 1e\+30"
    ):
        cst.adapt((source, labels), target, method, backbone=torch.nn.Linear(5, 4), lr=1e30, **SHORT)


def test_a_process_keeps_its_folder_and_once_killed_resumes_to_the_same_weights(cst, tmp_path):
    def command(*words):
        return [sys.executable, "-m", "cst", "train", *map(str, words)]

    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    short = ("--epochs", 4, "--steps-per-epoch", 6)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    code, _, said = cst("train", *short, "--out", whole)
    assert code == 0, said
    with subprocess.Popen(command(*short, "--out", broken), stderr=subprocess.DEVNULL, env=environment) as process:
        deadline = time.monotonic() + 120
        while not (broken / "checkpoint.pt").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        second = subprocess.run(command("--resume", broken), capture_output=True, text=True, env=environment)
        process.send_signal(signal.SIGKILL)
    assert second.returncode == 2
    assert second.stderr == (
        f"cst: {broken} is being trained by another process: wait for its end, or choose another --out.\n"
    )
    assert (broken / "checkpoint.pt").exists()
    assert not (broken / "model.safetensors").exists()
    code, _, said = cst("train", "--resume", broken)
    assert code == 0, said
    assert same(*(Run(folder).load_weights() for folder in (whole, broken)))


def test_composition_shares_forward_passes(shifted_blobs):
    """A sum makes no more passes than its most demanding part."""
    source, labels, target, _ = shifted_blobs
    task = task_in_memory((source, labels), target)

    options = {"batch_size": 16, "warmup_epochs": 0}

    def passes(method):
        training = set_up(task, *settle(Config(method=method, batch_norm="per-domain", **options), task))
        training.objective.train()
        counted = []
        training.model.backbone.register_forward_hook(lambda *_: counted.append(1))
        step = Step(training.model, training.feed.batch(0), training.objective.views)
        training.update.take(training.module, step)
        return len(counted)

    assert passes("source-only") == 1
    assert passes("dann") == 2, "one for each domain, as the statistics of each are its own"
    assert passes("dann+mcc") == passes("dann+mcc+cycle+entropy+mdd+afn+jan") == passes("dann")
    assert passes("vat") == 4, "one of the source; the plain, the probing and the perturbed one of the target"
    assert passes("dann+vat") == 5, "the plain one of VAT has no dropout, so the others cannot share it"


def test_flip_mirrors_half_of_the_images_and_nothing_else(shifted_blobs):
    from cst.data.augmentations import flip

    torch.manual_seed(0)
    images = torch.rand(200, 1, 4, 5)
    views = flip(images)
    mirrored = (views == images.flip(-1)).flatten(1).all(1)
    plain = (views == images).flatten(1).all(1)
    assert (mirrored ^ plain).all()
    assert 70 < mirrored.sum() < 130
    source, labels, target, _ = shifted_blobs
    with pytest.raises(ValueError, match="augment=flip mirrors images, but these inputs are vectors or tokens"):
        cst.adapt((source, labels), target, augment="flip", **SHORT)


def test_what_terms_own_is_trained_and_checkpointed(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    task = task_in_memory((source, labels), target)
    settings, method = settle(Config(method="dann+mdd", **SHORT), task)
    training = set_up(task, settings, method)
    before = {name: value.clone() for name, value in training.objective.named_parameters()}
    with Run.begun(tmp_path / "run", settings, resume=False, overwrite=False) as run:
        fit(training, run)
    after = dict(training.objective.named_parameters())
    assert {"terms.dann.discriminator.0.weight", "terms.mdd.adversary.0.weight"} <= set(after)
    assert not any(torch.equal(before[name], after[name]) for name in before)
    saved = run.load_checkpoint()["objective"]
    assert all(torch.equal(saved[name], value) for name, value in after.items())


def test_a_stop_before_the_first_checkpoint_leaves_no_stray_records(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    out = tmp_path / "run"
    cst.adapt((source, labels), target, out=out, **SHORT)
    (out / "checkpoint.pt").unlink()
    resumed = cst.adapt((source, labels), target, out=out, resume=True, **SHORT)
    assert [record["epoch"] for record in resumed.history] == [1, 2, 3, 4]
    assert len(Run(out).history()) == 4


@pytest.mark.parametrize("name", ["checkpoint.pt", "metrics.jsonl"])
def test_damaged_files_are_named(name, shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    out = tmp_path / "run"
    cst.adapt((source, labels), target, out=out, **SHORT)
    (out / name).write_bytes(b"garbage")
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        cst.adapt((source, labels), target, out=out, resume=True, **SHORT)


@pytest.mark.parametrize(
    ("name", "content"), [("model.safetensors", b"garbage"), ("model.json", b"{}"), ("model.json", b"[")]
)
def test_damaged_models_are_named(name, content, shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    cst.adapt((source, labels), target, **SHORT).save(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        cst.load(tmp_path)


def test_large_inputs_to_a_module_of_your_own_do_not_break_the_record(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    backbone = torch.nn.Linear(5, 64)
    adapted = cst.adapt((source * 1e7, labels), target * 1e7, "source-only", backbone, lr=1e-20, **SHORT)
    assert len(adapted.history) == 4


def test_selection_of_alpha_follows_the_cycle_terms_options():
    from cst.engine.objective import Objective
    from cst.grammar import parse_method
    from cst.models.model import Model

    model = Model(torch.nn.Linear(5, 4), torch.nn.Linear(4, 3))
    method = parse_method("cycle(normalize=true, l2=0.5)+tsallis")
    objective = Objective(method, model, num_classes=3, feature_dim=4, num_target=10)
    expected = {"l2": 0.5, "normalize": True, "bias": False, "centred": True, "relative": False}
    assert objective.terms["tsallis"].round_trip == expected
