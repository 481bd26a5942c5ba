"""The notebooks run from top to bottom, each in a kernel of its own, without a network."""

import os
import resource
from pathlib import Path

import pytest

pytestmark = pytest.mark.acceptance
nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
BOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("file", BOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    book = nbformat.read(file, as_version=4)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    nbclient.NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    print(f"\n{file.stem}: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before:.0f} CPU seconds")
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    words = "".join(output.get("text", "") for output in outputs)
    assert any(word in words for word in ("adapted", "no clear gain"))
