"""The subsets of Section 2.1."""

import numpy as np
import pytest
import torch

from cst.config import Config
from cst.tasks import load_task
from cst.tasks.own import task_in_memory
from cst.tasks.resampling import LABEL_SHIFT, resampled, shifted_counts


def numbered(per_class=2800, classes=12):
    """A task whose inputs say which domain and sample they are."""
    labels = np.repeat(np.arange(classes), per_class)
    count = len(labels)
    source = np.stack([np.zeros(count), np.arange(count)], 1)
    target = np.stack([np.ones(count), np.arange(count)], 1)
    return task_in_memory((source, labels), target, labels)


def ids(domain):
    taken = torch.as_tensor(domain.items)
    assert len(taken) == len(domain)
    return taken[:, 0], set(taken[:, 1].int().tolist())


def test_label_shift_has_the_papers_twelve_counts():
    task = resampled(numbered(), "label-shift", seed=0)
    assert torch.bincount(task.labels).tolist() == list(LABEL_SHIFT)
    assert torch.bincount(task.oracle.target_labels).tolist() == [1000] * 12
    domain, first = ids(task.source)
    others, second = ids(task.target)
    assert (domain == 1).all()
    assert (others == 1).all()
    assert not first & second


def test_iid_and_covariate_shift():
    iid = resampled(numbered(), "iid", seed=0)
    assert torch.bincount(iid.labels).tolist() == [1000] * 12
    assert (ids(iid.source)[0] == 1).all()
    assert not ids(iid.source)[1] & ids(iid.target)[1]
    shift = resampled(numbered(), "covariate-shift", seed=0)
    assert (ids(shift.source)[0] == 0).all()
    assert (ids(shift.target)[0] == 1).all()
    assert len(shift.source) == len(shift.target) == 12_000


def test_labels_stay_with_their_samples_and_the_seed_decides():
    first, again, other = (resampled(numbered(100), "label-shift", seed) for seed in (0, 0, 1))
    truth = torch.arange(1200) // 100
    for task in (first, other):
        taken = task.source.items[:, 1].astype(int)
        assert torch.equal(truth[taken], task.labels)
        taken = task.target.items[:, 1].astype(int)
        assert torch.equal(truth[taken], task.oracle.target_labels)
    assert ids(first.target)[1] == ids(again.target)[1] != ids(other.target)[1]


def test_small_tasks_shrink_evenly():
    task = resampled(numbered(100), "label-shift", seed=0)
    counts = torch.bincount(task.labels).tolist()
    assert counts[0] == int(100 / 2800 * 1800)
    assert counts == sorted(counts, reverse=True)
    assert shifted_counts(10) == list(LABEL_SHIFT[:10])
    assert shifted_counts(14)[12:] == [123, 99]


def test_any_task_can_be_resampled_but_not_without_labels():
    task = load_task(Config(resample="iid"))
    assert len(task.source) == len(task.target)
    unlabelled = task_in_memory((np.zeros((4, 2)), [0, 1, 0, 1]), np.ones((4, 2)))
    with pytest.raises(ValueError, match="needs all labels of the target"):
        resampled(unlabelled, "iid", 0)
    partly = task_in_memory((np.zeros((4, 2)), [0, 1, 0, 1]), np.ones((4, 2)), [0, None, 1, 1])
    with pytest.raises(ValueError, match="needs all labels of the target"):
        resampled(partly, "iid", 0)
    lacking = task_in_memory((np.zeros((4, 2)), ["cat", "dog", "cat", "dog"]), np.ones((4, 2)), ["cat"] * 4)
    with pytest.raises(ValueError, match="Class 'dog' is missing in one domain"):
        resampled(lacking, "iid", 0)
