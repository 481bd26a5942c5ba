"""Four jobs as their users type them, each a script in ``jobs``, on small data, with the time that each takes."""

import csv
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conftest import draw, write_csv

pytestmark = pytest.mark.acceptance
JOBS = Path(__file__).parent / "jobs"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Run a script in a folder of its own, with ``cst`` on the path and 80 columns; what it printed."""

    def run(name):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "COLUMNS": "80", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2"}
        words = ["bash", "-e"] if name.endswith(".sh") else [sys.executable]
        began = time.monotonic()
        done = subprocess.run(
            [*words, str(JOBS / name)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
        )
        print(f"\n{name}: {time.monotonic() - began:.0f} s")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout, done.stderr

    monkeypatch.chdir(tmp_path)
    return run


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_two_folders_of_photographs(job, tmp_path):
    random = np.random.default_rng(0)
    for number in range(20):
        for shape in ("bar", "disc"):
            draw(tmp_path / "photos" / shape / f"{number}.jpg", shape, "black", random, (160, 120))
            draw(tmp_path / "scans" / f"{shape}{number}.png", shape, "navy", random, (140, 170), "ivory")
    known = [[f"{shape}{number}.png", shape] for shape in ("bar", "disc") for number in range(10)]
    write_csv(tmp_path / "sorted.csv", [["file", "kind"], *known])
    out, err = job("photos.sh")
    assert "On a CPU the lower 12 layers of efficientnet-lite0 stay as they were pretrained" in err
    assert "accuracy" in out
    rows = rows_of(tmp_path / "predictions.csv")
    assert len(rows) == 40
    assert np.mean([row["file"].startswith(row["prediction"]) for row in rows]) > 0.8
    assert (tmp_path / "contact-sheet.png").is_file()
    run = tmp_path / "runs" / "scans"
    assert (run / "checkpoint.pt").stat().st_size < (run / "model.safetensors").stat().st_size / 100


def test_two_tables_of_reviews(job, tmp_path, reviews):
    (texts, stars), (others, truth) = reviews
    numbers = {"good": 5, "bad": 1}
    table = [[f"b{i}", text, numbers[star]] for i, (text, star) in enumerate(zip(texts, stars, strict=True))]
    write_csv(tmp_path / "books.csv", [["id", "review", "stars"], *table])
    write_csv(tmp_path / "pans.csv", [["id", "review"], *([f"p{i}", text] for i, text in enumerate(others))])
    job("reviews.sh")
    rows = rows_of(tmp_path / "predictions.csv")
    assert list(rows[0]) == ["row", "id", "review", "prediction", "probability", "margin"]
    right = [row["prediction"] == str(numbers[star]) for row, star in zip(rows, truth, strict=True)]
    assert np.mean(right) > 0.8


def test_two_tables_with_pandas_and_scikit_learn(job, tmp_path):
    from sklearn.datasets import load_iris

    frame, labels = load_iris(return_X_y=True, as_frame=True)
    random = np.random.default_rng(0)
    frame["site"] = random.choice(["hill", "shore"], len(frame))
    frame.insert(0, "sample_id", [f"s{i:03}" for i in range(len(frame))])
    frame["batch"] = 7
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[labels]
    half = random.permutation(len(frame)) < 90
    lab, field = frame[half].copy(), frame[~half].copy()
    field["sepal length (cm)"] += 0.4  # another ruler
    field.iloc[0, 2] = np.nan
    lab.to_csv("lab.csv", index=False)
    field.drop(columns="species").to_csv("field.csv", index=False)
    field[["species"]].to_csv("truth.csv", index=False)
    out, err = job("tables.py")
    assert "'sample_id' of the source identifies the rows and is left out" in err
    assert "has no value in 1 of 60 rows" in err
    accuracy = dict(line.rsplit(" ", 1) for line in out.splitlines() if line.startswith(("adapted", "logistic")))
    assert float(accuracy["adapted"]) > 0.85


def test_a_table_that_two_machines_share(job, tmp_path):
    out, _ = job("suite.sh")
    assert "source-only" in out
    assert list(pd.read_csv(tmp_path / "table.csv")["method"]) == ["source-only", "cst"]
    both = (tmp_path / "first.log").read_text() + (tmp_path / "second.log").read_text()
    assert both.count("left to the process that trains it") >= 1
