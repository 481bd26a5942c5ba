import numpy as np
import pytest

import cst

SHORT = {"epochs": 2, "steps_per_epoch": 5, "batch_norm": "per-domain", "progress": False}


def test_methods_and_seeds_in_one_table(shifted_blobs, tmp_path):
    source, labels, target, truth = shifted_blobs
    methods = ["source-only", "cycle(l2=1)"]
    found = cst.compare((source, labels), target, methods, seeds=2, target_labels=truth, out=tmp_path, **SHORT)
    assert [line.label for line in found.table.lines] == methods
    assert set(found.adapted) == {(method, seed) for method in methods for seed in (0, 1)}
    accuracy = np.mean(found.adapted["source-only", 1].predict(target) == truth)
    (row,) = [row for row in found.rows if (row["line"], row["seed"]) == ("source-only", 1)]
    assert row["accuracy"] == pytest.approx(accuracy)
    for text in (str(found), found.to_csv(), found.to_latex(), found._repr_html_()):
        assert "cycle(l2=1)" in text
    again = cst.compare((source, labels), target, methods, seeds=2, target_labels=truth, out=tmp_path, **SHORT)
    assert [row["accuracy"] for row in again.rows] == [row["accuracy"] for row in found.rows]
    with pytest.raises(ValueError, match="other data"):
        cst.compare((source + 1, labels), target, methods, seeds=2, out=tmp_path, **SHORT)


def test_without_target_labels_the_verdict_stands_in_the_table(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    found = cst.compare((source, labels), target, ["source-only"], seeds=[7], **SHORT)
    assert found.table.columns[1] == "verdict"
    assert found.rows[0]["seed"] == 7
    assert "accuracy" not in found.rows[0]


def test_a_run_that_diverges_does_not_take_the_others_along(shifted_blobs):
    source, labels, target, truth = shifted_blobs
    options = {**SHORT, "target_labels": truth, "seeds": 1}
    with pytest.warns(UserWarning, match="failed"):
        found = cst.compare((source, labels), target, ["source-only", "source+cycle+boom"], **options)
    assert [line.label for line in found.table.lines] == ["source-only"]
    assert list(found.failed) == [("source+cycle+boom", 0)]


@pytest.fixture(autouse=True)
def boom():
    from cst.terms import TERMS

    class Boom(cst.Term):
        def forward(self, step):
            return step.target.features.sum() * float("nan")

    cst.register("boom", Boom)
    yield
    TERMS._entries.pop("boom")


def test_mistakes(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    with pytest.raises(ValueError, match="methods= must be a list"):
        cst.compare((source, labels), target, "cst")
    with pytest.raises(ValueError, match="seeds= must be at least 1"):
        cst.compare((source, labels), target, ["cst"], seeds=0)
    with pytest.raises(ValueError, match="did you mean 'cst'"):
        cst.compare((source, labels), target, ["cts"], seeds=1)
