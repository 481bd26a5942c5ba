"""A training that is killed 25 times, in mid-step or in mid-write, ends as one that nobody touched, bit for bit."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.acceptance
def test_killed_25_times_a_run_ends_as_if_nothing_had_been(tmp_path):
    kept = tmp_path / "kills.json"
    words = [sys.executable, KILLS, "--kills", "25", "--methods", "cst+fixmatch,mean-teacher", "--keep", kept]
    found = subprocess.run(words, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    results = json.loads(kept.read_text()).values()
    assert sum(result["kills"] for result in results) == 25
    assert sum(result["in_epoch"] for result in results) > 5, "most goes on within an epoch"
    for result in results:
        assert result["identical"] == result["runs"] > 0
