"""A kind of data that is not ours, from reading to predictions, and what two domains of it look like."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import cst as package
from cst.analysis.inspection import inspect
from cst.data.augmentations import ARRAYS
from cst.data.domain import Domain, Reading
from cst.data.readers.folders import FileType, read_folder
from cst.data.samples import TensorSamples
from cst.kinds import KINDS, kind_of_items, kind_of_path, read_items, read_path
from cst.kinds.contract import NO, SURELY, Kind


@dataclass(frozen=True)
class Signal:
    """A recording of any length."""

    values: tuple[float, ...]


def values_of(item):
    return item.values if isinstance(item, Signal) else tuple(map(float, item.read_text().split()))


def problems(paths):
    reasons = []
    for path in paths:
        try:
            values_of(path)
            reasons.append("")
        except ValueError:
            reasons.append(f"{path} cannot be read as a signal: remove it.")
    return reasons


@dataclass(frozen=True)
class SignalEncoder:
    """Every signal at the same number of moments."""

    length: int

    @property
    def shape(self):
        return (self.length,)

    def encode(self, items, role="new"):
        moments = np.linspace(0, 1, self.length)
        rows = [np.interp(moments, np.linspace(0, 1, len(v)), v) for v in map(values_of, items)]
        if not rows:
            raise ValueError(f"There are no {role} signals.")
        return TensorSamples(torch.tensor(np.stack(rows), dtype=torch.float32))

    def save(self, folder):
        (folder / "signals.txt").write_text("kept beside the model")


class Signals(Kind):
    name, unit, size_unit = "signals", "file", "moments"
    augmentations = ARRAYS

    def usual(self, pretrained):
        return {"epochs": 2, "batch_size": 8}

    def claims_path(self, path, reading):
        return SURELY if path.suffix == ".sig" or (path.is_dir() and any(path.rglob("*.sig"))) else NO

    def claims_items(self, items):
        return SURELY if isinstance(items, list) and items and isinstance(items[0], Signal) else NO

    def is_item(self, text):
        return False

    def read_path(self, path, reading):
        if path.is_file():
            return Domain(self.name, [path], [path.name])
        return read_folder(path, FileType(self.name, (".sig",), problems, reading.strict), reading.labels)

    def read_items(self, items, reading):
        return Domain(self.name, items, [str(number) for number in range(len(items))])

    def encoding(self, domain, settings, raw):
        return {"length": max(len(values_of(item)) for item in domain.items)}

    def encoder(self, encoding, backbone, home):
        assert home is None or (home / "signals.txt").is_file()
        return SignalEncoder(encoding["length"])

    def fingerprint(self, item):
        return repr(values_of(item)).encode()

    def size(self, item):
        return len(values_of(item))


@pytest.fixture(autouse=True)
def signals():
    """The kind is known within a test."""
    kind = package.register("signals", Signals())
    yield kind
    del KINDS._entries["signals"]


def domain(seed, count=40, noise=0.1):
    """Rising and falling signals of different lengths."""
    random = np.random.default_rng(seed)
    labels = ["falling" if number % 2 else "rising" for number in range(count)]
    made = []
    for label in labels:
        line = np.linspace(-1, 1, int(random.integers(9, 15))) * (1 if label == "rising" else -1)
        made.append(Signal(tuple((line + noise * random.normal(size=len(line))).tolist())))
    return made, labels


def test_objects_in_memory_are_learned_from_saved_and_predicted(tmp_path):
    (source, labels), (target, truth) = domain(0), domain(1, noise=0.3)
    assert kind_of_items(source).name == "signals"
    adapted = package.adapt((source, labels), target, "cst+fixmatch", epochs=2, target_labels=truth)
    assert (adapted.spec.kind, adapted.spec.encoding) == ("signals", {"length": 14})
    assert adapted.settings.batch_size == 8  # what is usual for the kind
    predicted = adapted.predict(target)
    assert (predicted == np.asarray(truth)).mean() > 0.9
    adapted.save(tmp_path / "model")
    loaded = package.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(target), predicted)
    np.testing.assert_array_equal(loaded.predict_proba(target), adapted.predict_proba(target))
    assert loaded.features(target[:3]).shape[0] == 3


def write(folder, seed, classes=True):
    made, labels = domain(seed)
    for number, (signal, label) in enumerate(zip(made, labels, strict=True)):
        path = folder / (f"{label}/{number:02}.sig" if classes else f"{number:02}.sig")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(map(str, signal.values)))
    return folder


def test_files_go_through_every_command(cst, tmp_path):
    source, target = write(tmp_path / "s", 0), write(tmp_path / "t", 1, classes=False)
    (target / "broken.sig").write_text("?")
    assert kind_of_path(source, Reading()).name == "signals"
    code, out, err = cst("inspect", source, target, "--out", tmp_path / "sheet.png", "--json", tmp_path / "i.json")
    assert code == 0, err
    assert "Two domains of signals" in out
    assert not (tmp_path / "sheet.png").exists()
    assert json.loads((tmp_path / "i.json").read_text())["target"]["unreadable"] == ["broken.sig"]
    words = ["--source", source, "--target", target, "--epochs", "2", "--out", tmp_path / "run"]
    code, _, err = cst("train", *words)
    assert code == 0, err
    assert "1 of the target's files cannot be read and are left out: broken.sig." in err
    code, _, err = cst("evaluate", tmp_path / "run")
    assert code == 0, err
    code, _, err = cst("predict", tmp_path / "run", "--input", target, "--out", tmp_path / "p.csv")
    assert code == 0, err
    header, first, *_ = (tmp_path / "p.csv").read_text().splitlines()
    assert header == "file,prediction,probability,margin"
    assert first.startswith("00.sig,rising,")
    (target / "broken.sig").unlink()
    adapted = package.load(tmp_path / "run")
    files = sorted(target.iterdir())
    assert adapted.predict(target).tolist() == adapted.predict(files).tolist()
    assert adapted.predict(files[0]).tolist() == ["rising"]


def test_a_run_on_files_goes_on_as_one_on_our_kinds_does(cst, tmp_path):
    source, target = write(tmp_path / "s", 0), write(tmp_path / "t", 1, classes=False)
    words = ["train", "--source", source, "--target", target, "--epochs", "2", "--out", tmp_path / "run"]
    assert cst(*words)[0] == 0
    assert cst("train", "--resume", tmp_path / "run")[0] == 0
    (source / "rising" / "00.sig").write_text("1 2 3")
    code, _, err = cst("train", "--resume", tmp_path / "run")
    assert code == 2
    assert "began with other data" in err


def test_two_domains_are_inspected():
    (source, labels), (target, _) = domain(0), domain(1)
    target = [*target, source[3]]
    first, second = (read_items(items, Reading()) for items in (source, target))
    figures = inspect(Domain("signals", first.items, first.names, labels), second)
    assert figures["kind"] == "signals"
    assert figures["source"]["classes"] == {"falling": 20, "rising": 20}
    assert figures["source"]["size_unit"] == "moments"
    assert 9 <= figures["source"]["size"]["least"] <= figures["source"]["size"]["most"] <= 14
    assert figures["shared"] == [("3", "40")]
    (warning,) = figures["warnings"]
    assert "1 of the target's samples are in the source too, 40 as 3 first" in warning


def test_other_kinds_do_not_mix_with_it(tmp_path):
    (source, labels), _ = domain(0), domain(1)
    with pytest.raises(ValueError, match="The source holds signals, the target arrays: both must be of one kind"):
        package.adapt((source, labels), np.zeros((40, 14)))
    with pytest.raises(ValueError, match="max_length= is for text, but the data are signals"):
        package.adapt((source, labels), source, max_length=9)
    assert read_path(write(tmp_path / "s", 0), Reading()).kind == "signals"


def test_a_name_stands_for_one_kind(signals):
    assert package.register("signals", signals) is signals
    with pytest.raises(ValueError, match="There is a kind of data called 'signals' already"):
        package.register("signals", Signals())
