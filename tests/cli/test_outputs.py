"""Outputs never take the place of data, and are refused before any work is done."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import cst as package
from conftest import write_csv

RANDOM = np.random.default_rng(0)
SHORT = ["--epochs", "1", "--steps-per-epoch", "1"]


@pytest.fixture
def tables(tmp_path):
    """A source with labels, a target without, in a folder of their own."""
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [["a", "b", "label"], *([*RANDOM.normal(size=2).round(3), "xy"[i % 2]] for i in range(30))]
    source = write_csv(folder / "s.csv", rows)
    target = write_csv(folder / "t.csv", [["a", "b"], *RANDOM.normal(size=(20, 2)).round(3)])
    return source, target


@pytest.fixture
def trained(tables, tmp_path, cst):
    code, _, err = cst("train", "--source", tables[0], "--target", tables[1], *SHORT, "--out", tmp_path / "run")
    assert code == 0, err
    return tmp_path / "run"


def contents(folder):
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file() and path.name != ".lock"}


def test_no_output_of_training_replaces_data(tables, tmp_path, mistake):
    source, target = tables
    link = tmp_path / "link.csv"
    os.link(source, link)
    (tmp_path / "soft.csv").symlink_to(target)
    (tmp_path / "mine.yaml").write_text("epochs: 1\n")
    before = contents(tmp_path)
    words = ["train", "--source", source, "--target", target, *SHORT]
    for place in (source, target, link, tmp_path / "soft.csv", source.parent / ".." / "data" / "s.csv"):
        assert "which holds data: choose another place" in mistake(*words, "--json", place, "--out", tmp_path / "r")
    options = ["--config", tmp_path / "mine.yaml", "--json", tmp_path / "mine.yaml"]
    assert "which holds data" in mistake(*words, *options)
    assert "--out: the path is empty" in mistake(*words, "--out", "")
    assert f"--out {source.parent} is where {source} lies: choose a folder of its own" in mistake(
        *words, "--out", source.parent
    )
    assert contents(tmp_path) == before


def test_a_run_never_lies_among_the_images(photos, tmp_path, mistake):
    before = contents(tmp_path)
    words = ["train", "--source", photos[0], "--target", photos[1], *SHORT]
    for place in (photos[0], photos[0] / "run", photos[1] / "deep" / "run"):
        assert "lies in the data" in mistake(*words, "--out", place)
    with pytest.raises(ValueError, match="lies in the data"):
        package.adapt(photos[0], photos[1], epochs=1, out=photos[0] / "run")
    assert contents(tmp_path) == before


def test_files_that_are_not_a_runs_are_not_cleared(tables, tmp_path, mistake):
    place = tmp_path / "models"
    place.mkdir()
    (place / "model.pt").write_bytes(b"a week's work")
    words = ["train", "--source", tables[0], "--target", tables[1], *SHORT]
    assert "has a file model.pt but holds no run" in mistake(*words, "--out", place)
    assert (place / "model.pt").read_bytes() == b"a week's work"
    x = RANDOM.normal(size=(30, 2))
    adapted = package.adapt((x, np.arange(30) % 2), x, epochs=1)
    with pytest.raises(ValueError, match=r"has a file model\.pt but holds no run"):
        adapted.save(place)


def test_predictions_replace_neither_data_nor_the_run(trained, tables, tmp_path, mistake, cst):
    source, target = tables
    link = tmp_path / "link.csv"
    os.link(target, link)
    before = contents(tmp_path)
    words = ["predict", trained, "--input", target]
    for place in (source, target, link, trained / "config.yaml", trained / "model.safetensors"):
        assert "which holds data" in mistake(*words, "--out", place)
        assert "which holds data" in mistake(*words, "--out", tmp_path / "p.csv", "--json", place)
    assert "name the same file" in mistake(*words, "--out", tmp_path / "p.csv", "--json", tmp_path / "p.csv")
    assert "which holds data" in mistake("evaluate", trained, "--json", trained / "result.json")
    assert contents(tmp_path) == before
    code, _, err = cst(*words, "--out", trained / "predictions.csv")  # a natural place
    assert code == 0, err


def test_places_that_cannot_be_written_are_found_before_training(tables, tmp_path, mistake, monkeypatch):
    words = ["train", "--source", tables[0], "--target", tables[1], *SHORT]
    closed = tmp_path / "closed"
    closed.mkdir()
    temporary_file = package.files.tempfile.TemporaryFile

    def refuse(dir):
        if Path(dir) == closed:
            raise PermissionError(13, "Permission denied")
        return temporary_file(dir=dir)

    monkeypatch.setattr("cst.files.tempfile.TemporaryFile", refuse)  # root may write anywhere
    assert "--json" in mistake(*words, "--json", closed / "j.json", "--out", tmp_path / "r")
    sentence = mistake(*words, "--out", closed / "deep" / "run")
    assert f"--out {closed / 'deep' / 'run'} cannot be written (Permission denied)" in sentence
    assert "lies below a file" in mistake(*words, "--out", tables[0] / "run")
    assert not (tmp_path / "r").exists()
    assert list(closed.iterdir()) == []


def test_an_interrupted_write_leaves_the_old_predictions(trained, tables, tmp_path, cst, monkeypatch):
    place = tmp_path / "p.csv"
    place.write_text("old")
    monkeypatch.setattr("cst.files.os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    code, _, _ = cst("predict", trained, "--input", tables[1], "--out", place)
    assert code == 130
    assert place.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_predictions_carry_the_inputs_own_names(tables, tmp_path, cst):
    target = write_csv(
        tmp_path / "named.csv", [["sample", "a", "b", "row"], *([f"s{i}", i % 3, i % 2, 7] for i in range(20))]
    )
    words = ["train", "--source", tables[0], "--target", target, *SHORT, "--out", tmp_path / "run"]
    assert cst(*words)[0] == 0
    assert cst("predict", tmp_path / "run", "--input", target, "--out", tmp_path / "p.csv")[0] == 0
    header, first = (tmp_path / "p.csv").read_text().splitlines()[:2]
    assert header == "row,sample,input_row,prediction,probability,margin"
    assert first.startswith("0,s0,7,")


def test_predictions_of_texts_carry_the_text(tmp_path, cst, tiny_bert):
    rows = [["key", "review", "stars"], *([f"k{i}", f"pan {i % 3} is fine", "12"[i % 2]] for i in range(12))]
    table = write_csv(tmp_path / "s.csv", rows)
    words = ["--text", "review", "--label", "stars", "--backbone", f"hf:{tiny_bert}", "--batch-size", "4", *SHORT]
    code, _, err = cst("train", "--source", table, "--target", table, *words, "--out", tmp_path / "run")
    assert code == 0, err
    assert cst("predict", tmp_path / "run", "--input", table, "--out", tmp_path / "p.csv")[0] == 0
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "row,key,review,prediction,probability,margin"
    assert lines[2].startswith("1,k1,pan 1 is fine,")


def test_names_do_no_harm_to_a_terminal(tmp_path, cst, photos):
    escape = "\x1b[31m"
    (photos[0] / "disc").rename(photos[0] / f"disc{escape}")
    (photos[1] / f"broken{escape}.png").write_bytes(b"?")
    words = ["--backbone", "cnn", "--image-size", "16", "--workers", "0", "--batch-size", "4", *SHORT]
    code, out, err = cst(
        "train", "--source", photos[0], "--target", photos[1], *words, "--out", tmp_path / f"run{escape}"
    )
    assert code == 0, err
    code, more, other = cst("inspect", *photos, "--out", tmp_path / "sheet.png")
    assert code == 0
    said = out + err + more + other
    assert "\x1b" not in said
    assert r"disc\x1b[31m" in said
    assert r"broken\x1b[31m.png" in said
    code, out, err = cst(
        "predict", tmp_path / f"run{escape}", "--input", photos[1], "--out", tmp_path / "p.csv", "--workers", "0"
    )
    assert code == 0
    assert "\x1b" not in out + err


def test_make_clean_leaves_runs_alone():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    clean = re.search(r"^clean:\n((?:\t.*\n?)+)", makefile, re.MULTILINE)[1]
    dry = subprocess.run(["make", "-n", "clean"], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert " runs" not in clean + dry.stdout


def test_a_training_never_replaces_files_of_a_run(trained, tables, tmp_path, mistake):
    before = contents(tmp_path)
    words = ["train", "--source", tables[0], "--target", tables[1], *SHORT, "--out", tmp_path / "new"]
    for place in (tmp_path / "new" / "config.yaml", tmp_path / "new", trained / "metrics.jsonl"):
        assert "choose another place" in mistake(*words, "--json", place)
    assert "choose another place" in mistake("train", "--resume", trained, "--json", trained / "config.yaml")
    assert contents(tmp_path) == before


def test_a_saved_model_replaces_a_saved_model_only(trained, tmp_path):
    adapted = package.load(trained)
    foreign = tmp_path / "project"
    foreign.mkdir()
    (foreign / "config.yaml").write_text("my_app: settings\n")
    with pytest.raises(ValueError, match=r"has a file config\.yaml but holds no run"):
        adapted.save(foreign)
    with pytest.raises(ValueError, match="holds a run, which saving would replace"):
        adapted.save(trained)
    with pytest.raises(ValueError, match="has no name"):
        adapted.save("")
    words = tmp_path / "words"
    (words / "tokenizer").mkdir(parents=True)
    with pytest.raises(ValueError, match="has a file tokenizer but holds no run"):
        adapted.save(words)
    adapted.save(tmp_path / "model")
    adapted.save(tmp_path / "model")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "model").iterdir()}
    assert len(set(modes.values())) == 1, modes


def test_a_cache_does_not_lie_among_the_images(photos, tmp_path, mistake):
    words = ["train", "--source", photos[0], "--target", photos[1], *SHORT, "--out", tmp_path / "run"]
    assert f"--cache {photos[0] / 'bar'} lies in the data" in mistake(*words, "--cache", photos[0] / "bar")
