"""Predictions of many inputs: part after part, through any interruption, as CSV or Parquet."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from pyarrow import parquet

import cst as package
from conftest import draw, write_csv
from cst.engine.adapted import Adapted
from cst.engine.journal import Journal, journal_of
from cst.engine.streaming import predict_to

PART = 128
SMALL = {"backbone": "cnn", "image_size": 8, "batch_size": 4, "workers": 0, "epochs": 1, "steps_per_epoch": 1}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A run on pictures, and a folder of 450 in three subfolders, one of which is no picture."""
    place = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(0)
    for number in range(6):
        for shape in ("bar", "disc"):
            draw(place / "photos" / shape / f"{number}.png", shape, "black", random)
            draw(place / "kinds" / f"{shape}{number}.png", shape, "navy", random, (24, 22), "ivory")
    package.adapt(place / "photos", place / "kinds", out=place / "run", **SMALL)
    originals = sorted((place / "kinds").iterdir())
    for number in range(450):
        copy = place / "many" / str(number % 3) / f"{number:03d}.png"
        copy.parent.mkdir(parents=True, exist_ok=True)
        os.link(originals[number % len(originals)], copy)
    (place / "many" / "1" / "broken.png").write_bytes(b"no picture")
    return place


def copied(pictures, tmp_path):
    """The folder of many, to be changed; every picture a file of its own."""
    return shutil.copytree(pictures / "many", tmp_path / "many")


def stopped_after(parts, monkeypatch):
    """Predicting is interrupted before the next part."""
    predict, calls = Adapted.of_inputs, []

    def limited(self, inputs):
        if len(calls) == parts:
            raise KeyboardInterrupt
        calls.append(len(inputs))
        return predict(self, inputs)

    monkeypatch.setattr(Adapted, "of_inputs", limited)
    return calls


def words(pictures, folder, out):
    return ["predict", pictures / "run", "--input", folder, "--out", out, "--workers", "0"]


@pytest.fixture(scope="module")
def whole(pictures):
    """The predictions of an uninterrupted run."""
    adapted = package.load(pictures / "run")
    adapted.workers = 0
    stream = adapted.stream(pictures / "many")
    summary = predict_to(pictures / "whole.csv", adapted, stream)
    assert summary.notes(stream) == ("1 of the input's files cannot be read and are left out: 1/broken.png.",)
    return (pictures / "whole.csv").read_bytes()


def test_killed_predictions_go_on_where_they_were(pictures, whole, tmp_path, cst, monkeypatch):
    out = tmp_path / "p.csv"
    out.write_text("what was there before")
    command = [sys.executable, "-m", "cst", *map(str, words(pictures, pictures / "many", out))]
    slow = "import time, cst.engine.adapted as a; f = a.Adapted.of_inputs\n"
    slow += "def g(self, x): time.sleep(0.4); return f(self, x)\n"
    slow += "a.Adapted.of_inputs = g; from cst.cli.main import main; main()"
    process = subprocess.Popen([sys.executable, "-c", slow, *command[3:]], stderr=subprocess.DEVNULL)
    journal = journal_of(out)
    while not (journal.is_file() and journal.read_bytes().count(b"\n") >= 3) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert out.read_text() == "what was there before"
    with journal.open("ab") as file:
        file.write(b'{"rows": [["cut')  # as a death while writing leaves it
    kept = sum(len(json.loads(line)["rows"]) for line in journal.read_bytes().splitlines()[1:-1])
    calls = stopped_after(None, monkeypatch)
    code, _, err = cst(*words(pictures, pictures / "many", out))
    assert code == 0, err
    assert "of 451 were predicted before an interruption and are kept." in err
    assert kept >= 2 * PART - 1
    assert sum(calls) == 450 - kept
    assert out.read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv"]


def test_an_interruption_says_how_to_go_on(pictures, tmp_path, cst, monkeypatch):
    stopped_after(2, monkeypatch)
    code, _, err = cst(*words(pictures, pictures / "many", tmp_path / "p.csv"))
    assert code == 130
    assert err.endswith("cst: interrupted: the same command continues.\n")


def test_what_changed_since_is_predicted_again(pictures, tmp_path, cst, monkeypatch):
    many = copied(pictures, tmp_path)
    out = tmp_path / "p.csv"
    with monkeypatch.context() as patch:
        stopped_after(3, patch)
        assert cst(*words(pictures, many, out))[0] == 130
    (many / "0" / "444.png").write_bytes((pictures / "many" / "0" / "003.png").read_bytes())  # in the second part
    (many / "2" / "999.png").write_bytes((pictures / "many" / "0" / "003.png").read_bytes())  # a new one in the last
    code, _, err = cst(*words(pictures, many, out))
    assert code == 0
    assert f"{PART} of 452 were predicted before" in err
    assert cst(*words(pictures, many, tmp_path / "anew.csv"))[0] == 0
    assert out.read_bytes() == (tmp_path / "anew.csv").read_bytes()


def test_another_model_begins_anew(pictures, whole, tmp_path, cst, monkeypatch):
    out = tmp_path / "p.csv"
    other = package.adapt(pictures / "photos", pictures / "kinds", seed=1, out=tmp_path / "run", **SMALL)
    with monkeypatch.context() as patch:
        stopped_after(2, patch)
        assert cst("predict", tmp_path / "run", *words(pictures, pictures / "many", out)[2:])[0] == 130
    code, _, err = cst(*words(pictures, pictures / "many", out))
    assert code == 0
    assert "was begun with another model or other columns: it begins anew." in err
    assert out.read_bytes() == whole
    assert len(other.classes) == 2


def test_two_processes_do_not_write_one_file(pictures, tmp_path, mistake):
    out = tmp_path / "p.csv"
    with Journal(out, {"model": "of another process"}).opened() as journal:
        journal.append({"rows": []})
        sentence = mistake(*words(pictures, pictures / "many", out))
        assert f"--out {out} is being written by another process" in sentence
    assert journal_of(out).is_file()


def test_workers_predict_the_same(pictures, whole, tmp_path, cst):
    assert cst(*words(pictures, pictures / "many", tmp_path / "p.csv")[:-1], "2")[0] == 0
    assert (tmp_path / "p.csv").read_bytes() == whole


def test_strict_stops_at_a_picture_that_cannot_be_read_and_goes_on_once_it_is_mended(pictures, tmp_path, cst):
    many = copied(pictures, tmp_path)
    out = tmp_path / "p.csv"
    code, _, err = cst(*words(pictures, many, out), "--strict")
    assert code == 2
    assert "broken.png cannot be read as an image" in err.splitlines()[-1]
    assert not out.exists()
    (many / "1" / "broken.png").unlink()
    code, _, err = cst(*words(pictures, many, out), "--strict")
    assert code == 0
    assert f"{2 * PART} of 450 were predicted before" in err


def test_strict_does_not_keep_what_an_earlier_attempt_left_out(pictures, tmp_path, cst, monkeypatch):
    out = tmp_path / "p.csv"
    with monkeypatch.context() as patch:
        stopped_after(3, patch)
        assert cst(*words(pictures, pictures / "many", out))[0] == 130
    code, _, err = cst(*words(pictures, pictures / "many", out), "--strict")
    assert code == 2
    assert f"{2 * PART} of 451 were predicted before" in err
    assert "broken.png cannot be read as an image" in err


def test_parts_of_a_table_are_told_apart_by_what_is_read_of_them(tmp_path):
    from cst.data.domain import Domain
    from cst.data.stream import Stream

    table = write_csv(tmp_path / "t.csv", [["title", "review"], ["a", "b"], ["c", "d"]])
    signs = set()
    for items in (["a", "c"], ["b", "d"], np.zeros((2, 3)), np.ones((2, 3))):
        stream = Stream.of(Domain("text", items, ["0", "1"]), table)
        signs |= {stream.sign(part) for part in stream.parts(1)}
    assert len(signs) == 8


def test_nothing_readable_is_a_mistake_that_leaves_nothing(pictures, tmp_path, mistake):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.png").write_bytes(b"?")
    assert "cannot be read as an image" in mistake(*words(pictures, tmp_path / "bad", tmp_path / "p.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


def test_memory_does_not_grow_with_the_number_of_files(pictures, tmp_path):
    adapted = package.load(pictures / "run")
    adapted.workers = 0
    picture = next((pictures / "kinds").iterdir())
    sizes = (500, 1300)
    peaks = []
    for count in sizes:
        for number in range(count):
            place = tmp_path / str(count) / f"{number // 150:02d}" / f"a-picture-with-a-name-{number}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            os.link(picture, place)
        if not peaks:  # what is imported on the way lies in memory once
            predict_to(tmp_path / "first.csv", adapted, adapted.stream(tmp_path / str(count)))
        tracemalloc.start()
        predict_to(tmp_path / f"{count}.csv", adapted, adapted.stream(tmp_path / str(count)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / (sizes[1] - sizes[0]) < 64, "bytes a file: less than its name alone"


TABLE = [
    ["sample_id", "a", "b", "when", "note"],
    *([f"s{i}", i % 7 / 2, i % 3, 1000 + 3 * i, "=1+1" if i == 5 else f"n{i}"] for i in range(300)),
]


@pytest.fixture
def rows(tmp_path, cst):
    """A run on a table."""
    random = np.random.default_rng(0)
    source = write_csv(
        tmp_path / "s.csv",
        [["a", "b", "label"], *([*random.normal(size=2).round(3), (7, 9)[i % 2]] for i in range(40))],
    )
    target = write_csv(tmp_path / "t.csv", TABLE)
    options = ["--epochs", "1", "--steps-per-epoch", "1"]
    code, _, err = cst("train", "--source", source, "--target", target, *options, "--out", tmp_path / "run")
    assert code == 0, err
    return tmp_path


def test_parquet_holds_what_csv_holds_with_types(rows, cst):
    for ending in ("csv", "parquet"):
        assert cst("predict", rows / "run", "--input", rows / "t.csv", "--out", rows / f"p.{ending}")[0] == 0
    with (rows / "p.csv").open(newline="") as file:
        plain = list(csv.DictReader(file))
    table = parquet.read_table(rows / "p.parquet")
    assert table.column_names == list(plain[0])
    assert {name: str(table.schema.field(name).type) for name in table.column_names} == {
        "row": "string",
        "sample_id": "string",
        "when": "string",
        "note": "string",
        "prediction": "string",
        "probability": "double",
        "margin": "double",
    }
    typed = table.to_pylist()
    assert len(typed) == len(plain) == 300
    assert [f"{row['probability']:.6f}" for row in typed] == [row["probability"] for row in plain]
    assert [row["prediction"] for row in typed] == [row["prediction"] for row in plain]
    assert typed[5]["note"] == "=1+1"  # no spreadsheet reads it
    assert plain[5]["note"] == "'=1+1"


def test_columns_of_a_parquet_file_keep_their_types(rows, cst):
    import pyarrow

    columns = dict(zip(TABLE[0], zip(*TABLE[1:], strict=True), strict=True))
    parquet.write_table(pyarrow.table({name: list(cells) for name, cells in columns.items()}), rows / "new.parquet")
    assert cst("predict", rows / "run", "--input", rows / "new.parquet", "--out", rows / "p.parquet")[0] == 0
    table = parquet.read_table(rows / "p.parquet")
    assert str(table.schema.field("when").type) == "int64"
    assert table.column("when").to_pylist() == list(columns["when"])


def test_other_endings_are_refused_before_anything_is_read(rows, mistake):
    sentence = mistake("predict", rows / "run", "--input", rows / "t.csv", "--out", rows / "p.xlsx")
    assert f"--out {rows / 'p.xlsx'} must end in .csv or .parquet" in sentence
    assert not (rows / "p.xlsx").exists()
