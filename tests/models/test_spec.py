"""What a model is made of, saved and loaded; also as earlier versions saved it."""

import dataclasses
import json

import numpy as np
import pytest
import torch
import yaml

import cst
from cst.engine.run import Run
from cst.models.spec import FORMAT, ModelSpec

SHORT = {"epochs": 1, "steps_per_epoch": 3, "batch_size": 16}
OLD_CONFIG = """\
task: arrays
source: null
target: null
text: null
label: null
target_labels: null
strict: false
method: cst
recipe: null
backbone: auto
weights: null
freeze: 0
pooling: mean
max_length: 128
image_size: 32
resample: null
epochs: 1
steps_per_epoch: 3
batch_size: 16
lr: 0.02
backbone_lr: 1.0
optimizer: sgd
momentum: 0.9
weight_decay: 0.001
schedule: step
ramp_epochs: 2.0
warmup_epochs: 0.0
batch_norm: per-domain
feature_norm: false
head: linear
bottleneck: 0
standardize: dataset
augment: none
weight: [cycle=2]
option: [cycle.l2=0.5]
seed: 0
device: auto
precision: 32-true
tensorboard: false
"""


@pytest.fixture
def adapted(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    return lambda **options: cst.adapt((source, np.array(["ant", "bee", "cow"])[labels]), target, **SHORT, **options)


def as_saved_before(model, folder, **changed):
    """A folder as an earlier version left it: format 2 of model.json, model.pt, lists of text in config.yaml."""
    folder.mkdir()
    torch.save(model.state_dict(), folder / "model.pt")
    values = {"format": 2, "classes": ["ant", "bee", "cow"], "kind": "arrays", "shape": [5], "backbone": "auto"}
    values |= {"bytes_in": False, "columns": [], "architecture": {}}
    (folder / "model.json").write_text(json.dumps(values))
    (folder / "config.yaml").write_text(yaml.safe_dump(yaml.safe_load(OLD_CONFIG) | changed))
    (folder / "metrics.jsonl").write_text('{"epoch": 1, "loss": {"total": 1.0}}\n')


OPTIONS = [
    {},
    {"bottleneck": 8, "batch_norm": "joint"},
    {"head": "prototype", "feature_norm": True},
    {"backbone": torch.nn.Linear(5, 4)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "bottleneck", "prototypes", "own module"])
def test_a_model_of_an_earlier_version_predicts_what_it_did(options, adapted, shifted_blobs, tmp_path):
    made, target = adapted(**{"batch_norm": "per-domain", **options}), shifted_blobs[2]
    module = options.get("backbone")
    as_saved_before(made.model, tmp_path / "old", **{name: options[name] for name in options if name != "backbone"})
    if module is not None:
        values = json.loads((tmp_path / "old" / "model.json").read_text())
        (tmp_path / "old" / "model.json").write_text(json.dumps(values | {"backbone": "custom"}))
    loaded = cst.load(tmp_path / "old", module)
    np.testing.assert_array_equal(loaded.predict_proba(target), made.predict_proba(target))
    assert loaded.classes == ("ant", "bee", "cow")
    assert loaded.history == [{"epoch": 1, "loss": {"total": 1.0}}]
    assert loaded.settings.weight == {"cycle": 2}
    assert loaded.settings.option == {"cycle.l2": 0.5}
    assert loaded.settings.weights == "pretrained"
    loaded.save(tmp_path / "new")
    assert json.loads((tmp_path / "new" / "model.json").read_text())["format"] == FORMAT == 7
    assert not (tmp_path / "new" / "model.pt").exists()
    again = cst.load(tmp_path / "new", module)
    np.testing.assert_array_equal(again.predict_proba(target), made.predict_proba(target))


@pytest.mark.parametrize(
    ("name", "content"), [("model.pt", b"garbage"), ("model.json", b'{"format": 2}'), ("model.json", b"{}")]
)
def test_damaged_models_of_earlier_versions_are_named(name, content, adapted, tmp_path):
    as_saved_before(adapted().model, tmp_path / "old")
    (tmp_path / "old" / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        cst.load(tmp_path / "old")


@pytest.mark.parametrize("number", [0, 7, 99])
def test_formats_that_nobody_knows_are_refused(number, adapted, tmp_path):
    adapted().save(tmp_path)
    values = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(values | {"format": number}))
    with pytest.raises(ValueError, match=rf"model\.json has format {number}, but this cst reads formats up to 6"):
        cst.load(tmp_path)


def test_a_run_that_an_earlier_version_left_unfinished_is_named(adapted, shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    cst.adapt((source, labels), target, out=tmp_path, **SHORT)
    Run(tmp_path).save_checkpoint({"epochs": 1, "learner": {}, "optimizer": {}, "memory": [], "data": {}})
    with pytest.raises(ValueError, match="earlier version of cst: finish the run with that one"):
        cst.adapt((source, labels), target, out=tmp_path, resume=True, **SHORT)


@pytest.mark.parametrize("options", OPTIONS[:3], ids=["plain", "bottleneck", "prototypes"])
def test_a_description_comes_back_as_it_was_and_makes_the_same_network(options, adapted, tmp_path):
    made = adapted(**options)
    made.save(tmp_path)
    spec = ModelSpec.load(tmp_path)
    assert spec == made.spec
    assert spec.feature_dim == 256
    assert dataclasses.replace(spec, feature_dim=0) != spec
    again = spec.build().state_dict()
    assert {name: value.shape for name, value in again.items()} == {
        name: value.shape for name, value in made.model.state_dict().items()
    }


def test_a_description_is_completed_when_the_network_is_built():
    encoding = {"shape": [1, 8, 8], "bytes_in": False, "columns": [], "raw": False}
    spec = ModelSpec("arrays", (0, 1), encoding, "cnn")
    assert spec.feature_dim == 0
    model = spec.build(example=torch.rand(2, 1, 8, 8))
    assert model.spec == dataclasses.replace(spec, feature_dim=128)
    assert model(torch.rand(3, 1, 8, 8)).shape == (3, 2)
