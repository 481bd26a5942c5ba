"""Whatever has become of a file: an error that says what is wrong, or a result. benchmarks/fuzz.py has many more."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzed import mutated, readers

NAMES = (
    *("csv", "tsv", "jsonl", "parquet", "csv of texts", "npz", "npy", "npy of labels"),
    *("png", "jpg", "bmp", "webp", "gif", "tif", "ppm"),
    *("idx of images", "idx of labels", "LIBSVM", "mat", "reviews", "configuration", "suite"),
    *("run: config.yaml", "run: metrics.jsonl", "run: result.json", "run: model.json", "run: checkpoint.pt"),
    *("run: model.safetensors", "run: before.safetensors", "run: after.safetensors"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return readers(tmp_path_factory.mktemp("damaged"))


@pytest.mark.parametrize("name", NAMES)
def test_no_damaged_file_is_a_traceback(name, made):
    whole = made[name].file.read_bytes()
    assert made[name].bears(whole) is None

    @settings(max_examples=12, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(random=st.randoms(use_true_random=True))
    def bears(random):
        made[name].bears(mutated(whole, random))

    bears()


def test_every_reader_has_its_turn(made):
    assert set(NAMES) <= set(made)
