"""The digit benchmarks as their publishers ship them, where they are at hand."""

import os

import pytest

from cst.config import Config
from cst.data.tasks import load_task

pytestmark = pytest.mark.skipif(
    not os.environ.get("CST_DATA"), reason="set CST_DATA to a folder with MNIST, USPS and SVHN to read the real files"
)


def test_mnist_and_usps_are_complete():
    task = load_task(Config(task="digits:mnist-usps"))
    assert (len(task.source), len(task.target), len(task.oracle.test)) == (60_000, 7_291, 2_007)
    assert task.notes == ()
    assert task.num_classes == 10


def test_svhn_is_read_in_colour():
    task = load_task(Config(task="digits:svhn-mnist"))
    assert task.input_shape == (3, 32, 32)
    assert len(task.target) == 60_000
