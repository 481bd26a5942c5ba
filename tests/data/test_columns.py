"""Which columns of a table are inputs, what stands for a gap, and what becomes of words."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import cst as package
from conftest import write_csv
from cst.config import Config
from cst.data.columns import Column, choose, encoded
from cst.data.domain import Reading
from cst.data.labels import encode_labels
from cst.kinds import read_path
from cst.tasks.own import own_domains

RANDOM = np.random.default_rng(0)
ROWS = 40
NUMBERS = RANDOM.normal(size=ROWS).round(3).tolist()


def names_of(choice):
    return [column.name for column in choice.columns]


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("n", list(range(ROWS)), "counts the rows"),
        ("n", RANDOM.permutation(ROWS).tolist(), "counts the rows"),
        ("n", [str(7 * i + i % 3) for i in range(ROWS)], "counts the rows"),
        ("patient_id", RANDOM.permutation(9 * np.arange(ROWS)).tolist(), "identifies the rows"),
        ("PatientID", RANDOM.permutation(9 * np.arange(ROWS)).tolist(), "identifies the rows"),
        ("id", [3, 1, 2, 9], "identifies the rows"),
        ("code", [f"x{i:04}" for i in range(ROWS)], "identifies the rows"),
        ("review", [f"this one is the {i}th of its kind" for i in range(ROWS)], "holds texts and is left out; .*text="),
        ("size", [3.5] * ROWS, "holds 3.5 in every row"),
        ("kind", ["a"] * ROWS, "holds 'a' in every row"),
        ("hole", ["", "NA", None, "?"] * 10, "is empty and left out"),
        ("Unnamed: 0", list(range(4)), "is taken for row numbers"),
    ],
)
def test_columns_that_tell_nothing_of_the_class_are_left_out_with_a_note(name, cells, reason):
    table = {name: cells, "value": NUMBERS[: len(cells)]}
    choice = choose(table, "s.csv", "label")
    assert names_of(choice) == ["value"]
    assert len(choice.notes) == 1
    assert choice.notes[0].startswith(f"Column '{name}' of s.csv ")
    assert re.search(reason, choice.notes[0])


@pytest.mark.parametrize(
    "cells",
    [
        NUMBERS,
        [1, 2, 3],  # too few rows to say that it counts them
        RANDOM.integers(0, 30, ROWS).tolist(),
        ["0", "1"] * 20,
    ],
)
def test_columns_that_may_tell_something_are_kept(cells):
    choice = choose({"value": cells}, "s.csv", "label")
    assert names_of(choice) == ["value"]
    assert choice.notes == ()


def test_a_whole_number_that_is_another_in_every_row_is_asked_about():
    cells = RANDOM.choice(10_000, ROWS, replace=False).tolist()
    choice = choose({"weight": cells}, "s.csv", "label")
    assert names_of(choice) == ["weight"]
    assert "use drop=weight" in choice.notes[0]


def test_a_number_that_rises_with_every_row_is_asked_about():
    choice = choose({"time": sorted(NUMBERS)}, "s.csv", "label")
    assert names_of(choice) == ["time"]
    assert "rises or falls with every row" in choice.notes[0]


def test_the_user_decides():
    table = {"id": list(range(ROWS)), "value": NUMBERS, "other": NUMBERS, "label": ["a", "b"] * 20}
    assert names_of(choose(table, "s.csv", "label", only=["other", "id"])) == ["other", "id"]
    assert names_of(choose(table, "s.csv", "label", drop=["other"])) == ["value"]
    with pytest.raises(ValueError, match=r"s.csv has no column 'hight' \(it has id, .*: mend columns="):
        choose(table, "s.csv", "label", only=["hight"])
    with pytest.raises(ValueError, match="holds the labels, so it cannot be an input"):
        choose(table, "s.csv", "label", only=["label"])


def test_gaps_and_categories_become_what_scikit_learn_makes_of_them():
    """The reference is one pipeline that is fitted to the source and applied to both."""
    colours = RANDOM.choice(["red", "green", "blue"], ROWS).tolist()
    source = pd.DataFrame({"value": NUMBERS, "colour": colours})
    source.loc[[3, 8], "value"] = np.nan
    source.loc[5, "colour"] = np.nan
    target = pd.DataFrame({"value": [1.0, np.nan, 3.0], "colour": ["blue", np.nan, "mauve"]})
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    reference = ColumnTransformer([("n", SimpleImputer(strategy="median"), ["value"]), ("w", words, ["colour"])])
    reference.fit(source)
    table, other = ({name: frame[name].tolist() for name in frame} for frame in (source, target))
    columns = choose(table, "s.csv", None).columns
    ours, notes = encoded(table, columns, "s.csv")
    np.testing.assert_allclose(ours, reference.transform(source), rtol=1e-6)
    assert len(notes) == 2
    theirs, notes = encoded(other, columns, "t.csv")
    np.testing.assert_allclose(theirs, reference.transform(target), rtol=1e-6)
    assert any("'mauve' first" in note for note in notes)
    with pytest.raises(ValueError, match=r"t\.csv, row 1: column 'value' is empty"):
        encoded(other, columns, "t.csv", fill=False)


def test_only_frequent_categories_become_inputs():
    cells = [f"c{i % 60:02}" for i in range(200)] + ["c59"] * 50
    (column,) = choose({"town": cells}, "s.csv", None).columns
    assert column.width == 50
    assert column.fill == "c59"
    matrix, _ = encoded({"town": cells}, [column], "s.csv")
    assert matrix.sum(1).max() == 1
    assert matrix.sum(1).min() == 0  # a rare one


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([1, 2, 1e38], r"row 2: column 'a' holds 1e\+38, too large to compute with"),
        (["1", "2", "-inf"], "row 2: column 'a' holds -inf, too large"),
        (["1", "2", "twelve"], "row 2: column 'a' holds 'twelve', which is no number; mend the cell, or use drop=a"),
        (
            ["0,5", "0,7", "1,5"],
            "row 0: column 'a' holds '0,5', which is no number; write numbers with a decimal point",
        ),
        ([[1], [2], [3]], r"row 0: column 'a' holds \[1\], which is no number"),
    ],
)
def test_cells_that_cannot_be_computed_with_are_refused(cells, sentence):
    with pytest.raises(ValueError, match=sentence):
        choose({"a": cells}, "s.csv", None)


def test_a_target_is_read_as_the_source_was(tmp_path):
    rows = [["id", "value", "colour", "label"]]
    rows += [[100 + i, NUMBERS[i], ("red", "blue")[i % 2], i % 2] for i in range(ROWS)]
    source = write_csv(tmp_path / "s.csv", rows)
    target = write_csv(tmp_path / "t.csv", [["colour", "value", "id"], ["blue", "", 7], ["red", 2, 8]])
    first, second, _ = own_domains(Config(source=source, target=target))
    assert [column.name for column in first.columns] == ["value", "colour"]
    np.testing.assert_allclose(second.items, [[np.median(NUMBERS), 1, 0], [2, 0, 1]], rtol=1e-6)
    kept = own_domains(Config(source=source, target=target, columns="id,value"))[0]
    assert kept.columns == (Column("id", fill=119.5), Column("value", fill=float(np.median(NUMBERS))))
    with pytest.raises(ValueError, match="columns= and drop= choose numbers of a table, but the data are text"):
        own_domains(Config(source=source, target=target, text="colour", drop="id"))


def test_data_frames_are_read_alike_and_models_keep_how(tmp_path):
    labels = np.arange(ROWS) % 2
    frame = pd.DataFrame({"row_id": np.arange(ROWS), "value": NUMBERS + 3 * labels, "colour": ["red", "blue"] * 20})
    frame.loc[3, "value"] = np.nan
    with pytest.warns(UserWarning, match="'row_id' of the source counts the rows"):
        adapted = package.adapt((frame, labels), frame, epochs=1)
    adapted.save(tmp_path / "model")
    again = package.load(tmp_path / "model")
    assert [column.name for column in again.spec.columns] == ["value", "colour"]
    shuffled = frame[["colour", "value"]]
    np.testing.assert_array_equal(again.predict_proba(shuffled), adapted.predict_proba(frame))
    csv = tmp_path / "t.csv"
    frame.to_csv(csv, index=False)
    np.testing.assert_allclose(again.predict_proba(csv), adapted.predict_proba(frame), rtol=1e-5)
    with pytest.raises(ValueError, match="have no column 'colour'"):
        again.predict(frame[["value"]])
    chosen = package.adapt((frame, labels), frame, epochs=1, columns=["value"])
    assert [column.name for column in chosen.spec.columns] == ["value"]


def test_an_identifier_does_not_cost_accuracy():
    """Wine with an id: 90.9 % became 52.3 %, since the id tells the two domains and the classes of the source."""
    from sklearn.datasets import load_wine

    frame, labels = load_wine(return_X_y=True, as_frame=True)
    frame.insert(0, "id", np.arange(len(frame)))
    half = np.random.default_rng(0).permutation(len(frame)) < len(frame) // 2
    source, target = frame[half], frame[~half].sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match="Column 'id'"):
        adapted = package.adapt((source, labels[half]), target, epochs=2)
    without = package.adapt((source.drop(columns="id"), labels[half]), target.drop(columns="id"), epochs=2)
    np.testing.assert_array_equal(adapted.predict_proba(target), without.predict_proba(target))
    assert "id" not in [column.name for column in adapted.spec.columns]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["1", "1.0", "2"] * 9, "'1' and '1.0' look like one class written in two ways"),
        ((np.arange(40) / 7).tolist(), "40 different labels in 40 samples.*numbers to be estimated"),
        (np.round(RANDOM.normal(size=200), 1).tolist(), "numbers to be estimated, not like classes"),
        ([f"{x:.2f}" for x in np.arange(40) / 7], "numbers to be estimated"),
        ([f"p{i}" for i in range(40)], "names of samples, not like classes: name another column with label="),
        (["a", "nan", "b"] * 9, r"missing values \(first: sample 1, written 'nan'\)"),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        package.adapt((np.zeros((len(labels), 2)), labels), np.zeros((9, 2)), epochs=1)


def test_ratings_and_words_for_nothing_may_be_classes():
    assert encode_labels([0.5, 1.0, 1.5, 2.0] * 5)[1] == (0.5, 1.0, 1.5, 2.0)
    assert encode_labels(["none", "NA", "some"] * 5)[1] == ("NA", "none", "some")


def test_a_word_for_a_missing_label_in_a_table_is_refused(tmp_path):
    path = write_csv(tmp_path / "s.csv", [["a", "label"], [1, "x"], [2, "NaN"], [3, "y"]])
    with pytest.raises(ValueError, match="row 1: column 'label' holds 'NaN', which stands for a missing label"):
        read_path(path, Reading())


def test_a_truth_file_may_have_a_header_of_its_own(tmp_path, cst):
    source = write_csv(tmp_path / "s.csv", [["a", "kind"], *([NUMBERS[i], "xy"[i % 2]] for i in range(ROWS))])
    target = write_csv(tmp_path / "t.csv", [["a"], *([NUMBERS[i] + 1] for i in range(ROWS))])
    truth = write_csv(tmp_path / "truth.csv", [["species"], *(["xy"[i % 2]] for i in range(ROWS))])
    words = ["--source", source, "--target", target, "--label", "kind", "--target-labels", truth]
    short = ["--epochs", "1", "--steps-per-epoch", "1", "--out", tmp_path / "run"]
    code, _, err = cst("train", *words, *short)
    assert code == 2
    assert "has no column 'label' (it has species): name one of them with --label-column." in err
    code, out, err = cst("train", *words, "--label-column", "species", *short)
    assert code == 0, err
    assert "oracle" in out
    same = write_csv(tmp_path / "same.csv", [["kind"], *(["xy"[i % 2]] for i in range(ROWS))])
    assert cst("evaluate", tmp_path / "run", "--target-labels", same, "--label-column", "kind")[0] == 0
    _, _, found = own_domains(Config(source=source, target=target, label="kind", target_labels=str(same)))
    assert found == ["x", "y"] * 20


def test_arrays_without_names_are_asked_about():
    labels = np.arange(ROWS) % 2
    vectors = np.stack([np.arange(ROWS), NUMBERS + 3 * labels, np.ones(ROWS)], 1)
    target = vectors + np.array([0, 0, 1])
    with pytest.warns(UserWarning, match="Place 0") as said:
        package.adapt((vectors, labels), target, epochs=1)
    sentences = [str(warning.message) for warning in said]
    assert "Place 0 of the source's inputs counts its samples: take it out unless that is meant." in sentences
    assert any("hold one value in the source and others in the target, 2 first" in text for text in sentences)
    huge = vectors.copy()
    huge[3, 1] = -1e38
    with pytest.raises(ValueError, match=r"source inputs hold values of up to 1e\+38 \(first: sample 3\), too large"):
        package.adapt((huge, labels), target, epochs=1)


def test_inspect_says_what_training_will_refuse(tmp_path, cst):
    rows = [["a", "label"], *([NUMBERS[i], f"p{i}"] for i in range(ROWS))]
    source = write_csv(tmp_path / "s.csv", rows)
    target = write_csv(tmp_path / "t.csv", [["a"], [1.5]])
    code, out, err = cst("inspect", source, target, "--out", tmp_path / "sheet.png")
    assert code == 0, err
    assert "Training would refuse these data. The target has one sample only" in out
    assert "Training would refuse these data. The source has 40 different labels in 40 samples" in " ".join(out.split())
    code, _, err = cst("train", "--source", source, "--target", target, "--out", tmp_path / "run")
    assert code == 2
    assert not (tmp_path / "run").exists()


def test_columns_are_listed_with_type_range_and_distance(tmp_path, cst):
    rows = [["id", "value", "colour", "label"]]
    rows += [[i, NUMBERS[i], ("red", "blue")[i % 2], "xy"[i % 2]] for i in range(ROWS)]
    source = write_csv(tmp_path / "s.csv", rows)
    target = write_csv(tmp_path / "t.csv", [["value", "colour"], *([v + 100, "blue"] for v in NUMBERS)])
    code, out, err = cst("inspect", source, target, "--out", tmp_path / "x.png", "--json", tmp_path / "f.json")
    assert code == 0, err
    figures = json.loads((tmp_path / "f.json").read_text())["columns"]
    assert [(f["name"], f["type"], f["distance"]) for f in figures] == [
        ("value", "number", 1.0),
        ("colour", "category", 0.5),
    ]
    words = ["train", "--source", source, "--target", target, "--epochs", "1", "--out", tmp_path / "run"]
    code, trained, err = cst(*words)
    assert code == 0, err
    for said in (out, trained):
        assert re.search(r"value +number +-?\d\S* to \d\S+ +\d\S* to \d\S+ +1\.00", said)
        assert re.search(r"colour +category +blue, red +blue +0\.50", said)
    assert "Column 'id' of" in err
    code, trained, err = cst(*words[:-1], tmp_path / "other", "--drop", "colour", "--columns", "value")
    assert code == 0, err
    assert "colour" not in trained
    assert "Column 'id'" not in err


def test_one_row_with_an_empty_cell_can_be_predicted(tmp_path):
    labels = np.arange(ROWS) % 2
    frame = pd.DataFrame({"value": NUMBERS + 3 * labels, "colour": ["red", "blue"] * 20})
    adapted = package.adapt((frame, labels), frame, epochs=1)
    one = frame.iloc[:1].copy()
    one["value"] = np.nan
    with pytest.warns(UserWarning, match="Column 'value' of the new data has no value in 1 of 1 rows"):
        by_frame = adapted.predict_proba(one)
    one.to_csv(tmp_path / "one.csv", index=False)
    np.testing.assert_allclose(adapted.predict_proba(tmp_path / "one.csv"), by_frame, rtol=1e-5)
    one["colour"] = None
    with pytest.warns(UserWarning, match="Column 'colour'"):
        assert adapted.predict_proba(one).shape == (1, 2)
    with pytest.raises(ValueError, match="There are no new inputs"):
        adapted.predict(frame.iloc[:0])


def test_truth_values_and_dates(tmp_path):
    labels = np.arange(ROWS) % 2
    frame = pd.DataFrame({"flag": labels == 1, "value": NUMBERS})
    frame["when"] = pd.date_range("2026-01-01", periods=ROWS)
    with pytest.warns(UserWarning, match="'when' of the source holds dates or times and is left out"):
        adapted = package.adapt((frame, labels), frame, epochs=1)
    widths = {column.name: column.width for column in adapted.spec.columns}
    assert widths == {"flag": 1, "value": 1}
    frame.to_csv(tmp_path / "t.csv", index=False)  # True and False are words there
    np.testing.assert_allclose(adapted.predict_proba(tmp_path / "t.csv"), adapted.predict_proba(frame), rtol=1e-5)
    twice = pd.concat([frame[["value"]], frame[["value"]]], axis=1)
    with pytest.raises(ValueError, match="two columns called 'value'"):
        package.adapt((twice, labels), twice, epochs=1)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"columns": ["value", "value"]}, "columns= names a column twice"),
        ({"columns": ["value"], "drop": ["value"]}, "columns= and drop= both name 'value'"),
        ({"columns": []}, "columns= names no column"),
    ],
)
def test_choices_that_contradict_themselves_are_refused(options, sentence):
    frame = pd.DataFrame({"value": NUMBERS, "other": NUMBERS})
    with pytest.raises(ValueError, match=sentence):
        package.adapt((frame, np.arange(ROWS) % 2), frame, epochs=1, **options)


def test_labels_of_a_truth_file_find_their_rows(tmp_path, cst):
    source = write_csv(tmp_path / "s.csv", [["a", "label"], *([NUMBERS[i], "xy"[i % 2]] for i in range(ROWS))])
    rows = [[f"p{i}", NUMBERS[i]] for i in range(ROWS)]
    target = write_csv(tmp_path / "t.csv", [["key", "a"], *rows])
    shuffled = RANDOM.permutation(ROWS).tolist()
    truth = write_csv(tmp_path / "k.csv", [["key", "label"], *([f"p{i}", "xy"[i % 2]] for i in shuffled)])
    _, noted, found = own_domains(Config(source=source, target=target, target_labels=str(truth)))
    assert found == ["x", "y"] * 20
    assert noted.notes == (f"The labels in {truth} are matched by its column 'key'.",)
    late = write_csv(tmp_path / "r.csv", [["row", "label"], *([i + 1, "xy"[i % 2]] for i in range(ROWS))])
    _, noted, found = own_domains(Config(source=source, target=target, target_labels=str(late)))
    assert found[0] is None
    assert noted.notes == (f"1 labels in {late} belong to no row of the target, row 40 first.",)


def test_classes_that_differ_in_capitals_are_asked_about():
    x = RANDOM.normal(size=(30, 2))
    with pytest.warns(UserWarning, match="The classes 'Cat' and 'cat' differ in capitals only"):
        package.adapt((x, ["cat", "Cat", "dog"] * 10), x, epochs=1)
