"""Runs that the tests of this folder look at; a plugin of theirs."""

import numpy as np
import pytest
from made_up import SHORT, write_tables

import cst as package
from conftest import draw


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def labelled(tables, tmp_path_factory):
    """A run with labels of the target."""
    out = tmp_path_factory.mktemp("runs") / "labelled"
    package.adapt(*tables, target_labels="truth", out=out, **SHORT)
    return out


@pytest.fixture(scope="session")
def unlabelled(tables, tmp_path_factory):
    """A run that never saw any."""
    out = tmp_path_factory.mktemp("runs") / "unlabelled"
    package.adapt(*tables, seed=1, out=out, **SHORT)
    return out


@pytest.fixture(scope="session")
def photo_run(tmp_path_factory):
    """Pictures in class folders with names that mean harm, and their run."""
    folder, random = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for number in range(12):
        for shape, name in (("bar", "bar"), ("disc", "<img src=x onerror=alert(1)>")):
            draw(folder / "source" / name / f"{number}.png", shape, "black", random)
            draw(folder / "target" / name / f"'\"><script>alert({number})&lt;.png", shape, "navy", random)
    settings = {"backbone": "cnn", "image_size": 16, "batch_size": 4, "workers": 0, **SHORT}
    out = folder / "run"
    package.adapt(folder / "source", folder / "target", target_labels="folders", out=out, **settings)
    return out
