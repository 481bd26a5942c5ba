import numpy as np

from cst.config import Config
from cst.tasks import load_task
from cst.tasks.synthetic_digits import FONTS, _font, handwritten_digits, rendered_digits


def test_both_domains_have_the_same_scale():
    (source, source_labels), (target, _) = rendered_digits(), handwritten_digits()
    assert source.shape == (4000, 1, 8, 8)
    assert target.shape == (1797, 1, 8, 8)
    for images in (source, target):
        sixteenths = images * 16
        np.testing.assert_array_equal(sixteenths, sixteenths.round())
        assert (sixteenths.min(), sixteenths.max()) == (0, 16)
    assert np.bincount(source_labels).tolist() == [400] * 10


def test_rendering_repeats_and_varies():
    first, labels = rendered_digits(60, seed=1)
    rendered_digits.cache_clear()
    second, _ = rendered_digits(60, seed=1)
    np.testing.assert_array_equal(first, second)
    sevens = first[labels == 7]
    assert len(np.unique(sevens.reshape(len(sevens), -1), axis=0)) == len(sevens)


def test_every_font_draws_ten_different_digits():
    for name in FONTS:
        font = _font(name)
        masks = {bytes(font.getmask(str(digit))) for digit in range(10)}
        assert len(masks) == 10, name


def test_task_keeps_target_labels_with_the_oracle():
    task = load_task(Config(task="synthetic-digits"))
    assert len(task.target) == len(task.oracle.target_labels) == 1797
    assert task.target.labels is None
    assert task.num_classes == 10
