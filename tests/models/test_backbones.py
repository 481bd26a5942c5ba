import pytest
import torch
from torch import nn

from cst.models.backbones import build_backbone
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
    backbone = build_backbone(name, shape)
    features = backbone(torch.randn(4, *shape))
    assert features.shape == (4, feature_dim(backbone, torch.randn(2, *shape)))
    assert backbone.training


def test_unknown_backbone():
    with pytest.raises(ValueError, match="Unknown backbone 'cn': did you mean 'cnn'"):
        build_backbone("cn", (1, 8, 8))


def test_cnn_wants_images():
    with pytest.raises(ValueError, match="takes images"):
        build_backbone("cnn", (5,))


def test_a_backbone_must_give_vectors():
    with pytest.raises(ValueError, match="flatten its output"):
        feature_dim(nn.Conv2d(1, 2, 3), torch.randn(2, 1, 8, 8))
