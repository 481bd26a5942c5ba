"""The package as strangers get it: built, installed into an empty environment, used far from the checkout."""

import csv
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
OURS = ("__pycache__", "*_cache", "*.egg-info", ".git", ".venv", "build", "dist", "runs")
EXTRAS = {"images", "text", "tables", "ray", "serve", "onnx", "docs", "dev", "all"}
MOST_MEGABYTES = 400

SIZES = """
import importlib.metadata as metadata, re, sys

def needs(name, known):
    name = re.sub("[-_.]+", "-", name).lower()
    if name not in known:
        known[name] = metadata.distribution(name)
        for line in known[name].requires or ():
            package, extra = re.match("([A-Za-z0-9._-]+)", line)[1], "extra ==" in line
            try:
                extra or needs(package, known)
            except metadata.PackageNotFoundError:
                pass
    return known

torchs, total = needs("torch", {}), 0
for found in metadata.distributions():
    name = re.sub("[-_.]+", "-", found.name).lower()
    if name not in torchs and name != "pip":
        total += sum(file.locate().stat().st_size for file in found.files or () if file.locate().is_file())
print(total / 1e6)
"""
IMPORTS = """
import importlib, pkgutil
import cst
for module in pkgutil.walk_packages(cst.__path__, "cst."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(cst.__file__)
"""

pytestmark = pytest.mark.acceptance


def run(*words, where):
    """A command that knows nothing of this process; what it printed."""
    strange = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in strange}
    done = subprocess.run(list(map(str, words)), cwd=where, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The two files, and what building them said, from a copy without what this checkout has made."""
    place = tmp_path_factory.mktemp("build")
    checkout = shutil.copytree(ROOT, place / "checkout", ignore=shutil.ignore_patterns(*OURS))
    said = run(sys.executable, "-m", "build", "--outdir", place / "dist", where=checkout)
    return *sorted((place / "dist").iterdir()), said


def test_the_files_hold_what_they_should(built):
    wheel, sdist, said = built
    assert "warning" not in said.lower()
    assert "PASSED" in run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", wheel, sdist, where=ROOT)
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {str(file.relative_to(ROOT / "src")) for file in (ROOT / "src/cst").rglob("*") if file.is_file()}
    package = {name for name in package if "__pycache__" not in name}
    assert names >= package
    assert "cst/py.typed" in names
    others = {name for name in names - package if ".dist-info/" not in name}
    assert not others
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)
    metadata = PathDistribution(zipfile.Path(wheel) / next(n for n in names if n.endswith("METADATA")).split("/")[0])
    assert set(metadata.metadata.get_all("Provides-Extra")) >= EXTRAS
    with tarfile.open(sdist) as archive:
        kept = {name.partition("/")[2] for name in archive.getnames()}
    assert kept >= {
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "constraints-cpu.txt",
        "tests/conftest.py",
        "docs/install.md",
    }
    assert {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("*.py")} <= kept
    assert not [name for name in kept if name.endswith((".pt", ".safetensors", ".npz", ".parquet", ".pyc"))]
    assert sdist.stat().st_size < 3e6


def test_it_works_in_an_empty_environment(built, tmp_path):
    wheel, *_ = built
    run(sys.executable, "-m", "venv", tmp_path / "env", where=tmp_path)
    python, cst = tmp_path / "env/bin/python", tmp_path / "env/bin/cst"
    run(python, "-m", "pip", "install", "-c", ROOT / "constraints-cpu.txt", wheel, where=tmp_path)
    run(python, "-m", "pip", "check", where=tmp_path)
    away = tmp_path / "away"
    away.mkdir()
    assert "Adapt a classifier" in run(cst, "--help", where=away)
    assert str(tmp_path / "env") in run(python, "-c", IMPORTS, where=away)
    megabytes = float(run(python, "-c", SIZES, where=away))
    print(f"\nBesides PyTorch and what it requires: {megabytes:.0f} MB")
    assert megabytes < MOST_MEGABYTES

    random = np.random.default_rng(0)
    for name, count, shift in (("source", 120, 0.0), ("target", 90, 0.4)):
        with (away / f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["length", "width", "species"] if name == "source" else ["length", "width"])
            for length, width in random.normal(size=(count, 2)) + shift:
                rows.writerow([length, width, *["long" if length > 0 else "short"] * (name == "source")])
    data = ("--source", "source.csv", "--target", "target.csv", "--label", "species")
    run(cst, "train", *data, "--epochs", "2", "--out", "run", where=away)
    said = run(cst, "predict", "run", "--input", "target.csv", "--out", "predictions.csv", where=away)
    assert "90 predictions" in said
    with (away / "predictions.csv").open(newline="") as file:
        predictions = list(csv.DictReader(file))
    assert len(predictions) == 90
    assert {row["prediction"] for row in predictions} <= {"long", "short"}
