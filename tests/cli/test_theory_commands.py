import json

import pytest

from cst.cli.main import main

SMALL = ["--d", "4", "--n-target", "30", "--trials", "200"]


def test_hard_case_prints_the_table_and_draws_the_figure(cst, tmp_path):
    words = ["theory", "hard-case", *SMALL, "--descents", "2", "--starts", "8", "--out", tmp_path / "out"]
    code, out, _ = cst(*words, "--json", tmp_path / "table.json")
    assert code == 0
    assert (tmp_path / "out" / "hard-case.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads((tmp_path / "table.json").read_text())
    assert (found["d"], found["n_target"], found["seed"]) == (4, 30, 0)
    rows = {(row["algorithm"], row["solved"]): row for row in found["shares"]}
    assert len(rows) == 7
    for row in rows.values():
        assert row["low"] <= row["share"] <= row["high"]
        assert f"{row['share']:.3f}" in out
        assert f"{row['low']:.3f} to {row['high']:.3f}" in out
    assert rows["CST", "exactly"]["share"] == 1
    assert rows["self-training", "exactly"]["exact"] == pytest.approx(1 / 3, abs=1e-6)
    assert rows["self-training", "descent"]["trials"] == 16
    assert "at least 0.999" in out
    quantities = {row["name"]: row for row in found["quantities"]}
    assert quantities["total variation of features, l > 2"]["exact"] == pytest.approx(0.49)


def test_hard_case_without_descents_repeats_under_its_seed(cst, tmp_path):
    words = ["theory", "hard-case", *SMALL, "--descents", "0", "--out", tmp_path, "--seed"]
    first, again, other = (cst(*words, seed)[1] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert "best of" not in first


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["theory"], "SUBJECT"),
        (["theory", "hardcase"], "Unknown subject 'hardcase': did you mean 'hard-case'?"),
        (["theory", "hard-case", "--d", "2"], "--d must be at least 3, got 2"),
        (["theory", "hard-case", "--n-target", "0"], "--n-target must be at least 1, got 0"),
        (["theory", "hard-case", "--trials", "-3"], "--trials must be at least 1, got -3"),
        (["theory", "hard-case", "--starts", "0"], "--starts must be at least 1"),
        (["theory", "hard-case", "--d", "many"], "--d"),
        (["theory", "hard-case", "--seed", "-1"], "--seed must be at least 0"),
        (["theory", "hard-case", "--out", "file"], "--out file is a file"),
        (["theory", "hard-case", "--json", "."], "is a folder"),
        (["evaluate", "nowhere", "--bound", "--q", "x"], "--q"),
        (["evaluate", "nowhere", "--bound"], "nowhere is not a run"),
    ],
)
def test_mistakes_get_one_line_and_exit_code_two(words, sentence, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert sentence in mistake(*words)
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bound")
    with pytest.raises(SystemExit) as end:
        main(["train", "--epochs", "2", "--steps-per-epoch", "15", "--out", str(folder / "run")])
    assert end.value.code == 0
    return folder


def test_evaluate_prints_the_bound_in_words(trained, cst):
    code, out, err = cst("evaluate", trained / "run", "--bound", "--json", trained / "bound.json")
    assert code == 0, err
    assert all(words in out for words in ("Err_P(f_t)", "the two heads disagree", "Assumed and not verified", "oracle"))
    bound = json.loads((trained / "bound.json").read_text())["bound"]
    assert f"{100 * bound['bound']:.1f}" in out
    assert 0 < bound["oracle"]["error"] < 1
    assert bound["bound"] == pytest.approx(
        bound["cycle_source_error"] + bound["disagreement"] + 0.1 + bound["robustness"] / 0.05
    )


def test_without_the_flag_nothing_of_it_is_printed(trained, cst):
    code, out, _ = cst("evaluate", trained / "run", "--json", trained / "plain.json")
    assert code == 0
    assert "Theorem" not in out
    assert "bound" not in json.loads((trained / "plain.json").read_text())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--bound", "--q", "0"], "--q must lie between 0 and 1"),
        (["--bound", "--radius", "-1"], "--radius must be positive"),
        (["--radius", "1"], "need --bound"),
        (["--q", "0.1"], "need --bound"),
    ],
)
def test_bound_options_that_make_no_sense(trained, cst, words, sentence):
    code, _, err = cst("evaluate", trained / "run", *words)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1
