"""The digit benchmarks on tiny replicas of their publishers' files."""

import bz2
import gzip
import struct

import numpy as np
import pytest
import torch
from scipy.io import savemat

from cst.cli.main import main
from cst.config import Config
from cst.tasks import load_task
from cst.tasks.benchmarks.digits import mnist, svhn, usps
from encoded import encoded

RANDOM = np.random.default_rng(0)


def write_idx(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(header + array.astype(np.uint8).tobytes()))


def write_libsvm(path, images, labels):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        f"{label + 1} " + " ".join(f"{i + 1}:{v:.4f}" for i, v in enumerate(image.flatten()))
        for image, label in zip(images, labels, strict=True)
    ]
    path.write_bytes(bz2.compress(("\n".join(rows) + "\n").encode()))


@pytest.fixture
def root(tmp_path):
    """MNIST, USPS and SVHN with a few images each: class c is bright in row c."""

    def images(count, side):
        labels = np.arange(count) % 10
        grey = RANDOM.random((count, side, side)) * 0.2
        grey[np.arange(count), labels * side // 10] = 1.0
        return grey, labels

    for part, count in (("train", 60), ("t10k", 20)):
        grey, labels = images(count, 28)
        write_idx(tmp_path / f"MNIST/raw/{part}-images-idx3-ubyte.gz", grey * 255)
        write_idx(tmp_path / f"MNIST/raw/{part}-labels-idx1-ubyte.gz", labels)
    for name, count in (("usps", 50), ("usps.t", 20)):
        grey, labels = images(count, 16)
        write_libsvm(tmp_path / f"USPS/{name}.bz2", 2 * grey - 1, labels)
    grey, labels = images(40, 32)
    (tmp_path / "SVHN").mkdir()
    colour = np.repeat(grey[:, :, :, None], 3, axis=3).transpose(1, 2, 3, 0)
    savemat(
        tmp_path / "SVHN/train_32x32.mat",
        {"X": (colour * 255).astype(np.uint8), "y": np.where(labels == 0, 10, labels)[:, None]},
    )
    return tmp_path


@pytest.mark.parametrize(
    ("reader", "count", "channels", "side"), [(mnist, 60, 1, 28), (usps, 50, 1, 16), (svhn, 40, 3, 32)]
)
def test_images_and_labels_belong_together(reader, count, channels, side, root):
    images, labels = reader(root)
    assert images.shape == (count, channels, 32, 32)
    assert labels.tolist() == [i % 10 for i in range(count)]
    assert images.min() >= 0
    assert images.max() <= 1
    brightest = images.mean((1, 3)).argmax(1).float()
    expected = (labels * side // 10 + 0.5) * 32 / side - 0.5
    assert (brightest - expected).abs().max() <= 1


@pytest.mark.parametrize(
    ("name", "sizes", "channels"),
    [("mnist-usps", (60, 50, 20), 1), ("usps-mnist", (50, 60, 20), 1), ("svhn-mnist", (40, 60, 20), 3)],
)
def test_tasks_train_on_training_images_and_test_on_test_images(name, sizes, channels, root):
    task = load_task(Config(task=f"digits:{name}", data_root=root))
    assert (len(task.source), len(task.target), len(task.oracle.test.labels)) == sizes
    assert task.target.labels is None
    taken = encoded(task)
    assert taken.source.take(torch.tensor([0])).shape == (1, channels, 32, 32)
    assert taken.oracle.test.inputs.take(torch.tensor([0])).shape == (1, channels, 32, 32)
    sets = [word.upper() for word in name.split("-")]
    wanted = [f"training images of {sets[0]}", f"training images of {sets[1]}", f"test images of {sets[1]}"]
    assert [note.split(" of the ")[0] for note in task.notes] == [str(size) for size in sizes]
    assert all(what in note for what, note in zip(wanted, task.notes, strict=True))


def test_images_without_labels_are_refused(root):
    write_idx(root / "MNIST/raw/t10k-labels-idx1-ubyte.gz", np.zeros(15))
    with pytest.raises(ValueError, match="MNIST has 20 images but 15 labels"):
        load_task(Config(task="digits:usps-mnist", data_root=root))


def test_the_folder_may_come_from_the_environment(root, monkeypatch):
    monkeypatch.setenv("CST_DATA", str(root))
    assert load_task(Config(task="digits:mnist-usps")).name == "digits:mnist-usps"


@pytest.mark.parametrize("backbone", ["dtn", "lenet", "cnn"])
def test_train_and_evaluate(backbone, root, tmp_path, capsys):
    words = ["train", "--task", "digits:mnist-usps", "--data-root", root, "--backbone", backbone]
    words += ["--epochs", "1", "--batch-size", "16", "--out", tmp_path / "run"]
    for command in (words, ["evaluate", tmp_path / "run", "--data-root", root]):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in command])
        assert end.value.code == 0
    assert "50 of the 7,291 training images of USPS are there." in capsys.readouterr().err
    assert str(root) not in (tmp_path / "run" / "config.yaml").read_text()


def broken(root, name, content):
    path = root / name
    path.unlink() if content is None else path.write_bytes(content)


@pytest.mark.parametrize(
    ("task", "name", "content", "sentence"),
    [
        (
            "mnist-usps",
            "MNIST/raw/train-images-idx3-ubyte.gz",
            None,
            "train-images-idx3-ubyte.gz is missing: get it from",
        ),
        ("mnist-usps", "MNIST/raw/train-images-idx3-ubyte.gz", b"junk", "cannot be decompressed"),
        (
            "mnist-usps",
            "MNIST/raw/train-images-idx3-ubyte.gz",
            gzip.compress(b"junk", mtime=0),
            "not a complete idx file",
        ),
        ("mnist-usps", "USPS/usps.bz2", bz2.compress(b"1 a:b\n"), "not LIBSVM text"),
        ("svhn-mnist", "SVHN/train_32x32.mat", b"junk", "not a file of SVHN"),
        ("svhn-mnist", "SVHN/train_32x32.mat", None, "the SVHN page of Stanford"),
    ],
)
def test_missing_and_broken_files_are_named(task, name, content, sentence, root):
    broken(root, name, content)
    with pytest.raises(ValueError, match=sentence):
        load_task(Config(task=f"digits:{task}", data_root=root))


def test_a_folder_is_needed(monkeypatch, tmp_path):
    monkeypatch.delenv("CST_DATA", raising=False)
    with pytest.raises(ValueError, match="name the folder of your datasets with data_root= or CST_DATA"):
        load_task(Config(task="digits:mnist-usps"))
    with pytest.raises(ValueError, match="There is no folder"):
        load_task(Config(task="digits:mnist-usps", data_root=tmp_path / "nowhere"))
