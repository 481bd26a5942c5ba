"""The epoch that a score prefers, what it is judged by, and what a run keeps of itself before and after adapting."""

import json
from types import SimpleNamespace
from typing import get_args

import pytest
import torch

import cst
from cst.config.options import Select
from cst.data.samples import TensorSamples
from cst.data.task import EncodedTask, set_aside
from cst.engine import selecting, snapshots
from cst.engine.callbacks import Callback
from cst.engine.loop import watch_for_collapse
from cst.engine.run import Run
from cst.selection import VALIDATORS, Outputs

SHORT = {"epochs": 5, "steps_per_epoch": 6, "batch_size": 32, "warmup_epochs": 2, "batch_norm": "per-domain"}


def test_every_validator_can_select():
    assert set(get_args(Select)) == {"last", "verdict", *VALIDATORS}


class Weights(Callback):
    """Remembers the source's loss of every epoch, and stops the run if asked to."""

    def __init__(self, stop_after=None):
        self.stop_after, self.remarks = stop_after, []

    def on_epoch(self, record):
        if record["epoch"] == self.stop_after:
            raise KeyboardInterrupt

    def on_remark(self, sentence):
        self.remarks.append(sentence)


@pytest.fixture
def prefers(monkeypatch):
    """Scores that are highest in one epoch, the first one scored being the end of the warm-up."""

    def make(place):
        calls = []

        def scores(outputs):
            calls.append(1)
            return {"snd": 1.0 if len(calls) == place else 1 / (1 + len(calls))}

        monkeypatch.setattr(selecting, "scores", scores)
        return calls

    return make


def weights(adapted):
    return adapted.model.state_dict()


def test_the_best_epoch_is_the_model_in_memory_and_in_a_folder(shifted_blobs, prefers, tmp_path):
    source, labels, target, _ = shifted_blobs
    calls = prefers(2)  # epochs 2 (the end of the warm-up), 3, 4, 5 are scored
    chosen = cst.adapt((source, labels), target, select="snd", **SHORT)
    assert len(calls) == 4
    prefers(2)
    again = cst.adapt((source, labels), target, select="snd", out=tmp_path, **SHORT)
    last = cst.adapt((source, labels), target, **SHORT)
    assert all(torch.equal(value, weights(again)[name]) for name, value in weights(chosen).items())
    assert any(not torch.equal(value, weights(last)[name]) for name, value in weights(chosen).items())
    run = Run(tmp_path)
    assert run.finished["selected"] == {"by": "snd", "epoch": 3, "last": 5}
    kept = run.load_weights(run.last_file)
    assert all(torch.equal(value, kept[name]) for name, value in weights(last).items())
    assert not run.selected_file.exists()
    assert torch.equal(cst.load(tmp_path).model.head.weight, chosen.model.head.weight)


def test_an_interrupted_selection_goes_on(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    whole = cst.adapt((source, labels), target, select="mixval", out=tmp_path / "whole", **SHORT)
    part = {"select": "mixval", "out": tmp_path / "part", **SHORT}
    with pytest.raises(KeyboardInterrupt):
        cst.adapt((source, labels), target, callbacks=[Weights(stop_after=4)], **part)
    assert (tmp_path / "part" / "selected.safetensors").is_file()
    resumed = cst.adapt((source, labels), target, resume=True, **part)
    assert all(torch.equal(value, weights(resumed)[name]) for name, value in weights(whole).items())
    results = [json.loads((tmp_path / name / "result.json").read_text()) for name in ("whole", "part")]
    assert results[0]["selected"] == results[1]["selected"]
    assert results[0]["signs"] == results[1]["signs"]
    finished = cst.adapt((source, labels), target, resume=True, **part)  # nothing is left to do
    assert all(torch.equal(value, weights(whole)[name]) for name, value in weights(finished).items())
    assert json.loads((tmp_path / "part" / "result.json").read_text())["signs"] == results[0]["signs"]


def test_labels_of_the_target_change_neither_the_choice_nor_the_verdict(shifted_blobs):
    source, labels, target, truth = shifted_blobs
    without = cst.adapt((source, labels), target, select="snd", **SHORT)
    knowing = cst.adapt((source, labels), target, select="snd", target_labels=truth, **SHORT)
    assert all(torch.equal(value, weights(knowing)[name]) for name, value in weights(without).items())
    assert without.verdict == knowing.verdict


def test_a_score_that_these_inputs_do_not_have_is_refused_before_a_folder_is_made(shifted_blobs, monkeypatch, tmp_path):
    source, labels, target, _ = shifted_blobs
    monkeypatch.setattr("cst.engine.setup._views_to_look_at", lambda *_: None)
    with pytest.raises(ValueError, match="select=view-agreement needs views or mixtures"):
        cst.adapt((source, labels), target, select="view-agreement", out=tmp_path / "run", **SHORT)
    assert not (tmp_path / "run").exists()


def test_a_whole_checkpoint_does_not_bring_the_last_epoch_back(shifted_blobs, prefers, tmp_path):
    source, labels, target, _ = shifted_blobs
    prefers(1)
    settings = {"select": "snd", "out": tmp_path, "keep_checkpoint": True, **SHORT}
    chosen = cst.adapt((source, labels), target, **settings)
    again = cst.adapt((source, labels), target, resume=True, **settings)
    assert all(torch.equal(value, weights(again)[name]) for name, value in weights(chosen).items())
    assert torch.equal(cst.load(tmp_path).model.head.weight, chosen.model.head.weight)


def test_scores_in_double_precision(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    adapted = cst.adapt((source, labels), target, precision="64-true", **SHORT)
    assert adapted.verdict.word


class TestHoldOut:
    def task(self, counts):
        labels = torch.cat([torch.full((count,), label) for label, count in enumerate(counts)])
        inputs = torch.arange(float(len(labels))).unsqueeze(1)
        return EncodedTask(TensorSamples(inputs), labels, TensorSamples(inputs), tuple(range(len(counts))))

    def test_a_share_of_every_class_judges_and_is_not_trained_on(self):
        task = self.task([40, 20, 1])
        divided = set_aside(task, 0.1, seed=3)
        kept = divided.source.take(torch.arange(len(divided.source))).flatten().long()
        judging = divided.judges.inputs.take(torch.arange(len(divided.judges.inputs))).flatten().long()
        assert torch.equal(torch.cat([kept, judging]).sort().values, torch.arange(61))
        assert torch.bincount(divided.judges.labels).tolist() == [4, 2]
        assert torch.equal(task.labels[kept], divided.labels)
        assert torch.equal(task.labels[judging], divided.judges.labels)

    def test_other_seeds_hold_out_others(self):
        task = self.task([40, 20, 1])
        first, second = (set_aside(task, 0.2, seed).judges.inputs.positions for seed in (0, 1))
        assert not torch.equal(first, second)

    def test_scores_look_at_what_was_held_out(self, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        cst.adapt((source, labels), target, hold_out=0.25, out=tmp_path, **SHORT)
        after = snapshots.load(tmp_path, "after").outputs
        assert len(after.source_labels) == sum(round(0.25 * int((labels == label).sum())) for label in range(3))

    def test_small_classes_stay_whole_and_batches_fit(self):
        import numpy as np

        random = np.random.default_rng(0)
        inputs, labels = random.normal(size=(30, 4)).astype("float32"), [*range(10)] * 2 + [0] * 10
        short = {"epochs": 1, "steps_per_epoch": 2}
        adapted = cst.adapt((inputs, labels), inputs, "source-only", hold_out=0.1, **short)
        assert adapted.settings.batch_size == 29
        with pytest.raises(ValueError, match="leaves nothing to judge by"):
            cst.adapt((inputs[:20], labels[:20]), inputs, "source-only", hold_out=0.1, **short)

    def test_more_than_a_half_is_refused(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        with pytest.raises(ValueError, match="hold_out= is a share of the source, at most a half"):
            cst.adapt((source, labels), target, hold_out=0.6)


class TestSnapshots:
    def test_a_run_keeps_what_the_model_made_of_both_domains(self, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        adapted = cst.adapt((source, labels), target, out=tmp_path, **SHORT)
        before, after = (snapshots.load(tmp_path, name) for name in ("before", "after"))
        logits = adapted.view(target).logits
        torch.testing.assert_close(after.outputs.target_logits, logits, rtol=2e-3, atol=2e-3)
        assert (after.outputs.source_labels == torch.as_tensor(labels)).all()
        assert after.target_positions.tolist() == list(range(120))
        assert not torch.equal(before.outputs.target_logits, after.outputs.target_logits)
        assert snapshots.load(tmp_path, "between") is None

    def test_wide_features_are_kept_by_their_principal_components(self):
        torch.manual_seed(0)
        wide = torch.randn(300, 3) @ torch.randn(3, 200)
        parts = snapshots._reduced(wide[:100], wide[100:])
        assert [tuple(part.shape) for part in parts] == [(100, 64), (200, 64)]
        narrow = torch.cat(parts)
        distances, kept = torch.pdist(wide[:50]), torch.pdist(narrow[:50])
        torch.testing.assert_close(kept / kept.mean(), distances / distances.mean(), rtol=1e-3, atol=1e-3)

    def test_few_samples_stand_for_many(self):
        assert len(snapshots.evenly(10)) == 10
        many = snapshots.evenly(50_000)
        assert (len(many), int(many[0]), int(many[-1])) == (snapshots.LOOKED_AT, 0, 49_999)


def test_a_collapse_is_told_when_it_happens_and_once():
    told = Weights()
    objective = SimpleNamespace(signs={"shares": [0.3, 0.3, 0.4]}, collapsed=False, terms=("source", "entropy"))
    training = SimpleNamespace(objective=objective, task=SimpleNamespace(classes=("ant", "bee", "cow")))
    for epoch, shares in enumerate([[0.3, 0.4, 0.3], [0.97, 0.02, 0.01], [1.0, 0.0, 0.0]], 6):
        watch_for_collapse(training, {"epoch": epoch, "pseudo_label_distribution": shares}, [told])
    (sentence,) = told.remarks
    assert sentence.startswith(
        "Epoch 7: Predictions gather in few classes: they are spread over 1.2 instead of 3.0; 'ant'"
    )


def test_without_a_source_model_a_collapse_is_told_in_the_second_half():
    told = Weights()
    objective = SimpleNamespace(signs={}, collapsed=False, terms=("source", "entropy"))
    task = SimpleNamespace(classes=("ant", "bee"), num_classes=2, labels=torch.tensor([0, 1] * 5))
    training = SimpleNamespace(objective=objective, task=task, settings=SimpleNamespace(epochs=8))
    for epoch in range(1, 9):
        watch_for_collapse(training, {"epoch": epoch, "pseudo_label_distribution": [1.0, 0.0]}, [told])
    assert [sentence[:8] for sentence in told.remarks] == ["Epoch 4:"]
    objective.terms, objective.collapsed = ("source",), False
    watch_for_collapse(training, {"epoch": 8, "pseudo_label_distribution": [1.0, 0.0]}, [told])
    assert len(told.remarks) == 1, "nothing is adapted"


def test_outputs_of_other_lengths_are_refused():
    one, labels = torch.eye(3), torch.tensor([0, 1, 2])
    with pytest.raises(ValueError, match="The target's arrays have different lengths"):
        Outputs(one, labels, one, one, one[:2])
    with pytest.raises(ValueError, match="different numbers of classes"):
        Outputs(one, labels, one, one, one[:, :2])


class TestVerdict:
    """`--select verdict` goes back to the source model where the signs are bad, and only there."""

    @pytest.fixture
    def judged(self, monkeypatch):
        from cst.engine import train
        from cst.selection import Verdict

        def make(word):
            monkeypatch.setattr(train, "judge", lambda *_: Verdict(word, ("For a reason.",), {}))

        return make

    @pytest.mark.parametrize("warmup", [2, 1.5])
    @pytest.mark.parametrize("folder", [True, False])
    def test_a_harmed_model_gives_way_to_the_source_model(self, judged, shifted_blobs, tmp_path, warmup, folder):
        source, labels, target, _ = shifted_blobs
        place = {"out": tmp_path} if folder else {}
        settings = {**SHORT, "warmup_epochs": warmup}
        judged("harmed")
        kept = cst.adapt((source, labels), target, select="verdict", **place, **settings)
        judged("adapted")
        last = cst.adapt((source, labels), target, select="verdict", **settings)
        plain = cst.adapt((source, labels), target, **settings)
        assert all(torch.equal(value, weights(last)[name]) for name, value in weights(plain).items())
        assert any(not torch.equal(value, weights(kept)[name]) for name, value in weights(plain).items())
        if folder:
            run = Run(tmp_path)
            selected = {"by": "verdict", "epoch": warmup, "last": 5, "because": "harmed: For a reason."}
            assert run.finished["selected"] == selected
            assert run.finished["verdict"]["word"] == kept.verdict.word == "no clear gain"
            assert "The source model of the end of the warm-up is kept" in kept.verdict.sentences[0]
            after = snapshots.load(tmp_path, "after").outputs.target_logits
            before = snapshots.load(tmp_path, "before").outputs.target_logits
            torch.testing.assert_close(kept.view(target).logits, before, rtol=2e-3, atol=2e-3)
            torch.testing.assert_close(after, before)
            again = cst.adapt((source, labels), target, select="verdict", resume=True, **place, **settings)
            assert all(torch.equal(value, weights(again)[name]) for name, value in weights(kept).items())
            assert run.finished["selected"] == selected

    def test_without_a_source_model_there_is_nothing_to_go_back_to(self, judged, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        judged("collapsed")
        settings = {**SHORT, "warmup_epochs": 0}
        for place in ({}, {"out": tmp_path}):
            adapted = cst.adapt((source, labels), target, select="verdict", **place, **settings)
            assert adapted.verdict.word == "collapsed"

    def test_interrupted_it_ends_the_same(self, judged, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        judged("collapsed")
        whole = cst.adapt((source, labels), target, select="verdict", **SHORT)
        part = {"select": "verdict", "out": tmp_path, **SHORT}
        with pytest.raises(KeyboardInterrupt):
            cst.adapt((source, labels), target, callbacks=[Weights(stop_after=4)], **part)
        resumed = cst.adapt((source, labels), target, resume=True, **part)
        assert all(torch.equal(value, weights(resumed)[name]) for name, value in weights(whole).items())
