import json
import shutil

import pytest
import yaml

from bench.small import VALUES


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """`cst bench mine.yaml` once: the folder, and what it said."""
    import io
    from contextlib import redirect_stdout

    from cst.cli.main import main

    folder = tmp_path_factory.mktemp("bench")
    tasks = ["synthetic-digits", "tables:wine-rescaled"]
    (folder / "mine.yaml").write_text(yaml.safe_dump({**VALUES, "tasks": tasks, "paper": "office-home"}))
    said = io.StringIO()
    words = ["bench", folder / "mine.yaml", "--out", folder / "runs", "--json", folder / "t.json"]
    with redirect_stdout(said), pytest.raises(SystemExit) as end:
        main([str(word) for word in [*words, "--figure", folder / "t.png", "--set", "epochs=2"]])
    assert end.value.code == 0
    return folder, said.getvalue()


def test_bench_prints_and_writes_the_table_in_every_form(ran):
    folder, said = ran
    assert (folder / "t.png").read_bytes().startswith(b"\x89PNG")
    assert "strong ridge" in said
    assert "Selection rule: the last epoch; no target label in training or selection." in said
    assert "epochs 2 (the paper: 150)" in said
    assert len(json.loads((folder / "t.json").read_text())) == 4
    for ending in ("md", "csv", "tex", "html"):
        assert "strong ridge" in (folder / "runs" / f"table.{ending}").read_text()


def test_table_of_a_suite_trains_nothing(ran, tmp_path, cst, mistake):
    folder, _ = ran
    assert "No run in" in mistake("table", folder / "mine.yaml", "--out", tmp_path / "none")
    some = tmp_path / "some"
    shutil.copytree(folder / "runs" / "source-only-wine-rescaled-seed0", some / "source-only-wine-rescaled-seed0")
    code, said, _ = cst("table", folder / "mine.yaml", "--out", some, "--to", tmp_path / "t.tex")
    assert code == 0
    assert "1 of 4 runs are finished." in said
    assert "Runs were made with other settings than the suite has: epochs was 2, now 1." in said
    assert "strong ridge" not in said
    assert r"\toprule" in (tmp_path / "t.tex").read_text()
    assert not (some / "table.md").exists()


def test_table_of_runs_that_exist_already(ran, cst, tmp_path, mistake):
    folder, _ = ran
    code, said, _ = cst("table", folder / "runs", "--out", tmp_path, "--json", tmp_path / "t.json")
    assert code == 0
    rows = json.loads((tmp_path / "t.json").read_text())
    assert {row["line"] for row in rows} == {"source-only", "cycle(l2=1)"}
    assert {row["column"] for row in rows} == {"synthetic-digits", "wine-rescaled"}
    assert "Backbone: a small network from scratch" in said
    before = sorted(folder.rglob("*"))
    assert cst("table", folder / "runs")[0] == 0
    assert sorted(folder.rglob("*")) == before  # nothing is written among the runs of somebody else
    (tmp_path / "empty").mkdir()
    assert "holds no finished run" in mistake("table", tmp_path / "empty")
    assert "leave out --methods" in mistake("table", folder / "runs", "--methods", "cst")


def test_runs_of_one_method_that_differ_are_lines_of_their_own(ran, cst, tmp_path):
    folder, _ = ran
    runs = tmp_path / "runs"
    for number, rate in enumerate((0.01, 0.02)):
        shutil.copytree(folder / "runs" / "source-only-wine-rescaled-seed0", runs / str(number))
        settings = yaml.safe_load((runs / str(number) / "config.yaml").read_text())
        (runs / str(number) / "config.yaml").write_text(yaml.safe_dump({**settings, "lr": rate}))
    code, _, _ = cst("table", runs, "--json", tmp_path / "t.json")
    assert code == 0
    lines = {row["line"] for row in json.loads((tmp_path / "t.json").read_text())}
    assert lines == {"source-only, lr=0.01", "source-only, lr=0.02"}
    shutil.copytree(runs / "0", runs / "copy")  # which is no second seed
    code, said, _ = cst("table", runs, "--json", tmp_path / "t.json")
    lines = {row["line"] for row in json.loads((tmp_path / "t.json").read_text())}
    assert lines == {"source-only, lr=0.01 in 0", "source-only, lr=0.01 in copy", "source-only, lr=0.02"}
    assert "One seed." in said


def test_a_run_that_fails_is_named_in_the_end_and_below_the_table(ran, cst, tmp_path):
    folder, _ = ran
    shutil.copytree(folder / "runs", tmp_path / "runs")
    words = ["bench", folder / "mine.yaml", "--set", "epochs=2", "--out", tmp_path / "runs"]
    code, said, err = cst(*words, "--tasks", "wine-rescaled,digits:mnist-usps", "--data-root", tmp_path)
    assert code == 1
    assert "2 of 4 runs failed, twice each; the same command tries them again." in err
    assert "source-only mnist-usps  seed 0 failed: " in said
    assert "MNIST" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "epochs"], "--set epochs: write NAME=VALUE, for instance 'epochs=5'."),
        (["--set", "epochs=[1"], "the value cannot be read"),
        (["--set", "method=cst"], "'method' is not for all runs to share"),
        (["--set", "weights=nothing.pt"], "there is nothing at nothing.pt, which 'weights' names"),
        (["--ray", "auto", "--cpus", "0"], "--cpus must be more than 0"),
        (["--set", "epoch=3"], "--set: Unknown option 'epoch': did you mean 'epochs'?"),
        (["--jobs", "0"], "--jobs must be at least 1"),
        (["--gpus", "1"], "--cpus and --gpus are for runs on a cluster"),
        (["--ray", "auto", "--jobs", "2"], "leave out --jobs"),
        (["--figure", "curves.txt"], "--figure curves.txt must end in .png"),
        (["--to", "table.doc"], "--to table.doc must end in .md, .csv, .tex, .html"),
    ],
)
def test_mistakes(words, says, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert says in mistake("bench", "demo", *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("words", "says"), [([], "--data-root or CST_DATA"), (["--data-root", "x"], "no folder x")])
def test_without_its_data_no_run_of_a_suite_is_tried(words, says, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CST_DATA", raising=False)
    assert says in mistake("bench", "sentiment-small", *words)
    assert list(tmp_path.iterdir()) == []
