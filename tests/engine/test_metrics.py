"""The one table of metrics, and figures that are not in it."""

import json

import pytest
import torch

import cst as package
from cst.engine.metrics import METRICS, Metric, metric
from cst.engine.run import Run
from cst.terms import TERMS

SHORT = {"epochs": 2, "steps_per_epoch": 3, "batch_size": 16}
ORACLE = {name for name, figure in METRICS.items() if figure.oracle}


class Oddity(package.Term):
    """Reports what nobody has heard of."""

    def forward(self, step):
        return step.target.features.square().mean()

    def metrics(self):
        return {"oddity_of_things": 0.25, "zebras": 3, "stripes": [1.0, 2.0], "colours": {"white": 0.5}, "mood": "fine"}


@pytest.fixture
def oddity(monkeypatch):
    monkeypatch.setattr(TERMS, "_entries", dict(TERMS._entries))
    package.register("oddity", Oddity)


def test_a_term_may_report_what_nobody_knows(oddity, cst, tmp_path):
    words = ["--method", "oddity+cycle", "--epochs", 2, "--steps-per-epoch", 2, "--log", "tensorboard"]
    code, out, err = cst("train", *words, "--out", tmp_path / "run", "--json", tmp_path / "figures.json")
    assert code == 0, err
    assert "accuracy" in out
    assert "epoch 2/2" in err
    for record in Run(tmp_path / "run").history():
        assert Oddity().metrics().items() <= record.items()
    code, out, err = cst("evaluate", tmp_path / "run")
    assert code == 0, err


def test_a_result_with_an_unknown_figure_is_printed(cst, tmp_path, monkeypatch):
    from cst.engine import train

    evaluate = train.evaluate
    unknown = {"oddity_of_things": 0.25, "mood": "fine", "stripes": [1.0, 2.0]}
    of_oracle = {"spots_seen": 0.125, "nested": {}, "absent": None}

    def knowing_more(*arguments, **options):
        result = evaluate(*arguments, **options)
        return {**result, **unknown, "oracle": {**result["oracle"], **of_oracle}}

    monkeypatch.setattr(train, "evaluate", knowing_more)
    words = ["--epochs", 1, "--steps-per-epoch", 2, "--out", tmp_path / "run", "--json", tmp_path / "figures.json"]
    code, out, err = cst("train", *words)
    assert code == 0, err
    rows = {line.strip().partition("  ")[0]: line.split() for line in out.splitlines()}
    assert rows["oddity of things"][3:] == ["0.25"], "as it is: nobody knows whether it is a share"
    assert rows["spots seen"][2:] == ["0.125", "oracle"]
    assert "target head's error on source" in rows
    written = json.loads((tmp_path / "figures.json").read_text())
    assert unknown.items() <= written.items()
    assert of_oracle.items() <= written["oracle"].items()


def test_a_new_figure_needs_one_line_in_the_table(cst, tmp_path, monkeypatch):
    def share(evaluation):
        return float((evaluation.target.logits.softmax(-1).amax(1) > 0.9).float().mean())

    monkeypatch.setitem(METRICS, "certain", Metric("certain", "share of certain predictions", compute=share))
    code, out, err = cst("train", "--epochs", 1, "--steps-per-epoch", 2, "--out", tmp_path / "run")
    assert code == 0, err
    found = Run(tmp_path / "run").result["certain"]
    (shown,) = (line for line in out.splitlines() if "share of certain predictions" in line)
    assert shown.split()[4:] == [f"{100 * found:.1f}", "%"]


def test_every_metric_has_a_label():
    for name, figure in METRICS.items():
        assert figure.name == name
        assert figure.label.strip()
        assert "_" not in figure.label
        assert metric(name) is figure
    labels = [figure.label for figure in METRICS.values()]
    assert len(set(labels)) == len(labels)


def test_an_unknown_metric_is_called_by_its_name():
    figure = metric("oddity_of_things")
    assert (figure.label, figure.unit, figure.oracle) == ("oddity of things", "", False)
    assert figure.show(0.25) == "0.25"
    assert figure.show(3) == "3"
    assert "oddity_of_things" not in METRICS


def names_outside(figures):
    """Every name in nested figures but those below 'oracle'."""
    found = set()
    for name, value in figures.items():
        if name != "oracle":
            found |= {name} | (names_outside(value) if isinstance(value, dict) else set())
    return found


def test_oracle_figures_stand_under_oracle_alone(shifted_blobs, tmp_path):
    source, labels, target, truth = shifted_blobs
    assert {
        *("accuracy", "mean_class_accuracy", "pseudo_label_error", "total_variation", "calibration_error")
    } == ORACLE
    adapted = package.adapt((source, labels), target, "cst+fixmatch", target_labels=truth, out=tmp_path / "a", **SHORT)
    for figures in (*adapted.history, Run(tmp_path / "a").result):
        assert set(figures["oracle"]) == ORACLE
        assert not names_outside(figures) & ORACLE
    blind = package.adapt((source, labels), target, "cst+fixmatch", out=tmp_path / "b", **SHORT)
    assert not any("oracle" in record for record in blind.history)
    assert Run(tmp_path / "b").result["oracle"] == {}
    assert not names_outside(Run(tmp_path / "b").result) & ORACLE


def test_what_stands_under_oracle_is_shown_as_such(cst, tmp_path):
    code, out, err = cst("train", "--epochs", 1, "--steps-per-epoch", 2, "--out", tmp_path / "run")
    assert code == 0, err
    shown = out.splitlines()
    lines = {name: [line for line in shown if f"  {figure.label}  " in line] for name, figure in METRICS.items()}
    for name in ORACLE:
        assert [line.split()[-1] for line in lines[name]] == ["oracle"], name
    for name in ("target_head_source_error", "source_error"):
        assert len(lines[name]) == 1
        assert "oracle" not in lines[name][0]
    assert "(oracle)" in err


def test_the_target_head_of_many_is_that_of_all():
    """Sums over blocks stand for the features, on both sides of N = d."""
    from types import SimpleNamespace

    from cst.engine.evaluation import EVALUATION_BATCH
    from cst.engine.metrics import target_head_error, target_head_error_of_many

    torch.manual_seed(0)
    for width in (5, 600):
        source, target = torch.randn(300, width), torch.randn(500, width) + 0.2
        labels, pseudo = (features[:, :3].argmax(1) for features in (source, target))

        def view(features):
            def split(values):
                return torch.split(values, EVALUATION_BATCH)

            return SimpleNamespace(blocks=lambda: split(features), split=split)

        evaluation = SimpleNamespace(
            source=view(source), target=view(target), source_labels=labels, pseudo_labels=pseudo, num_classes=3
        )
        whole = target_head_error(source, labels, target, pseudo, 3)
        assert target_head_error_of_many(evaluation) == pytest.approx(whole, abs=1e-6)
