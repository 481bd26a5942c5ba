"""Benchmarks as their publishers ship them, where they are at hand."""

import json
import os
from pathlib import Path

import pytest
import torch

from cst.config import Config
from cst.tasks import load_task
from encoded import encoded

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(
        not os.environ.get("CST_DATA"), reason="set CST_DATA to a folder of datasets to read the real files"
    ),
]


def test_mnist_and_usps_are_complete():
    task = load_task(Config(task="digits:mnist-usps"))
    assert (len(task.source), len(task.target), len(task.oracle.test.labels)) == (60_000, 7_291, 2_007)
    assert task.notes == ()
    assert task.num_classes == 10


def test_svhn_is_read_in_colour():
    task = load_task(Config(task="digits:svhn-mnist"))
    assert encoded(task).source.take(torch.tensor([0])).shape[1:] == (3, 32, 32)
    assert len(task.target) == 60_000


@pytest.mark.parametrize(("pair", "counts"), [("amazon-webcam", (958, 295)), ("caltech10-dslr", (1123, 157))])
def test_office_caltech10_is_complete(pair, counts):
    config = Config(task=f"office-caltech10:{pair}", image_size=32)
    task = load_task(config)
    assert (len(task.source), len(task.target), task.num_classes) == (*counts, 10)
    assert task.notes == ()
    assert encoded(task, config).target.take(task.oracle.target_labels[:2]).shape == (2, 3, 32, 32)


def test_amazon_reviews_are_complete():
    task = load_task(Config(task="amazon-reviews:B-K", backbone="minilm", max_length=64))
    assert (len(task.source), len(task.target), task.classes) == (2000, 2000, ("negative", "positive"))
    assert task.labels.sum() == 1000
    assert task.notes == ()


def test_photos_are_inspected_trained_on_and_predicted(cst, tmp_path):
    folder = Path(os.environ["CST_DATA"]) / "office-caltech10"
    code, out, _ = cst("inspect", folder / "dslr", folder / "webcam", "--out", tmp_path / "sheet.png")
    assert code == 0
    assert "157" in out
    words = ["--epochs", "1", "--steps-per-epoch", "40", "--batch-size", "16", "--image-size", "96", "--freeze", "14"]
    code, _, err = cst(
        *("train", "--source", folder / "dslr", "--target", folder / "webcam", "--target-labels", "folders"),
        *(*words, "--augment", "none", "--out", tmp_path / "run"),
    )
    assert code == 0, err
    oracle = json.loads((tmp_path / "run" / "result.json").read_text())["oracle"]
    assert oracle["accuracy"] > 0.5  # ten classes: pretrained features carry over
    code, out, _ = cst("predict", tmp_path / "run", "--input", folder / "webcam", "--out", tmp_path / "p.csv")
    assert code == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 296
