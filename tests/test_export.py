"""Exported models, used as somebody without cst would use them: onnxruntime or torch.export, Pillow, a tokenizer."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import cst
from cst.export import export

SHORT = {"epochs": 2, "steps_per_epoch": 3, "progress": False}


def through_onnx(folder, inputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    (probabilities,) = session.run(["probabilities"], {"inputs": inputs})
    return probabilities


def through_torch(folder, inputs):
    return torch.export.load(folder / "model.pt2").module()(torch.from_numpy(inputs)).detach().numpy()


@pytest.fixture(scope="module")
def vectors():
    random = np.random.default_rng(0)
    source, target = random.normal(size=(80, 5)).astype("f4"), random.normal(size=(70, 5)).astype("f4") + 1
    return cst.adapt((source, np.array(["a", "b", "c"])[np.arange(80) % 3]), target, "cst", **SHORT), target


@pytest.mark.parametrize(("form", "through"), [("onnx", through_onnx), ("torch", through_torch)])
@pytest.mark.parametrize("count", [1, 2, 70])
def test_vectors_of_any_number(vectors, form, through, count, tmp_path):
    adapted, target = vectors
    assert export(adapted, tmp_path / "out", form).is_file()
    np.testing.assert_allclose(
        through(tmp_path / "out", target[:count]), adapted.predict_proba(target[:count]), atol=1e-5
    )
    page = json.loads((tmp_path / "out" / "export.json").read_text())
    assert page["classes"] == ["a", "b", "c"]
    assert page["inputs"] == {"dtype": "float32", "shape": [None, 5]}


def test_a_table_says_how_its_columns_become_inputs(cst, tmp_path):
    import pandas as pd

    random = np.random.default_rng(0)
    for name in ("lab", "field"):
        frame = pd.DataFrame({"size": random.normal(size=40), "colour": ["red", "blue"] * 20, "label": [0, 1] * 20})
        frame.loc[3, "size"] = None
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    run = tmp_path / "run"
    data = ["--source", tmp_path / "lab.csv", "--target", tmp_path / "field.csv"]
    assert cst("train", *data, "--epochs", "1", "--steps-per-epoch", "2", "--out", run)[0] == 0
    code, out, err = cst("export", run, "--json", tmp_path / "page.json")
    assert code == 0, err
    assert str(run / "onnx" / "model.onnx") in out
    encoding = json.loads((tmp_path / "page.json").read_text())["encoding"]
    size, colour = encoding["columns"]
    frame = pd.read_csv(tmp_path / "field.csv")
    numbers = frame["size"].fillna(size["fill"]).to_numpy()[:, None]
    categories = np.stack([frame["colour"] == name for name in colour["categories"]], 1)
    inputs = np.concatenate([numbers, categories], 1).astype("f4")
    from cst.engine.adapted import load

    expected = load(run).predict_proba(frame[["size", "colour"]])
    np.testing.assert_allclose(through_onnx(run / "onnx", inputs), expected, atol=1e-5)


PICTURES = """
import json, sys
import numpy as np
import onnxruntime
from PIL import Image, ImageOps

folder, *files = sys.argv[1:]
page = json.load(open(f"{folder}/export.json"))
side = page["inputs"]["shape"][-1]
inputs = []
for file in files:
    picture = ImageOps.exif_transpose(Image.open(file)).convert("RGB")
    width, height = picture.size
    half = min(picture.size) * page["encoding"]["share"] / 2
    box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
    inputs.append(np.asarray(picture.resize((side, side), Image.Resampling.BILINEAR, box)).transpose(2, 0, 1) / 255)
session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
(probabilities,) = session.run(None, {"inputs": np.stack(inputs).astype("f4")})
for file, row in zip(files, probabilities):
    print(file, page["classes"][row.argmax()], *row)
"""
"""All that is needed to use a model of photographs: docs/export.md shows it."""


def test_photographs_with_onnxruntime_and_pillow_alone(photos, tmp_path):
    source, target = photos
    words = {**SHORT, "backbone": "cnn", "image_size": 24, "batch_size": 8}
    adapted = cst.adapt(source, target, "cst", **words)
    export(adapted, tmp_path / "out")
    files = [str(path) for path in sorted(target.glob("*.png"))[:5]]
    said = subprocess.run(
        [sys.executable, "-c", PICTURES, str(tmp_path / "out"), *files], capture_output=True, text=True, check=True
    )
    rows = [line.split()[1:] for line in said.stdout.splitlines()]
    expected = adapted.predict_proba(files)
    np.testing.assert_allclose([[float(p) for p in row[1:]] for row in rows], expected, atol=1e-5)
    assert [row[0] for row in rows] == list(adapted.predict(files))
    shown = (__import__("pathlib").Path(__file__).parents[1] / "docs" / "export.md").read_text()
    assert PICTURES.strip() in shown


def test_texts_with_the_tokenizer_beside_the_model(tiny_bert, reviews, tmp_path):
    from transformers import AutoTokenizer

    (texts, labels), (target, _) = reviews
    adapted = cst.adapt((texts, labels), target, "cst", backbone=f"hf:{tiny_bert}", batch_size=8, **SHORT)
    for form, through in (("onnx", through_onnx), ("torch", through_torch)):
        folder = tmp_path / form
        export(adapted, folder, form)
        page = json.loads((folder / "export.json").read_text())
        encoding = page["encoding"]
        tokenizer = AutoTokenizer.from_pretrained(str(folder / encoding["tokenizer"]))
        numbers = tokenizer(target[:6], truncation=True, max_length=encoding["max_length"])["input_ids"]
        inputs = np.full((6, max(map(len, numbers))), encoding["filled_with"])
        for row, tokens in zip(inputs, numbers, strict=True):
            row[: len(tokens)] = tokens
        np.testing.assert_allclose(through(folder, inputs), adapted.predict_proba(target[:6]), atol=1e-5)


def test_other_files_are_not_replaced(vectors, tmp_path, mistake):
    adapted, _ = vectors
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "model.onnx").write_text("mine")
    with pytest.raises(ValueError, match="holds other files: choose a folder of its own"):
        export(adapted, tmp_path / "mine")
    assert (tmp_path / "mine" / "model.onnx").read_text() == "mine"
    with pytest.raises(ValueError, match="Unknown format 'tflite'"):
        export(adapted, tmp_path / "out", "tflite")
    export(adapted, tmp_path / "out", "torch")
    export(adapted, tmp_path / "out", "torch")  # its own folder again
    assert "holds no adapted model" in mistake("export", tmp_path / "mine")
