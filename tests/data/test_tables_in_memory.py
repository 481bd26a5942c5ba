"""Data frames of pandas and polars, and datasets of Hugging Face, straight into `cst.adapt`, by names of columns."""

import io
import subprocess
import sys

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import torch

import cst
from conftest import draw
from cst.data.domain import Reading
from cst.tasks.own import task_in_memory

SHORT = {"epochs": 1, "steps_per_epoch": 3, "progress": False}


@pytest.fixture
def plants():
    """A labelled table and one without labels whose columns stand in another order."""
    random = np.random.default_rng(0)
    length, width = random.normal(size=(2, 90))
    source = {"length": length, "width": width, "colour": ["red", "blue", "green"] * 30, "label": length > 0}
    source["label"] = ["large" if large else "small" for large in source["label"]]
    target = {"colour": ["blue", "red"] * 30, "width": random.normal(size=60), "length": random.normal(size=60) + 0.5}
    return source, target


def test_pandas_polars_and_datasets_are_the_same_task(plants):
    source, target = plants
    tasks = [
        task_in_memory(make(source), make(target)) for make in (pd.DataFrame, pl.DataFrame, datasets.Dataset.from_dict)
    ]
    pair = pd.DataFrame(source).drop(columns="label"), source["label"]
    first = task_in_memory(pair, pd.DataFrame(target))
    assert [column.name for column in first.source.columns] == ["length", "width", "colour"]
    for task in tasks:
        assert task.source.columns == first.source.columns
        assert task.classes == ("large", "small")
        np.testing.assert_array_equal(task.source.items, first.source.items)
        np.testing.assert_array_equal(task.target.items, first.target.items)
        np.testing.assert_array_equal(task.labels, first.labels)


def test_columns_go_by_name_in_predictions_whatever_their_order(plants):
    source, target = plants
    adapted = cst.adapt(pl.DataFrame(source), pl.DataFrame(target), **SHORT)
    expected = adapted.predict_proba(pd.DataFrame(target))
    for new in (pl.DataFrame(target).select("width", "length", "colour"), datasets.Dataset.from_dict(target)):
        np.testing.assert_allclose(adapted.predict_proba(new), expected, atol=1e-6)


def test_numbers_of_polars_go_by_name_and_keep_their_type():
    inputs = np.random.default_rng(0).integers(200, size=(20, 2)).astype(np.uint8) // 20
    frame = pl.DataFrame({"b": inputs[:, 1], "a": inputs[:, 0]})
    task = task_in_memory((frame, [0, 1] * 10), frame.select("a", "b"))
    assert task.source.items.dtype == np.uint8  # pixels stay bytes, as those of pandas do
    np.testing.assert_array_equal(task.source.items, task.target.items)
    gaps = pl.DataFrame({"b": [1.5, None, 3.0] * 7, "a": [1.0, 2.0, float("nan")] * 7})
    filled = task_in_memory((gaps, [0, 1, 1] * 7), gaps)
    assert np.isfinite(filled.source.items).all()
    assert len(filled.notes) == 4


def test_polars_needs_neither_pandas_nor_pyarrow():
    code = """if True:
        import sys
        class Without:
            def __init__(self, finder):
                self.finder = finder
            def find_spec(self, name, *more):
                return None if name.partition(".")[0] in ("pandas", "pyarrow") else self.finder.find_spec(name, *more)
            def __getattr__(self, name):
                return getattr(self.finder, name)
        sys.meta_path[:] = map(Without, sys.meta_path)
        import polars as pl
        from cst.tasks.own import task_in_memory
        frame = pl.DataFrame({"a": [0.5, 1.5] * 20, "c": ["x", "y"] * 20, "label": ["n", "m"] * 20})
        print(task_in_memory(frame, frame.drop("label")).source.items.shape)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(40, 3)\n", done.stderr


def test_texts_and_class_names_of_a_dataset(reviews, tiny_bert):
    (texts, labels), (new, _) = reviews
    names = datasets.ClassLabel(names=["good", "bad"])  # numbers of their own order
    rows = {"review": [*texts, None, " "], "stars": [*labels, "bad", "good"]}
    source = datasets.Dataset.from_dict({**rows, "stars": names.str2int(rows["stars"])}).cast_column("stars", names)
    target = datasets.Dataset.from_dict({"review": new, "where": ["kitchen"] * len(new)})
    options = {"text": "review", "label": "stars", "backbone": f"hf:{tiny_bert}", "max_length": 8, **SHORT}
    with pytest.warns(UserWarning, match="2 of the source's rows have no text and are left out: row 40, row 41"):
        adapted = cst.adapt(source, target, "source-only", **options)
    assert adapted.classes == ("bad", "good")
    np.testing.assert_array_equal(adapted.predict_proba(target), adapted.predict_proba(new))
    np.testing.assert_array_equal(adapted.predict_proba(pl.DataFrame({"review": new})), adapted.predict_proba(new))
    with pytest.raises(ValueError, match="The new data, row 1: column 'review' has no text"):
        adapted.predict(datasets.Dataset.from_dict({"review": ["fine", None]}))
    of_lists = cst.adapt((texts, labels), new, "source-only", **{k: options[k] for k in options if k[0] not in "tl"})
    np.testing.assert_array_equal(of_lists.predict(source.select(range(3))["review"]), of_lists.predict(texts[:3]))
    with pytest.raises(ValueError, match="give one column, data"):
        of_lists.predict(target)


def test_pictures_of_a_dataset(tmp_path):
    random = np.random.default_rng(0)
    files = [tmp_path / f"{number}.png" for number in range(12)]
    for number, file in enumerate(files):
        draw(file, ("disc", "bar")[number % 2], "red", random)
    names = datasets.ClassLabel(names=["disc", "bar"])
    features = datasets.Features({"image": datasets.Image(), "label": names, "note": datasets.Value("string")})
    rows = {"image": [str(file) for file in files], "label": [0, 1] * 6, "note": ["a"] * 12}
    source = datasets.Dataset.from_dict(rows, features=features)
    target = source.remove_columns("label").with_format("torch")
    task = task_in_memory(source, target)
    assert (task.kind, task.classes, len(task.target)) == ("images", ("bar", "disc"), 12)
    assert task.source.labels == ["disc", "bar"] * 6
    options = {"backbone": "lenet", "image_size": 16, "augment": "none", "workers": 0, **SHORT}
    adapted = cst.adapt(source, target, "source-only", **options)
    np.testing.assert_allclose(adapted.predict_proba(target), adapted.predict_proba(files), atol=1e-6)
    with pytest.raises(ValueError, match="columns= and drop= choose numbers of a table, but the data are images"):
        cst.adapt(source, target, drop=["note"])
    with pytest.raises(ValueError, match="trained on images, but the new data hold none"):
        adapted.predict(target.remove_columns("image"))
    broken = datasets.Dataset.from_list([{"image": {"bytes": b"no picture", "path": None}}])
    with pytest.raises(ValueError, match="The new data, row 0: the image cannot be read"):
        adapted.predict(
            broken.cast_column("image", datasets.Image(decode=False)).cast_column("image", datasets.Image())
        )


def test_labels_of_the_target_are_read_for_evaluation_only(plants):
    source, target = plants
    labelled = datasets.Dataset.from_dict({**target, "truth": ["large", None, "small"] * 20})
    task = task_in_memory(pd.DataFrame(source), labelled, "truth")
    assert task.target.labels is None
    assert task.oracle.target_labels[:3].tolist() == [0, -1, 1]
    assert "truth" not in [column.name for column in task.target.columns]
    with pytest.raises(ValueError, match="the source has this column too, as an input"):
        task_in_memory(pd.DataFrame(source), labelled, "colour")
    with pytest.raises(ValueError, match="names a column, but the target has none"):
        task_in_memory((np.zeros((4, 2)), [0, 1, 0, 1]), np.zeros((4, 2)), "truth")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (lambda table: table.to_iterable_dataset(), "The source is a stream, of which no batch can be drawn"),
        (lambda table: datasets.DatasetDict(train=table), r"The source holds several datasets \(train\)"),
        (lambda table: table.select([]), "The source has no rows"),
        (lambda table: table.to_polars().lazy(), r"The source is a LazyFrame.*collect\(\)"),
        (lambda table: table.remove_columns("label"), r"The source has no column 'label' \(it has length.*label="),
        (lambda table: table.to_pandas().assign(label=None), "The source, row 0: column 'label' is empty"),
        (lambda table: scipy.sparse.csr_array(np.eye(4)), "source must be a pair"),
        (lambda table: (scipy.sparse.csr_array(np.eye(4)), [0, 1, 0, 1]), r"inputs are sparse \(csr_array\).*toarray"),
        (lambda table: (scipy.sparse.csr_matrix(np.eye(4)), [0, 1, 0, 1]), r"inputs are sparse \(csr_matrix\)"),
        (lambda table: (np.random.rand(60, 3), np.random.rand(60)), "60 different labels in 60 samples.*estimated"),
        (lambda table: (np.random.rand(8, 3), torch.rand(8)), "8 different labels in 8 samples.*estimated"),
        (lambda table: table.to_pandas().assign(label=np.arange(90) / 7), "90 different labels.*estimated"),
    ],
)
def test_mistakes_are_one_sentence(plants, source, says):
    table = datasets.Dataset.from_dict(plants[0])
    with pytest.raises(ValueError, match=says) as raised:
        cst.adapt(source(table), table, **SHORT)
    assert "\n" not in str(raised.value)


def test_names_of_columns_for_arrays_are_a_mistake():
    with pytest.raises(ValueError, match="text= names a column, which arrays and lists do not have"):
        cst.adapt((np.zeros((4, 2)), [0, 1, 0, 1]), np.zeros((4, 2)), text="review")
    model = cst.adapt((np.random.rand(40, 2), [0, 1] * 20), np.random.rand(30, 2), **SHORT)
    with pytest.raises(ValueError, match="trained on arrays, which name no columns"):
        model.predict(datasets.Dataset.from_dict({"a": [1.0], "b": [2.0]}))
    with pytest.raises(ValueError, match="new inputs are sparse"):
        model.predict(scipy.sparse.csr_matrix(np.eye(2)))


def test_a_run_of_a_table_in_memory_keeps_the_names_of_its_columns(plants, tmp_path):
    source, target = (pd.DataFrame(part) for part in plants)
    cst.adapt(source, target, label="label", out=tmp_path / "run", **SHORT)
    again = cst.load(tmp_path / "run")
    buffer = io.StringIO(target.to_csv(index=False))
    assert (again.predict(pd.read_csv(buffer)) == again.predict(datasets.Dataset.from_pandas(target))).all()


def test_a_pair_of_a_dataset_and_labels_keeps_them_together():
    rows = datasets.Dataset.from_dict({"review": ["fine", None, "dull"], "id": [1, 2, 3]})
    with pytest.raises(ValueError, match="The source, row 1: column 'review' has no text"):
        task_in_memory((rows, ["a", "b", "a"]), rows, None, Reading("review"))
