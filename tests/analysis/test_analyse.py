"""`cst analyse`: what is drawn, what is missing, and what is never replaced."""

import json
import shutil

import pytest
from made_up import SHORT, add_snapshots, snapshot_of, write_tables
from PIL import Image

import cst as package
from cst.analysis.plates import PLATES

pytest_plugins = ["looked_at"]


def drawn(folder):
    return json.loads((folder / "figures.json").read_text())


def test_all_figures_of_runs_with_labels(labelled, unlabelled, tmp_path, cst):
    run = shutil.copytree(labelled, tmp_path / "run")
    add_snapshots(run)
    code, out, err = cst("analyse", run, unlabelled, "--out", tmp_path / "figures")
    assert code == 0, err
    index = drawn(tmp_path / "figures")
    assert set(index["figures"]) == set(PLATES)
    for name, figure in index["figures"].items():
        with Image.open(tmp_path / "figures" / figure["file"]) as picture:
            assert picture.width > 400
        assert len(figure["text"]) > 40
        assert figure["numbers"], name
    result = json.loads((run / "result.json").read_text())
    assert index["runs"] == ["seed 0", "seed 1"]
    shares = index["figures"]["classes"]["numbers"]["seed 0"]
    assert shares["shares"]["pseudo-labels"] == pytest.approx(result["pseudo_label_distribution"], abs=1e-5)
    variation = shares["total_variation"]["labels (oracle)"]
    assert variation == pytest.approx(result["oracle"]["total_variation"], abs=1e-5)
    curves = index["figures"]["variation"]["numbers"]["seed 0"]
    pairs = zip(curves["total_variation"], curves["pseudo_label_error"], strict=True)
    assert all(below <= error + 1e-6 for below, error in pairs)
    bars = index["figures"]["accuracy"]["numbers"]
    assert next(iter(bars.values()))["cst"]["mean"] == pytest.approx(result["oracle"]["accuracy"])
    stages = index["figures"]["embedding"]["numbers"]["seed 0"]
    assert stages["before"]["mixing"] < stages["after"]["mixing"]
    assert "--target-labels only (seed 1)" in out


def test_without_labels_what_needs_none_is_drawn(unlabelled, tmp_path, cst):
    code, out, _ = cst("analyse", unlabelled, "--out", tmp_path / "f")
    assert code == 0
    index = drawn(tmp_path / "f")
    assert set(index["missing"]) == {"roc", "accuracy"}
    assert not (tmp_path / "f" / "roc.png").exists()
    assert "Not drawn, telling right from wrong pseudo-labels: it takes labels of the target" in out
    ((name, curves),) = index["figures"]["variation"]["numbers"].items()
    assert set(curves) == {"total_variation_to_source"}
    assert "oracle" not in json.dumps(index["figures"]["classes"]["numbers"][name])
    sentences = [line for line in out.splitlines() if "need labels" in line or "--target-labels only" in line]
    assert len(sentences) == 3


def test_labels_may_come_later(unlabelled, tmp_path, cst):
    words = ["analyse", unlabelled, "--target-labels", "truth", "--only", "roc,classes", "--out", tmp_path / "f"]
    code, _, err = cst(*words)
    assert code == 0, err
    assert set(drawn(tmp_path / "f")["figures"]) == {"roc", "classes"}


def test_a_run_whose_data_are_gone_is_drawn_from_what_it_kept(labelled, tmp_path, cst):
    run = shutil.copytree(labelled, tmp_path / "run")
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("target.csv", "gone.csv"))
    for name in ("before", "after"):  # as in a run of an earlier version
        (run / f"{name}.safetensors").unlink(missing_ok=True)
    code, out, err = cst("analyse", run, "--out", tmp_path / "f")
    assert code == 0
    assert "its data are not read, so figures come from what the run kept" in err
    assert {"variation", "round-trip", "alpha", "classes"} <= set(drawn(tmp_path / "f")["figures"])
    assert "Not drawn, margins" in out
    add_snapshots(run)
    assert cst("analyse", run, "--out", tmp_path / "f")[0] == 0
    figures = drawn(tmp_path / "f")["figures"]
    assert {"margins", "embedding"} <= set(figures)
    assert "source" in next(iter(figures["classes"]["numbers"].values()))["shares"]


def test_an_unfinished_run_is_drawn_from_its_records(labelled, tmp_path, cst):
    run = shutil.copytree(labelled, tmp_path / "run")
    for name in ("model.json", "model.safetensors", "result.json"):
        (run / name).unlink()
    code, _, err = cst("analyse", run, "--out", tmp_path / "f")
    assert code == 0
    assert "holds no adapted model" in err
    assert {"variation", "round-trip", "alpha"} <= set(drawn(tmp_path / "f")["figures"])


def test_mistakes_are_one_sentence(labelled, tables, tmp_path, mistake):
    out = ["--out", tmp_path / "f"]
    assert "is not a run" in mistake("analyse", tmp_path, *out)
    assert "named twice" in mistake("analyse", labelled, labelled, *out)
    assert "did you mean 'margins'" in mistake("analyse", labelled, "--only", "margin", *out)
    assert "RUN" in mistake("analyse", *out)
    assert "There is nothing at" in mistake("analyse", labelled, "--target", tmp_path / "no.csv", *out)
    broken = shutil.copytree(labelled, tmp_path / "broken")
    (broken / "metrics.jsonl").write_text("{")
    assert "is damaged" in mistake("analyse", broken, *out)
    shutil.copy(labelled / "metrics.jsonl", broken / "metrics.jsonl")
    (broken / "after.safetensors").write_bytes(b"?")
    assert "after.safetensors is damaged" in mistake("analyse", broken, *out)
    assert not (tmp_path / "f").exists()


def test_figures_replace_nothing_of_others(labelled, tables, photo_run, tmp_path, mistake, cst):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "roc.png").write_bytes(b"a week's work")
    assert "has a file roc.png but no figures of cst" in mistake("analyse", labelled, "--out", tmp_path / "mine")
    assert "lies below a file" in mistake("analyse", labelled, "--out", tables[0])
    among = photo_run.parent / "source" / "figures"
    assert "would become a part of the data" in mistake("analyse", photo_run, "--out", among, "--workers", "0")
    assert not among.exists()
    assert (tmp_path / "mine" / "roc.png").read_bytes() == b"a week's work"
    for _ in range(2):  # its own figures are replaced
        assert cst("analyse", labelled, "--only", "alpha", "--out", tmp_path / "again")[0] == 0


def test_names_with_formulas_and_underscores_are_drawn(tmp_path, cst):
    tables = write_tables(tmp_path / "data", ("$x_{", "_hidden", "\\frac"))
    package.adapt(*tables, target_labels="truth", out=tmp_path / "run", **SHORT)
    code, _, err = cst("analyse", tmp_path / "run", "--only", "classes", "--out", tmp_path / "f")
    assert code == 0, err
    assert next(iter(drawn(tmp_path / "f")["figures"]["classes"]["numbers"].values()))["classes"][0] == "$x_{"


def test_the_made_up_snapshot_has_the_tensors_of_a_real_one(labelled, tmp_path):
    from safetensors.torch import load_file, save_file

    from cst.engine import snapshots

    save_file(snapshot_of(), tmp_path / "after.safetensors")
    kept = snapshots.load(tmp_path, "after")
    assert kept.outputs.num_classes == 3
    assert len(kept.target_positions) == len(kept.outputs.target_logits)
    assert snapshots.load(tmp_path, "before") is None
    assert set(load_file(labelled / "after.safetensors")) == set(snapshot_of())
