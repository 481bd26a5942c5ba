import csv
import json
import subprocess
import sys

import numpy as np
import pytest
import yaml

from cst.cli.main import COMMANDS, main
from cst.tasks.synthetic_digits import handwritten_digits

SHORT = ["--epochs", "2", "--steps-per-epoch", "15"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    with pytest.raises(SystemExit) as end:
        main(["train", *SHORT, "--out", str(folder / "run"), "--json", str(folder / "train.json")])
    assert end.value.code == 0
    return folder


def test_help_needs_no_heavy_library():
    code = (
        "import sys\n"
        "from cst.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'matplotlib', 'sklearn', 'lightning_fabric'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, cst):
    code, out, _ = cst(command, "--help")
    assert code == 0
    assert f"usage: cst {command}" in out


def test_version(cst):
    code, out, _ = cst("--version")
    assert (code, out) == (0, "cst 0.1.0\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["trian"], "Unknown command 'trian': did you mean 'train'?"),
        (["train", "--epocs", "3"], "Unknown option '--epocs': did you mean '--epochs'?"),
        (["train", "--epochs", "many"], "--epochs"),
        (["train", "--epochs", "0"], "epochs must be a whole number of at least 1, got 0"),
        (
            ["train", "--method", "tsalis"],
            "Unknown term 'tsalis': did you mean 'tsallis'? Known terms: source, cycle,",
        ),
        (["train", "--method", "cst", "--weight", "vat=0.3"], "Unknown term 'vat'"),
        (["train", "--option", "cycle.l3=1", "--out", "nowhere/run"], "did you mean 'l2'"),
        (["train", "--task", "digits"], "Unknown task 'digits'"),
        (
            ["train", "--task", "digits:svhn-usps"],
            "Known tasks: digits:mnist-usps, digits:usps-mnist, digits:svhn-mnist.",
        ),
        (["train", "--batch-size", "5000", "--out", "nowhere/run"], "larger than the target (1797 samples)"),
        (["train", "--config", "nowhere.yaml"], "no configuration file at nowhere.yaml"),
        (["train", "--resume", "nowhere"], "nowhere is not a run"),
        (["evaluate"], "RUN"),
        (["evaluate", "nowhere"], "nowhere is not a run"),
        (["predict", "nowhere", "--input", "nowhere.npy"], "no input file at nowhere.npy"),
        (["demo", "--seeds", "0"], "--seeds must be at least 1"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_two(words, sentence, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sentence in mistake(*words)
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "nowhere").exists()


def test_train_prints_and_writes_the_same_figures(trained, cst):
    figures = json.loads((trained / "train.json").read_text())
    assert figures["method"] == "cst"
    assert 0 < figures["oracle"]["accuracy"] < 1
    assert figures["oracle"]["pseudo_label_error"] == pytest.approx(1 - figures["oracle"]["accuracy"])
    code, out, _ = cst("evaluate", trained / "run", "--json", trained / "evaluate.json")
    assert code == 0
    assert f"{100 * figures['oracle']['accuracy']:.1f}" in out
    assert "oracle" in out
    assert json.loads((trained / "evaluate.json").read_text()) == figures


def test_predict_writes_one_line_for_each_input(trained, cst):
    images, labels = handwritten_digits()
    np.save(trained / "x.npy", images[:50])
    code, _, _ = cst(
        "predict",
        trained / "run",
        "--input",
        trained / "x.npy",
        "--out",
        trained / "p.csv",
        "--json",
        trained / "p.json",
    )
    assert code == 0
    rows = list(csv.DictReader((trained / "p.csv").open()))
    assert len(rows) == 50
    assert set(rows[0]) == {"row", "prediction", "probability", "margin"}
    assert all(0 <= float(row["margin"]) <= float(row["probability"]) <= 1 for row in rows)
    assert np.mean([int(row["prediction"]) for row in rows] == labels[:50]) > 0.3
    assert sum(json.loads((trained / "p.json").read_text())["counts"].values()) == 50


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (np.zeros((3, 1, 9, 9)), "trained on inputs of (1, 8, 8)"),
        (np.full((3, 8, 8), np.nan), "NaN or infinite"),
        (np.array(["a"]), "not numbers"),
        (b"not an array", "is not a NumPy array"),
    ],
)
def test_predict_refuses_bad_input(content, sentence, trained, cst, tmp_path):
    path = tmp_path / "bad.npy"
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    code, _, err = cst("predict", trained / "run", "--input", path, "--out", tmp_path / "p.csv")
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "p.csv").exists()


def test_a_run_is_not_overwritten(trained, cst):
    before = (trained / "run" / "model.safetensors").read_bytes()
    code, _, err = cst("train", *SHORT, "--out", trained / "run")
    assert code == 2
    assert "already holds a run, which 'cst train --resume" in err
    assert (trained / "run" / "model.safetensors").read_bytes() == before


def test_resume_takes_no_other_options(trained, cst):
    code, _, err = cst("train", "--resume", trained / "run", "--lr", "1")
    assert code == 2
    assert "continues the run as it was configured: leave out --lr" in err


def test_resuming_a_finished_run_changes_nothing(trained, cst):
    before = (trained / "run" / "metrics.jsonl").read_text()
    code, _, _ = cst("train", "--resume", trained / "run")
    assert code == 0
    assert (trained / "run" / "metrics.jsonl").read_text() == before


def test_file_and_flags_share_one_configuration(cst, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("method: cycle\nepochs: 2\nsteps_per_epoch: 3\nlr: 0.5\nweight: {cycle: 2}\n")
    code, _, err = cst("train", "--config", path, "--lr", "0.01", "--out", tmp_path / "run")
    assert code == 0, err
    written = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert written["method"] == "cycle"
    assert (written["epochs"], written["lr"], written["weight"]) == (2, 0.01, {"cycle": 2})
    assert (written["batch_size"], written["schedule"]) == (64, "cosine")
    again = tmp_path / "again"
    code, _, err = cst("train", "--config", tmp_path / "run" / "config.yaml", "--out", again)
    assert code == 0, err
    assert (again / "metrics.jsonl").read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("epocs: 3", "did you mean 'epochs'"), ("[1, 2]", "one option a line"), ("a: [", "not valid YAML")],
)
def test_bad_files_get_one_sentence(text, sentence, cst, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    code, _, err = cst("train", "--config", path)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_listings(cst, tmp_path):
    code, out, _ = cst("methods", "--json", tmp_path / "methods.json")
    assert code == 0
    listed = json.loads((tmp_path / "methods.json").read_text())
    assert {"cst", "cst-official", "cst+sam", "cycle", "cst+entropy"} <= {row["name"] for row in listed["methods"]}
    assert "source + cycle + tsallis" in out
    assert "vat" in listed["ramped"]
    assert "fixmatch" not in listed["ramped"]
    assert ", ".join(listed["ramped"]) in " ".join(out.split())
    code, out, _ = cst("tasks", "--json", tmp_path / "tasks.json")
    assert code == 0
    assert json.loads((tmp_path / "tasks.json").read_text())[0]["name"] == "synthetic-digits"


def test_demo_writes_table_and_figure_and_can_go_on(cst, tmp_path):
    words = ["demo", "--epochs", "1", "--seeds", "2", "--out", tmp_path / "demo"]
    code, out, _ = cst(*words)
    assert code == 0
    rows = json.loads((tmp_path / "demo" / "table.json").read_text())
    assert [(row["method"], row["seed"]) for row in rows] == [
        (method, seed) for seed in range(2) for method in ("source-only", "self-training", "cst")
    ]
    assert {"accuracy", "pseudo_label_error", "total_variation", "target_head_source_error"} <= set(rows[0])
    assert "±" in out
    assert (tmp_path / "demo" / "demo.png").read_bytes().startswith(b"\x89PNG")
    page = tmp_path / "demo" / "report.html"
    assert page.read_text().startswith("<!doctype html>")
    assert page.as_uri() in out
    records = {path: path.read_text() for path in (tmp_path / "demo").rglob("metrics.jsonl")}
    assert len(records) == 6
    code, _, _ = cst(*words, "--resume")
    assert code == 0
    assert json.loads((tmp_path / "demo" / "table.json").read_text()) == rows
    assert {path: path.read_text() for path in records} == records, "with the seconds of the first time"


def test_what_the_user_typed_is_no_option_of_ours(mistake, tmp_path):
    words = ("train", "--source", tmp_path, "--target", "text=dir/nope.csv")
    assert "There is nothing at text=dir/nope.csv" in mistake(*words)
    assert "Method 'vat(epsilon=1' is not a sum" in mistake("train", "--method", "vat(epsilon=1")
