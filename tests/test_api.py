import numpy as np
import pytest
import torch
from torch import nn

import cst
from cst.methods import CATALOGUE

SHORT = {"epochs": 2, "steps_per_epoch": 5}


def test_vectors_with_any_labels(shifted_blobs, tmp_path):
    source, labels, target, truth = shifted_blobs
    names = np.array(["ant", "bee", "cow"])
    adapted = cst.adapt((source, names[labels]), target, epochs=10, seed=0)
    predicted = adapted.predict(target)
    assert set(predicted) <= set(names)
    assert (predicted == names[truth]).mean() > 0.8
    probs = adapted.predict_proba(target)
    np.testing.assert_allclose(probs.sum(1), 1, rtol=1e-5)
    assert names[probs.argmax(1)].tolist() == predicted.tolist()
    assert adapted.features(target).shape == (120, 256)
    assert len(adapted.history) == 10
    assert repr(adapted) == "<Adapted: cst on arrays, auto, 3 classes, 10 epochs>"

    adapted.save(tmp_path / "saved")
    loaded = cst.load(tmp_path / "saved")
    np.testing.assert_array_equal(loaded.predict_proba(target), probs)
    assert loaded.classes == ("ant", "bee", "cow")
    assert loaded.history == adapted.history


@pytest.mark.parametrize("method", CATALOGUE)
@pytest.mark.parametrize("shape", [(6,), (8, 8), (3, 12, 12)], ids=str)
def test_every_method_serves_vectors_and_images(method, shape, tmp_path):
    random = np.random.default_rng(0)
    source, target = random.random((40, *shape)), random.random((30, *shape))
    adapted = cst.adapt((source, np.arange(40) % 2), target, method, **SHORT)
    adapted.save(tmp_path)
    np.testing.assert_array_equal(cst.load(tmp_path).predict_proba(target), adapted.predict_proba(target))


def test_a_module_of_your_own(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    backbone = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU())
    before = {k: v.clone() for k, v in backbone.state_dict().items()}
    adapted = cst.adapt((torch.tensor(source), torch.tensor(labels)), torch.tensor(target), backbone=backbone, **SHORT)
    assert all(torch.equal(v, backbone.state_dict()[k]) for k, v in before.items()), "the user's module is left alone"
    assert adapted.features(target).shape == (120, 16)
    adapted.save(tmp_path)
    with pytest.raises(ValueError, match="backbone of your own: pass it"):
        cst.load(tmp_path)
    np.testing.assert_array_equal(cst.load(tmp_path, backbone).predict_proba(target), adapted.predict_proba(target))
    with pytest.raises(ValueError, match="do not fit"):
        cst.load(tmp_path, nn.Linear(5, 16))


def test_small_domains_shrink_the_batch(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    adapted = cst.adapt((source, labels), target[:10], **SHORT)
    assert adapted.settings.batch_size == 10


def test_prediction_checks_its_input(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    adapted = cst.adapt((source, labels), target, **SHORT)
    with pytest.raises(ValueError, match=r"One input has shape \(4,\), but the model was trained on inputs of \(5,\)"):
        adapted.predict(target[:, :4])
    with pytest.raises(ValueError, match="NaN"):
        adapted.predict(np.full((2, 5), np.nan))


def test_load_names_what_is_missing(tmp_path):
    with pytest.raises(ValueError, match="holds no adapted model"):
        cst.load(tmp_path)


def test_public_names():
    assert set(cst.__all__) <= set(dir(cst))
    for name in cst.__all__:
        assert getattr(cst, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cst.nonsense


def test_a_bad_verdict_is_a_warning(shifted_blobs, monkeypatch):
    from cst.engine import train
    from cst.selection import Verdict

    source, labels, target, _ = shifted_blobs
    monkeypatch.setattr(train, "judge", lambda *_: Verdict("harmed", ("For a reason.",), {}))
    with pytest.warns(UserWarning, match=r"Verdict: harmed\. For a reason\."):
        cst.adapt((source, labels), target, epochs=1, steps_per_epoch=2, batch_size=16)
