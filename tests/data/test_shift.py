"""Label shift is told from a shift of the inputs, with few classes and with many."""

import numpy as np
import pytest

from cst.data.shift import unexplained_by_shares
from cst.kinds.arrays import MOST_UNEXPLAINED


@pytest.mark.parametrize("classes", [2, 10, 65])
def test_other_shares_are_explained_and_another_style_is_not(classes):
    """Columns vary together in a few directions, those of the classes among them, as features of networks do."""
    random = np.random.default_rng(0)
    mixing = random.normal(size=(20, 300))
    centres = random.normal(size=(classes, 20)) @ mixing

    def sample(labels):
        hidden = random.normal(size=(len(labels), 20)) @ mixing
        return centres[labels] + hidden + random.normal(size=(len(labels), 300))

    even = np.arange(2000) % classes
    falling = np.arange(classes, 0, -1) / np.arange(classes, 0, -1).sum()
    source = sample(even)
    shares = unexplained_by_shares(source, even, sample(random.choice(classes, 1500, p=falling)))
    style = unexplained_by_shares(source, even, sample(even) + 1.5 * random.normal(size=20) @ mixing)
    stretched = unexplained_by_shares(source, even, 1.5 * sample(even))
    assert shares < MOST_UNEXPLAINED < min(style, stretched)


def test_columns_that_do_not_vary_and_classes_that_are_missing_do_no_harm():
    random = np.random.default_rng(0)
    labels = np.array([0, 3] * 50)
    source = np.hstack([random.normal(size=(100, 2)) + labels[:, None], np.ones((100, 1))])
    assert unexplained_by_shares(source, labels, source[:40]) < MOST_UNEXPLAINED
    assert unexplained_by_shares(np.ones((100, 3)), labels, np.ones((40, 3))) == 0
