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
    assert any("source+cycle+boom, seed 0, failed: " in fact for fact in found.table.facts)


@pytest.fixture(autouse=True)
def boom():
    from cst.terms import TERMS

    class Boom(cst.Term):
        def forward(self, step):
            return step.target.features.sum() * float("nan")

    cst.register("boom", Boom)
    yield
    TERMS._entries.pop("boom")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"methods": "cst"}, "methods= must be a list of different methods"),
        ({"methods": []}, "methods= must be a list of different methods"),
        ({"methods": [5]}, "methods= must be a list of different methods"),
        ({"methods": ["cst", "cst"]}, "methods= must be a list of different methods"),
        ({"methods": ["source-only", "cts"]}, "did you mean 'cst'"),
        ({"seeds": 0}, "seeds= must be how many, at least 1"),
        ({"seeds": []}, "seeds= must be how many, at least 1"),
        ({"seeds": [0, 0]}, "different whole numbers"),
        ({"seeds": "12"}, "different whole numbers"),
        ({"seeds": 1.5}, "different whole numbers"),
        ({"figures": ["nonsense"]}, "Unknown figure 'nonsense'"),
        ({"seed": 3}, "seed= is decided by compare"),
    ],
)
def test_mistakes_are_said_before_anything_is_trained(shifted_blobs, words, says, tmp_path):
    source, labels, target, _ = shifted_blobs
    with pytest.raises(ValueError, match=says):
        cst.compare((source, labels), target, out=tmp_path, **words)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_and_generators_will_do(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    found = cst.compare((source, labels), target, (m for m in ["source-only"]), seeds=np.int64(1), **SHORT)
    assert [row["seed"] for row in found.rows] == [0]
