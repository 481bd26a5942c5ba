import numpy as np
import pytest
import torch
from torch import nn

import cst
from cst.models.backbones import backbone_from_scratch
from cst.models.model import feature_dim


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("auto", (7,)),
        ("auto", (1, 8, 8)),
        ("auto", (3, 32, 32)),
        ("auto", (1, 28, 20)),
        ("cnn", (3, 5, 5)),
        ("mlp", (1, 8, 8)),
    ],
)
def test_backbones_map_batches_to_feature_vectors(name, shape):
    backbone = backbone_from_scratch(name, shape)
    features = backbone(torch.randn(4, *shape))
    assert features.shape == (4, feature_dim(backbone, torch.randn(2, *shape)))
    assert backbone.training


def test_unknown_backbone():
    with pytest.raises(ValueError, match="Unknown backbone 'cn': did you mean 'cnn'"):
        backbone_from_scratch("cn", (1, 8, 8))


def test_cnn_wants_images():
    with pytest.raises(ValueError, match="takes images"):
        backbone_from_scratch("cnn", (5,))


def test_a_backbone_must_give_vectors():
    with pytest.raises(ValueError, match="flatten its output"):
        feature_dim(nn.Conv2d(1, 2, 3), torch.randn(2, 1, 8, 8))


@pytest.mark.parametrize("own", [False, True])
def test_standardised_by_image_neither_light_nor_contrast_matters(own, tmp_path):
    torch.manual_seed(0)
    images, labels = torch.rand(80, 1, 8, 8).double().numpy(), np.arange(80) % 4
    images[np.arange(80), 0, labels * 2] += 2
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 8)) if own else None
    short = {"epochs": 2, "steps_per_epoch": 5, "batch_size": 16}
    adapted = cst.adapt((images, labels), images[:60], backbone=module or "cnn", standardize="image", **short)
    found = adapted.predict_proba(images)
    np.testing.assert_allclose(adapted.predict_proba(0.3 * images + 5), found, atol=1e-3)
    adapted.save(tmp_path / "run")
    again = cst.load(tmp_path / "run", backbone=module)
    np.testing.assert_allclose(again.predict_proba(images), found, atol=1e-6)
    prepared = adapted.model.prepare(torch.tensor(images))
    pixels = images.reshape(80, -1)
    expected = (pixels - pixels.mean(1, keepdims=True)) / pixels.std(1, keepdims=True)
    np.testing.assert_allclose(prepared.reshape(80, -1).numpy(), expected, rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="standardize=image is for images"):
        cst.adapt((images.reshape(80, -1), labels), images.reshape(80, -1), standardize="image", **short)
