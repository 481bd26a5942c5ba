"""A run folder says who wrote it, works from anywhere, and is refused in one sentence if it is not whole."""

import json
import shutil

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

import cst as package
from conftest import write_csv
from cst.config.settings import FORMAT
from cst.engine.run import Run

SHORT = {"epochs": 2, "steps_per_epoch": 2, "batch_size": 8}
FLAGS = [word for name, value in SHORT.items() for word in (f"--{name.replace('_', '-')}", value)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    rows = [["a", "b", "label"], *([*random.normal(size=2).round(3), "xy"[i % 2]] for i in range(30))]
    write_csv(folder / "s.csv", rows)
    write_csv(folder / "t.csv", [["a", "b"], *random.normal(size=(20, 2)).round(3)])
    write_csv(folder / "truth.csv", [["label"], *(["xy"[i % 2]] for i in range(20))])
    return folder


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    package.adapt(data / "s.csv", data / "t.csv", out=folder, **SHORT)
    return folder


@pytest.fixture
def run(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def test_a_run_records_who_wrote_it(run):
    expected = {"format": FORMAT, "cst": package.__version__, "torch": torch.__version__}
    for values in (yaml.safe_load((run / "config.yaml").read_text()), json.loads((run / "model.json").read_text())):
        found = {name: values[name] for name in expected}
        assert found | {"torch": expected["torch"]} == expected
        assert expected["torch"].startswith(found["torch"].partition("+")[0])


def test_a_finished_run_keeps_no_whole_checkpoint(run, data, tmp_path, cst):
    small, model = (run / "checkpoint.pt").stat().st_size, (run / "model.safetensors").stat().st_size
    assert small < model / 10
    before = (run / "model.safetensors").read_bytes()
    assert cst("train", "--resume", run)[0] == 0  # nothing is left to do
    assert (run / "model.safetensors").read_bytes() == before
    words = ["train", "--source", data / "s.csv", "--target", data / "t.csv", *FLAGS]
    assert cst(*words, "--out", tmp_path / "kept", "--keep-checkpoint")[0] == 0
    assert (tmp_path / "kept" / "checkpoint.pt").stat().st_size > model
    assert (tmp_path / "kept" / "model.safetensors").read_bytes() == before


def test_paths_of_a_run_work_from_another_folder(data, tmp_path, cst, monkeypatch):
    monkeypatch.chdir(data)
    words = ["train", "--source", "s.csv", "--target", "t.csv", "--target-labels", "truth.csv", *FLAGS]
    assert cst(*words, "--out", tmp_path / "run")[0] == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, out, err = cst("evaluate", tmp_path / "run")
    assert code == 0, err
    assert "accuracy" in out
    assert cst("train", "--resume", tmp_path / "run")[0] == 0


@pytest.mark.parametrize("share", [0.1, 0.45, 0.9])
@pytest.mark.parametrize("name", ["config.yaml", "model.json", "model.safetensors"])
def test_a_file_that_was_cut_short_is_refused(name, share, run, data, mistake):
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: int(share * len(content))])
    sentence = mistake("predict", run, "--input", data / "t.csv", "--out", run.parent / "p.csv")
    assert name in sentence or "weights" in sentence
    assert not (run.parent / "p.csv").exists()


def test_weights_that_are_no_numbers_are_refused(run, data, mistake):
    weights = load_file(run / "model.safetensors")
    name = next(name for name, value in weights.items() if value.is_floating_point())
    weights[name].view(-1)[0] = float("nan")
    save_file(weights, run / "model.safetensors")
    sentence = mistake("predict", run, "--input", data / "t.csv", "--out", run.parent / "p.csv")
    assert f"are not all numbers ('{name}')" in sentence


@pytest.mark.parametrize("name", ["config.yaml", "model.json"])
def test_formats_of_later_versions_are_refused(name, run, data, mistake):
    text = (run / name).read_text()
    changed = text.replace(f"format: {FORMAT}", "format: 99").replace(f'"format": {FORMAT}', '"format": 99')
    (run / name).write_text(changed)
    sentence = mistake("predict", run, "--input", data / "t.csv", "--out", run.parent / "p.csv")
    assert f"{name} has format 99, but this cst reads formats up to {FORMAT}: update it." in sentence


def mutations(values, garbage):
    """Every key left out, a foreign one put in, and every value replaced."""
    yield "foreign", {**values, "colour": "blue"}
    for key in values:
        yield f"no {key}", {name: value for name, value in values.items() if name != key}
        for wrong in garbage:
            if wrong != values[key]:
                yield f"{key}={wrong!r}", {**values, key: wrong}


def test_foreign_and_missing_keys_are_no_tracebacks(run, data, cst):
    """Whatever stands in the files, a command ends with a sentence, or as usual if nothing depends on it."""
    predict = ["predict", run, "--input", data / "t.csv", "--out", run.parent / "p.csv"]
    files = {
        "model.json": (json.loads, json.dumps),
        "config.yaml": (yaml.safe_load, lambda values: yaml.safe_dump(values, sort_keys=False)),
    }
    refused = 0
    for name, (read, write) in files.items():
        original = (run / name).read_text()
        for what, values in mutations(read(original), ("nonsense", -7, [], {"a": 1}, None)):
            (run / name).write_text(write(values))
            for words in (predict, ["evaluate", run]):
                code, _, err = cst(*words)
                assert code in (0, 2), f"{name}: {what}: {words[0]}: {err}"
                if code:
                    assert err.startswith("cst: "), f"{name}: {what}: {err}"
                    assert err.count("\n") <= 2
                    refused += 1
        (run / name).write_text(original)
    assert refused > 100


def test_a_checkpoint_of_something_else_is_refused(run, data, mistake):
    torch.save({"state_dict": {}}, run / "checkpoint.pt")
    assert "checkpoint.pt is damaged or was not written by cst" in mistake("train", "--resume", run)


def test_an_unfinished_run_with_half_a_configuration_is_refused(data, tmp_path, mistake):
    class Stop(package.Callback):
        def on_epoch(self, record):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        package.adapt(data / "s.csv", data / "t.csv", out=tmp_path / "run", callbacks=[Stop()], **SHORT)
    run = Run(tmp_path / "run")
    assert run.checkpoint_file.is_file()
    text = run.config_file.read_text()
    run.config_file.write_text(text[: text.index("epochs:")])
    assert "so it is not whole: restore it or start a new run" in mistake("train", "--resume", run.folder)


def test_records_that_are_missing_are_noticed(run, mistake):
    """Else training would go on from the finished weights as if they were those of an earlier epoch."""
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text(lines[0])
    assert "has 1 of the 2 epochs that the checkpoint has behind it" in mistake("train", "--resume", run)


def test_an_empty_configuration_is_refused(run, data, mistake):
    (run / "config.yaml").write_text("")
    assert "is not whole" in mistake("predict", run, "--input", data / "t.csv", "--out", run.parent / "p.csv")


def test_what_a_killed_process_left_is_cleared_away(run, cst):
    (run / ".checkpoint.pt.123.partial").write_bytes(b"half")
    assert cst("train", "--resume", run)[0] == 0
    assert not list(run.glob(".*.partial"))


def test_runs_of_an_earlier_format_are_finished_by_the_version_that_began_them(tmp_path, shifted_blobs):
    source, labels, target, _ = shifted_blobs
    settings = {"epochs": 1, "steps_per_epoch": 2, "batch_size": 16}
    made = package.adapt((source, labels), target, out=tmp_path, **settings)
    config = tmp_path / "config.yaml"
    lines = [line for line in config.read_text().splitlines() if not line.startswith("views:")]
    config.write_text("\n".join(lines).replace(f"format: {FORMAT}", "format: 5"))
    again = package.adapt((source, labels), target, out=tmp_path, resume=True, **settings)  # finished: nothing to do
    assert (again.predict(target) == made.predict(target)).all()
    config.write_text("\n".join(lines).replace(f"format: {FORMAT}", "format: 5"))
    (tmp_path / "result.json").unlink()
    with pytest.raises(ValueError, match="earlier version of cst: finish the run with that one, or begin anew"):
        package.adapt((source, labels), target, out=tmp_path, resume=True, **settings)
