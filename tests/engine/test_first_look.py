"""Does the source model know the target before it adapts, and how sure is it? Probabilities keep to that."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import cst
from cst.engine.callbacks import Callback
from cst.engine.run import Run
from cst.functional import calibration_error, mean_confidence, temperature_for

SHORT = {"epochs": 4, "steps_per_epoch": 10, "batch_size": 32, "warmup_epochs": 2, "batch_norm": "per-domain"}
NOISY = {**SHORT, "lr": 1e-3}
"""Statistics of the two domains do not always agree when so little has been learned."""


class Remarks(Callback):
    def __init__(self):
        self.sentences = []

    def on_remark(self, sentence):
        self.sentences.append(sentence)


def same(one, other):
    ours, theirs = one.model.state_dict(), other.model.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


class TestGuard:
    def test_a_run_that_is_held_is_a_run_on_the_source_and_says_so(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        remarks = Remarks()
        with pytest.warns(UserWarning, match=r"Not adapted: after the warm-up only \d+% of the target"):
            held = cst.adapt((source, labels), target, "cst", guard=1.0, callbacks=[remarks], **NOISY)
        plain = cst.adapt((source, labels), target, "source-only", **NOISY)
        assert same(held, plain)
        assert len(remarks.sentences) == 1
        assert [record.get("held") for record in held.history] == [None, None, True, True]
        agreement = held.history[-1]["first_agreement"]
        assert agreement < 1
        expected = min(agreement, held.history[-1]["first_confidence"])
        assert held.predict_proba(target).max(1).mean() <= expected + 1e-3
        assert held.history[-1]["weight"] == {"source": 1.0, "cycle": 0.0, "tsallis": 0.0}

    def test_where_the_domains_agree_it_adapts(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        adapted = cst.adapt((source, labels), target, "cst", **SHORT)
        assert adapted.settings.guard == 0.4
        assert adapted.history[-1]["first_agreement"] >= 0.4
        assert adapted.history[-1]["weight"]["tsallis"] > 0

    def test_one_set_of_statistics_has_nothing_to_compare(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        adapted = cst.adapt((source, labels), target, "cst", guard=1.0, **{**SHORT, "batch_norm": "joint"})
        assert "first_agreement" not in adapted.history[-1]
        assert adapted.history[-1]["weight"]["cycle"] == 1

    @pytest.mark.filterwarnings("ignore:Not adapted")
    def test_a_held_run_stays_held_when_it_is_resumed(self, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        settings = {"guard": 1.0, **NOISY}
        whole = cst.adapt((source, labels), target, "cst", out=tmp_path / "whole", **settings)

        class Stop(Callback):
            def on_epoch(self, record):
                if record["epoch"] == 3:
                    raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cst.adapt((source, labels), target, "cst", out=tmp_path / "parts", callbacks=[Stop()], **settings)
        resumed = cst.adapt((source, labels), target, "cst", out=tmp_path / "parts", resume=True, **settings)
        assert same(whole, resumed)
        assert resumed.history[-1]["held"]

    def test_it_is_a_share(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        with pytest.raises(ValueError, match="guard= is a share between 0 and 1, got 40"):
            cst.adapt((source, labels), target, guard=40)

    def test_a_warm_up_that_ends_within_an_epoch_is_looked_at_there(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        settings = {**NOISY, "warmup_epochs": 1.5}
        with pytest.warns(UserWarning, match="Not adapted"):
            held = cst.adapt((source, labels), target, "cst", guard=1.0, **settings)
        assert same(held, cst.adapt((source, labels), target, "source-only", **settings))
        assert held.history[1]["loss"].keys() == {"source", "total"}

    def test_a_method_of_the_source_alone_has_nothing_to_guard(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        plain = cst.adapt((source, labels), target, "source-only", guard=1.0, **NOISY)
        assert "first_confidence" not in plain.history[-1]
        assert plain.spec.temperature == 1


class TestCalibration:
    def test_the_model_is_as_sure_as_it_was_before_it_adapted(self, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        adapted = cst.adapt((source, labels), target, "cst", out=tmp_path, **SHORT)
        before = adapted.history[-1]["first_confidence"]
        assert adapted.predict_proba(target).max(1).mean() == pytest.approx(before, abs=1e-3)
        assert adapted.spec.temperature > 1  # entropy minimisation made it surer
        logits = adapted.view(target).logits
        np.testing.assert_array_equal(adapted.predict(target), np.asarray(adapted.classes)[logits.argmax(1)])
        loaded = cst.load(tmp_path)
        assert loaded.spec.temperature == adapted.spec.temperature
        np.testing.assert_array_equal(loaded.predict_proba(target), adapted.predict_proba(target))
        again = cst.adapt((source, labels), target, "cst", out=tmp_path, resume=True, **SHORT)
        assert again.spec.temperature == pytest.approx(adapted.spec.temperature)

    def test_what_is_easy_is_made_no_surer(self):
        random = np.random.default_rng(0)
        labels = np.arange(200) % 2
        source, target = (random.normal(size=(200, 2)).astype(np.float32) + 20 * labels[:, None] for _ in range(2))
        adapted = cst.adapt((source.astype(np.float32), labels), target.astype(np.float32), "cst", epochs=8)
        assert adapted.history[-1]["first_confidence"] > 0.999
        assert adapted.spec.temperature >= 1

    def test_without_a_warm_up_there_is_nothing_to_keep_to(self, shifted_blobs):
        source, labels, target, _ = shifted_blobs
        adapted = cst.adapt((source, labels), target, "cst", **{**SHORT, "warmup_epochs": 0})
        assert adapted.spec.temperature == 1
        assert "first_confidence" not in adapted.history[-1]

    def test_the_oracle_judges_the_probabilities_that_users_get(self, shifted_blobs, tmp_path):
        source, labels, target, truth = shifted_blobs
        adapted = cst.adapt((source, labels), target, "cst", target_labels=truth, out=tmp_path, **SHORT)
        expected = calibration_error(torch.from_numpy(adapted.predict_proba(target)), torch.as_tensor(truth))
        assert Run(tmp_path).result["oracle"]["calibration_error"] == pytest.approx(expected, abs=1e-5)

    def test_temperature_is_scipys(self):
        logits = 4 * torch.randn(200, 7, generator=torch.Generator().manual_seed(0))
        expected = brentq(lambda t: mean_confidence(logits, t) - 0.6, 0.1, 50)
        assert temperature_for(logits, 0.6) == pytest.approx(expected, rel=1e-4)
        assert temperature_for(logits, 1e-3) == pytest.approx(100, rel=1e-3)  # less than chance cannot be had

    def test_calibration_error_is_its_definition(self):
        random = np.random.default_rng(0)
        probs = random.dirichlet(np.ones(4), 500)
        labels = random.integers(4, size=500)
        best, right = probs.max(1), probs.argmax(1) == labels
        expected = 0.0
        for low in np.arange(15) / 15:
            inside = (best > low) & (best <= low + 1 / 15)
            if inside.any():
                expected += inside.mean() * abs(right[inside].mean() - best[inside].mean())
        found = calibration_error(torch.from_numpy(probs), torch.from_numpy(labels))
        assert found == pytest.approx(expected, abs=1e-9)
