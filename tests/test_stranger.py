"""A package of somebody else's that brings a term, a backbone and a kind of data works like ours."""

import os
import subprocess
import sys

import pytest

MODULE = '''
import torch
from torch import nn

import cst


class Coral(cst.Term):
    """Squared distance of the covariances."""

    def __init__(self, strength: float = 1.0) -> None:
        super().__init__()
        self.strength = strength

    def forward(self, step: cst.Step) -> torch.Tensor:
        source, target = (torch.cov(view.features.T) for view in (step.source, step.target))
        return self.strength * (source - target).square().mean()

    def metrics(self):
        return {"strength_of_theirs": self.strength}


def narrow(shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(torch.Size(shape).numel(), 8), nn.ReLU())
'''
ENTRY_POINTS = """[cst.terms]
theirs = their_package:Coral

[cst.backbones]
narrow = their_package:narrow
"""


@pytest.fixture
def their_place(tmp_path):
    """A folder on Python's path with the module and what pip writes beside it."""
    place = tmp_path / "site"
    record = place / "their_package-1.0.dist-info"
    record.mkdir(parents=True)
    (place / "their_package.py").write_text(MODULE)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(ENTRY_POINTS)
    return place


def run(place, *words):
    environment = {**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", "cst", *words], capture_output=True, text=True, env=environment)


def test_their_term_and_backbone_work_by_name(their_place, tmp_path):
    words = ("train", "--method", "theirs(strength=2)+cycle", "--backbone", "narrow", "--epochs", "1")
    done = run(their_place, *words, "--steps-per-epoch", "3", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    record = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert '"theirs"' in record
    assert '"strength_of_theirs": 2' in record
    assert run(their_place, "evaluate", str(tmp_path / "run")).returncode == 0
    listed = run(their_place, "methods").stdout
    assert "theirs" in listed


def test_without_their_package_the_name_is_unknown(tmp_path):
    done = run(tmp_path, "train", "--method", "theirs+cycle", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "Unknown term 'theirs'" in done.stderr


def test_a_package_that_cannot_be_imported_is_named(their_place, tmp_path):
    (their_place / "their_package.py").write_text("import no_such_module")
    done = run(their_place, "train", "--method", "theirs+cycle", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "'theirs' of the package their-package cannot be imported (ModuleNotFoundError" in done.stderr
    assert done.stderr.count("\n") == 1
