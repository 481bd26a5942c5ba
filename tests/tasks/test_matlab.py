"""Our reader of MATLAB files beside SciPy's."""

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from cst.tasks.benchmarks.matlab import read_matlab


@pytest.mark.parametrize("compressed", [True, False])
def test_arrays_are_those_that_scipy_reads(compressed, tmp_path):
    random = np.random.default_rng(0)
    arrays = {
        "X": random.integers(0, 255, (4, 3, 2, 5), dtype=np.uint8),
        "y": np.array([[1], [10]], dtype=np.uint8),
        "weights": random.normal(size=(3, 2)),
        "few": np.array([[7]], dtype=np.int16),
        "large": random.integers(-(2**31), 2**31 - 1, (5, 5), dtype=np.int32),
    }
    savemat(tmp_path / "a.mat", {**arrays, "name": "a text"}, do_compression=compressed)
    read, reference = read_matlab((tmp_path / "a.mat").read_bytes(), 10_000), loadmat(tmp_path / "a.mat")
    assert set(read) == set(arrays)
    for name, array in read.items():
        assert array.dtype == reference[name].dtype
        np.testing.assert_array_equal(array, reference[name])


def test_what_unpacks_to_too_much_is_cut_short(tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.zeros((100, 100))}, do_compression=True)
    with pytest.raises(ValueError, match="cut short"):
        read_matlab((tmp_path / "a.mat").read_bytes(), 1000)
