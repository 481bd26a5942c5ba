import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from torch.utils.data import Dataset, TensorDataset

import cst
from cst.data.arrays import samples_from
from cst.data.labels import UNKNOWN, encode_labels, known_labels
from cst.data.task import subsample
from cst.tasks.own import task_in_memory
from encoded import encoded_in_memory

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=(40, 6)), np.arange(40) % 4


def with_bad_value(value, row=7):
    broken = X.copy()
    broken[row, 2] = value
    return broken


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ((X, Y[:-1]), X, "The source has 40 inputs but 39 labels"),
        ((X, Y), X[:0], "There are no target inputs"),
        ((X[:0], Y[:0]), X, "There are no source inputs"),
        (
            (with_bad_value(np.nan), Y),
            X,
            r"source inputs have NaN or infinite values in 1 of 40 samples \(first: sample 7",
        ),
        ((X, Y), with_bad_value(np.inf, 3), r"target inputs have NaN or infinite .* sample 3"),
        ((X, Y), X[:, :5], r"One source input has shape \(6,\), one target input \(5,\)"),
        ((X, np.zeros(40)), X, "one class only"),
        ((X, np.eye(4)[Y]), X, "not one-hot rows"),
        ((X, np.where(Y == 1, np.nan, Y)), X, "labels have NaN"),
        ((X, [None, *Y[1:]]), X, "missing values"),
        (X, X, r"must be a pair \(inputs, labels\)"),
        ((X[:, 0], Y), X[:, 0], "one-dimensional"),
        (([["a", "b"]] * 40, Y), X, "not numbers"),
        ((X, Y), (X, Y), "labels of the target, for evaluation, go into target_labels"),
        ((X, Y), np.ma.masked_greater(X, 1), "target inputs have masked values"),
        ((X, ["a", float("nan")] * 20), X, "source labels have missing values"),
        ((X, pd.Series(["a", None] * 20, dtype="string")), X, "source labels have missing values"),
        ((pd.DataFrame(X), Y), pd.DataFrame(X[:, :5]), "target inputs have no column '5'"),
        ((X, None), X, "give one label for each input"),
        ((X, 5), X, "give one label for each input"),
        ((X, Y * 1j), X, "give integers, strings or booleans"),
        ((X[:, :0], Y), X[:, :0], "There are no source inputs"),
        ((X, Y), (255 * abs(X)).astype(np.uint8), "One domain has bytes"),
    ],
)
def test_bad_data_gets_one_sentence(source, target, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        cst.adapt(source, target, epochs=1)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"batch_size": 64}, r"batch size of 64 is larger than the source \(40 samples\)"),
        ({"batch_size": 1}, "at least 2"),
        ({"epochs": 0}, "epochs= must be a whole number"),
        ({"epochs": 2.5}, "epochs= must be a whole number"),
        ({"lr": -1}, "lr= must be at least 0"),
        ({"lr": 0}, "lr= must be more than 0"),
        ({"momentum": 2}, "momentum= must be below 1"),
        ({"warmup_epochs": 5, "epochs": 2}, r"warmup_epochs= ?5 leaves none of the 2 epochs"),
        ({"weight": {"cycle": -1}}, "cycle must have a number of at least 0"),
        ({"weight": 3}, "weight= must be settings such as 'cycle=2', got 3"),
        ({"learning_rate": 1}, "Unknown option 'learning_rate'"),
        ({"batch_norm": "both"}, "batch_norm= must be one of joint, per-domain"),
        ({"method": "cyle"}, "did you mean 'cycle'"),
        ({"backbone": "resnet"}, "Unknown backbone"),
        ({"backbone": torch.nn.Flatten}, "backbone= must be a module, a name or None"),
        ({"backbone": torch.nn.Linear(9, 3)}, "The backbone cannot take inputs of shape"),
        ({"resume": True}, "resume=True needs the folder"),
        ({"bottleneck": 2.5}, "bottleneck= must be a whole number"),
        ({"seed": 10**30}, "seed= must be a whole number"),
        ({"precision": "16-true"}, "precision= must be one of"),
        ({"device": "abacus"}, "Device 'abacus'"),
        ({"method": 5}, "method must be a name"),
        ({"target_labels": Y[:3]}, "The target has 40 inputs but 3 labels"),
        ({"target_labels": Y + 1}, r"labels that the source does not have \(4\)"),
    ],
)
def test_bad_options_get_one_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        cst.adapt((X, Y), X, **options)


@pytest.mark.parametrize(
    "same",
    [
        X[:, ::-1][:, ::-1],
        X[::-1][::-1],
        X.astype(">f8"),
        X.astype(object),
        np.asfortranarray(X),
        pd.DataFrame(X),
        np.ma.array(X),
    ],
    ids=["columns", "rows", "bytes", "objects", "order", "frame", "unmasked"],
)
def test_numbers_may_lie_in_memory_in_any_way(same):
    assert torch.equal(samples_from(same, "source")[0].take(torch.arange(40)), torch.tensor(X).float())


def test_columns_of_a_data_frame_go_by_name(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    mixed = frame[list("fbcdea")].assign(more=1)
    adapted = cst.adapt((frame, Y), mixed, "source-only", epochs=1, out=tmp_path)
    wanted = adapted.predict_proba(frame)
    for model in (adapted, cst.load(tmp_path)):
        np.testing.assert_array_equal(model.predict_proba(mixed), wanted)
        np.testing.assert_array_equal(model.predict_proba(X), wanted)
        with pytest.raises(ValueError, match="new inputs have no column 'a'"):
            model.predict(frame.drop(columns="a"))
        with pytest.raises(ValueError, match=r"reshape\(1, -1\)"):
            model.predict(X[0])
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is a file: choose a folder"):
        adapted.save(tmp_path / "file")


class Pairs(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([0, 1, 2, 1], (0, 1, 2)),
        ([1, 2, 3, 2], (1, 2, 3)),
        (["cat", "dog", "eel", "dog"], ("cat", "dog", "eel")),
        ([0.0, 1.0, 2.0, 1.0], (0, 1, 2)),
        (np.array([-1, 5, 7, 5], dtype=np.int8), (-1, 5, 7)),
        (torch.tensor([3, 4, 9, 4]), (3, 4, 9)),
        ([False, True, False, True], (False, True)),
        (np.array([10, 2, 10, 2], dtype=object), (2, 10)),
        (np.array([b"no", b"yes", b"no", b"yes"]), ("no", "yes")),
    ],
)
def test_labels_of_any_type_become_numbers_and_keep_their_names(labels, classes):
    encoded, found = encode_labels(labels)
    assert found == classes
    given = [value.decode() if isinstance(value, bytes) else value for value in np.asarray(labels).tolist()]
    assert [found[i] for i in encoded.tolist()] == given


def test_arrays_tensors_and_datasets_are_the_same_task():
    tensors = torch.tensor(X), torch.tensor(Y)
    sources = [(X, Y), tensors, TensorDataset(*tensors), Pairs(X, Y), (X.tolist(), Y.tolist())]
    targets = [X, tensors[0], TensorDataset(tensors[0]), Pairs(X, Y), X.tolist()]
    rows = torch.tensor([3, 1])
    for source, target in zip(sources, targets, strict=True):
        task = encoded_in_memory(source, target)
        torch.testing.assert_close(task.source.take(rows), torch.tensor(X[[3, 1]]).float())
        torch.testing.assert_close(task.target.take(rows), torch.tensor(X[[3, 1]]).float())
        assert task.labels.tolist() == Y.tolist()


def test_labels_in_a_target_dataset_are_never_read():
    class Guarded(Pairs):
        def __getitem__(self, index):
            return self.x[index], Forbidden()

    class Forbidden:
        def __getattr__(self, name):
            raise AssertionError("somebody looked at a label of the target")

    adapted = cst.adapt((X, Y), Guarded(X, Y), epochs=1)
    assert len(adapted.predict(X)) == 40


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((5, 8, 8), (1, 8, 8)), ((5, 3, 8, 8), (3, 8, 8)), ((5, 8, 8, 3), (3, 8, 8)), ((5, 6), (6,))],
)
def test_images_are_brought_to_one_layout(shape, expected):
    samples, bytes_in = samples_from(np.zeros(shape), "source")
    assert not bytes_in
    assert samples.take(torch.tensor([0])).shape[1:] == expected


def test_bytes_become_shares():
    samples, bytes_in = samples_from(np.full((2, 4, 4), 255, dtype=np.uint8), "source")
    assert bytes_in
    assert float(samples.take(torch.tensor([0])).max()) == 1.0
    assert samples.inputs.dtype == torch.uint8, "they stay bytes in memory"


def test_datasets_without_length_or_of_several_shapes():
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(X)

    class Ragged(Pairs):
        def __getitem__(self, index):
            return self.x[index][: 5 + index % 2], self.y[index]

    with pytest.raises(ValueError, match="has no length"):
        cst.adapt((X, Y), Stream())
    with pytest.raises(ValueError, match="different shapes"):
        cst.adapt((X[:, :5], Y), Ragged(X, Y), backbone=torch.nn.Flatten(), epochs=1)


def test_numpy_scalars_and_spelled_numbers_are_numbers():
    adapted = cst.adapt((X, Y), X, epochs=np.int64(1), lr=np.float64(0.01), weight_decay="1e-3", seed=np.int32(1))
    assert adapted.settings.to_dict()["lr"] == 0.01
    assert adapted.settings.weight_decay == 1e-3


def test_integer_inputs_reach_a_module_of_your_own_as_they_are():
    tokens = np.arange(120).reshape(40, 3) % 7
    backbone = torch.nn.Sequential(torch.nn.Embedding(7, 4), torch.nn.Flatten())
    adapted = cst.adapt((tokens, Y), tokens, "cycle", backbone=backbone, epochs=1)
    assert adapted.features(tokens).shape == (40, 12)
    for options in ({"method": "vat"}, {"method": "cycle+fixmatch"}, {"augment": "mild"}):
        with pytest.raises(ValueError, match="would change the inputs, which are whole numbers"):
            cst.adapt((tokens, Y), tokens, backbone=backbone, epochs=1, **options)


def test_bytes_and_numbers_are_told_apart_at_prediction():
    images = (np.random.default_rng(0).random((40, 8, 8)) * 255).astype(np.uint8)
    adapted = cst.adapt((images, Y), images, epochs=1)
    with pytest.raises(ValueError, match="trained on bytes"):
        adapted.predict(images.astype(np.float32))


PARTLY = np.where(np.arange(40) % 3 == 0, Y, -1)


@pytest.mark.parametrize(
    "labels",
    [
        [int(y) if k else None for y, k in zip(Y, PARTLY >= 0, strict=True)],
        np.where(PARTLY >= 0, Y, np.nan),
        torch.tensor(np.where(PARTLY >= 0, Y, np.nan)),
        pd.Series(np.where(PARTLY >= 0, Y, np.nan)),
        [int(y) if k else pd.NA for y, k in zip(Y, PARTLY >= 0, strict=True)],
        [f"{y}.0" if k else None for y, k in zip(Y, PARTLY >= 0, strict=True)],
        pd.Series([int(y) if k else None for y, k in zip(Y, PARTLY >= 0, strict=True)], dtype="Int64"),
    ],
)
def test_a_target_may_be_labelled_in_part(labels):
    task = task_in_memory((X, Y), X, labels)
    assert task.oracle.target_labels.tolist() == PARTLY.tolist()
    assert task.notes == ("14 of the target's 40 samples have a label to evaluate with.",)


def test_labels_that_differ_in_their_fraction_alone_stay_apart():
    classes = ("1", "1.0")
    assert known_labels(["1", "1.0"], classes, 2).tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"does not have \(1\.00\)"):
        known_labels(["1.00"], classes, 1)


def test_no_label_at_all_is_a_mistake():
    with pytest.raises(ValueError, match="labels are all missing"):
        task_in_memory((X, Y), X, [None] * 40)
    with pytest.raises(ValueError, match="40 inputs but 39 labels"):
        task_in_memory((X, Y), X, [None, *Y[2:]])


@pytest.mark.parametrize(("most", "labelled"), [(20, 14), (14, 14), (5, 5)])
def test_a_part_of_a_target_has_labelled_samples_first(most, labelled):
    task = subsample(encoded_in_memory((X, Y), X, np.where(PARTLY >= 0, Y, np.nan)), most)
    truth = task.oracle.target_labels
    assert len(task.target) == most
    assert int((truth != UNKNOWN).sum()) == labelled
    places = [int(abs(X - row.numpy()).sum(1).argmin()) for row in task.target.take(torch.arange(most))]
    assert places == sorted(places)
    assert PARTLY[places].tolist() == truth.tolist()


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        (np.full((80, 3), np.nan), np.zeros((9, 3)), "NaN or infinite values in 80 of 80 samples"),
        (np.zeros(80), np.zeros((9, 3)), r"one-dimensional \(shape \(80,\)\)"),
        (scipy.sparse.csr_matrix(np.eye(80)), np.eye(80), r"sparse \(csr_matrix\): make them dense"),
        ((row for row in np.eye(80)), np.eye(80), r"rectangular array \(got generator\)"),
        (pd.DataFrame({"a": ["x"] * 80}), np.zeros((9, 1)), "no column of numbers .* holds 'x' in every row"),
        (np.eye(80), "field.csv", "target is a path, so source must be one too"),
    ],
)
def test_what_is_wrong_is_said_of_the_whole_domain(source, target, sentence):
    with pytest.raises(ValueError, match=sentence):
        cst.adapt((source, np.arange(80) % 2), target, epochs=1)


def test_subsets_of_section_2_1_are_drawn_from_data_in_memory_too():
    random = np.random.default_rng(0)
    inputs, labels = random.normal(size=(200, 3)), np.arange(200) % 2
    with pytest.warns(UserWarning, match=r"Resampled \(iid\): 100 labelled and 100 unlabelled samples"):
        cst.adapt((inputs, labels), inputs, target_labels=labels, resample="iid", epochs=1)
