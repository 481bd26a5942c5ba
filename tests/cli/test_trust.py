"""What commands say of selection, verdict and comparison, and `--method auto` from the first candidate to the last."""

import json

import pytest

import cst as package
from conftest import write_csv
from cst.engine.auto import FOLDER
from cst.engine.callbacks import Callback
from cst.engine.run import Run
from cst.methods import CANDIDATES

SHORT = ("--task", "tables:iris-rescaled", "--epochs", "4", "--steps-per-epoch", "5", "--warmup-epochs", "2")


@pytest.fixture
def two_runs(cst, tmp_path):
    folders = [tmp_path / method for method in ("cst", "mcc")]
    for folder in folders:
        assert cst("train", *SHORT, "--method", folder.name, "--select", "snd", "--out", folder)[0] == 0
    return folders


def test_runs_are_ranked_by_scores_with_a_warning(cst, two_runs, tmp_path):
    code, out, _ = cst("compare", *two_runs, "--json", tmp_path / "ranks.json")
    assert code == 0
    assert "No label of the target took part" in out
    rows = json.loads((tmp_path / "ranks.json").read_text())
    assert {row["run"] for row in rows} == {str(folder) for folder in two_runs}
    assert rows[0]["rank"] <= rows[1]["rank"]
    assert sum(row["rank"] for row in rows) == pytest.approx(3)
    scores = Run(two_runs[0]).finished["signs"]["after"]["scores"]
    assert next(row for row in rows if row["run"] == str(two_runs[0]))["scores"] == scores


def test_what_cannot_be_compared_is_refused(cst, mistake, two_runs, tmp_path):
    assert "Name at least two runs" in mistake("compare", two_runs[0])
    assert cst("train", *SHORT, "--task", "tables:wine-rescaled", "--out", tmp_path / "wine")[0] == 0
    assert "compare runs on the same" in mistake("compare", two_runs[0], tmp_path / "wine")
    assert "named twice" in mistake("compare", two_runs[0], two_runs[0])
    assert "is not a run" in mistake("compare", two_runs[0], tmp_path)
    assert "choose another" in mistake("compare", *two_runs, "--json", two_runs[0] / "model.json")


def test_evaluate_reports_selected_last_and_best_with_the_regret(cst, two_runs):
    before = Run(two_runs[0]).finished
    code, out, _ = cst("evaluate", two_runs[0])
    assert code == 0
    selected = before["selected"]
    assert f"Selected: epoch {selected['epoch']} of 4, by snd." in out
    history = {record["epoch"]: record["oracle"]["accuracy"] for record in Run(two_runs[0]).history()}
    regret = 100 * (max(history.values()) - history[selected["epoch"]])
    assert f"regret {regret:.1f} points" in out
    assert "Verdict: " in out
    after = Run(two_runs[0]).finished
    assert after["verdict"] == before["verdict"]
    assert ("last" in after) == (selected["epoch"] != 4)


class Stopper(Callback):
    """Interrupts the run in an epoch of one of its candidates."""

    def __init__(self, candidate):
        self.candidate, self.seen = candidate, 0

    def on_remark(self, sentence):
        self.seen += sentence.startswith("Candidate")

    def on_epoch(self, record):
        if self.seen == self.candidate and record["epoch"] == 3:
            raise KeyboardInterrupt


class TestAuto:
    OPTIONS = {"epochs": 4, "steps_per_epoch": 5, "batch_size": 32, "warmup_epochs": 2}  # noqa: RUF012

    def test_candidates_share_one_warm_up(self, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        with pytest.warns(UserWarning, match="Chosen: "):
            adapted = package.adapt((source, labels), target, "auto", out=tmp_path, **self.OPTIONS)
        runs = {name: Run(tmp_path / FOLDER / name) for name in CANDIDATES}
        first = runs["cst"].history(2)
        assert all(run.history(2) == first for run in runs.values())
        assert all(len(run.history()) == 4 for run in runs.values())
        befores = [run.finished["signs"]["before"] for name, run in runs.items() if name != "source-only"]
        assert all(before == befores[0] for before in befores)
        result = Run(tmp_path).finished
        chosen = result["auto"]["name"]
        assert set(result["auto"]["ranks"]) == set(CANDIDATES)
        assert result["signs"] == runs[chosen].finished["signs"]
        loaded = package.load(tmp_path)
        assert (loaded.predict(target) == adapted.predict(target)).all()
        assert (loaded.predict(target) == package.load(tmp_path / FOLDER / chosen).predict(target)).all()

    @pytest.mark.filterwarnings("ignore:Chosen")
    def test_in_memory_it_chooses_the_same_and_leaves_nothing_behind(self, shifted_blobs, tmp_path, monkeypatch):
        source, labels, target, _ = shifted_blobs
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        kept = package.adapt((source, labels), target, "auto", out=tmp_path / "run", **self.OPTIONS)
        plain = package.adapt((source, labels), target, "auto", **self.OPTIONS)
        assert (kept.predict_proba(target) == plain.predict_proba(target)).all()
        assert list((tmp_path / "temporary").iterdir()) == []

    @pytest.mark.filterwarnings("ignore:Chosen")
    @pytest.mark.parametrize("candidate", [1, 3])
    def test_interrupted_it_goes_on(self, candidate, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        whole = package.adapt((source, labels), target, "auto", out=tmp_path / "whole", **self.OPTIONS)
        part = {"out": tmp_path / "part", **self.OPTIONS}
        with pytest.raises(KeyboardInterrupt):
            package.adapt((source, labels), target, "auto", callbacks=[Stopper(candidate)], **part)
        resumed = package.adapt((source, labels), target, "auto", resume=True, **part)
        assert (whole.predict_proba(target) == resumed.predict_proba(target)).all()
        assert Run(tmp_path / "whole").finished["auto"] == Run(tmp_path / "part").finished["auto"]

    @pytest.mark.filterwarnings("ignore:Chosen")
    def test_candidates_may_select_an_epoch(self, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        package.adapt((source, labels), target, "auto", select="snd", out=tmp_path, **self.OPTIONS)
        for name in CANDIDATES:
            run = Run(tmp_path / FOLDER / name)
            selected = run.finished["selected"]["epoch"]
            scores = {r["epoch"]: r["scores"]["snd"] for r in run.history() if "scores" in r}
            assert scores[selected] == max(scores.values())

    @pytest.mark.filterwarnings("ignore:Chosen")
    def test_killed_while_the_chosen_one_is_taken_over_it_goes_on(self, shifted_blobs, tmp_path, monkeypatch):
        source, labels, target, _ = shifted_blobs
        part = {"out": tmp_path, **self.OPTIONS}
        with monkeypatch.context() as patch:
            patch.setattr("shutil.copyfile", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                package.adapt((source, labels), target, "auto", **part)
        assert Run(tmp_path).settings.method == "auto"
        adapted = package.adapt((source, labels), target, "auto", resume=True, **part)
        assert Run(tmp_path).finished["auto"]["name"] == adapted.choice.name
        with pytest.raises(ValueError, match="holds a run, which saving would replace"):
            adapted.save(tmp_path)

    def test_without_a_warm_up_there_is_nothing_to_compare_with(self, shifted_blobs, tmp_path):
        source, labels, target, _ = shifted_blobs
        with pytest.raises(ValueError, match="method=auto compares with a source model"):
            package.adapt((source, labels), target, "auto", out=tmp_path / "run", epochs=2)
        assert not (tmp_path / "run").exists()

    @pytest.mark.filterwarnings("ignore")
    def test_a_recipes_weights_concern_their_terms_only(self, tmp_path):
        import numpy as np

        random = np.random.default_rng(0)
        images, labels = random.random((24, 3, 32, 32)).astype("float32"), [0, 1] * 12
        short = {**self.OPTIONS, "batch_size": 8, "steps_per_epoch": 1, "backbone": "cnn", "image_size": None}
        recipe = {"recipe": "official/visda", "bottleneck": 0, "augment": "none", "weights": "none"}
        package.adapt((images, labels), images, "auto", out=tmp_path, **recipe, **short)
        weight = Run(tmp_path / FOLDER / "cst").settings.weight
        assert weight == {"cycle": 2}
        assert Run(tmp_path / FOLDER / "mcc").settings.weight == {}

    def test_labels_of_the_target_do_not_choose(self, shifted_blobs):
        source, labels, target, truth = shifted_blobs
        with pytest.warns(UserWarning, match="Chosen") as without:
            package.adapt((source, labels), target, "auto", **self.OPTIONS)
        with pytest.warns(UserWarning, match="Chosen") as knowing:
            package.adapt((source, labels), target, "auto", target_labels=(truth + 1) % 3, **self.OPTIONS)
        assert str(without[0].message) == str(knowing[0].message)

    def test_the_command_says_what_it_chose(self, cst, tmp_path):
        code, _, err = cst("train", *SHORT, "--method", "auto", "--out", tmp_path)
        assert code == 0
        chosen = Run(tmp_path).finished["auto"]["name"]
        assert f"Chosen: {chosen}." in err
        assert "Candidate 4 of 4" in err
        assert cst("evaluate", tmp_path)[0] == 0
        assert Run(tmp_path).finished["auto"]["name"] == chosen
        assert cst("train", "--resume", tmp_path)[0] == 0

    def test_it_has_no_terms_of_its_own(self, mistake, tmp_path):
        words = ("train", *SHORT, "--method", "auto", "--out", tmp_path / "run")
        assert "leave out --weight and --option" in mistake(*words, "--weight", "cycle=2")
        assert not (tmp_path / "run").exists()


def test_labels_that_come_later_judge_selected_and_last(cst, tmp_path, monkeypatch):
    import numpy as np

    random = np.random.default_rng(0)
    labels = np.arange(80) % 2
    inputs = random.normal(size=(80, 3)) + labels[:, None]
    for name, shift in (("lab", 0.0), ("field", 0.5)):
        cells = [[*(f"{value:.4f}" for value in row + shift), "xy"[k]] for row, k in zip(inputs, labels, strict=True)]
        write_csv(tmp_path / f"{name}.csv", [["a", "b", "c", "label"], *cells])
    falling = iter((4.0, 3.0, 2.0, 1.0))
    monkeypatch.setattr("cst.engine.selecting.scores", lambda outputs: {"balance": next(falling)})
    run, data = tmp_path / "run", ("--source", tmp_path / "lab.csv", "--target", tmp_path / "field.csv")
    short = ("--epochs", "5", "--steps-per-epoch", "4", "--warmup-epochs", "2", "--batch-size", "16")
    assert cst("train", *data, *short, "--select", "balance", "--out", run)[0] == 0
    assert Run(run).finished["selected"] == {"by": "balance", "epoch": 2, "last": 5}
    code, out, _ = cst("evaluate", run, "--target-labels", "label")
    assert code == 0
    assert "Accuracy (oracle): selected " in out
    assert ", last " in out
