"""Does a run that is killed again and again end as the one that nobody touched, bit for bit?

    python benchmarks/kills.py --kills 200 --keep kills.json

Each method is trained once without interruption, and then in processes that are killed at random moments and resumed
until the run is finished: weights, verdict, scores and records must be the same, but for the times. Methods take turns,
a run each, until each has had its part of the kills. What is done is kept in a file; the same command goes on where it
was stopped. Processes are forked from this one, which has imported everything, so that a start costs a tenth of a
second and not two; ``--fresh`` starts ``python -m cst train`` instead.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import numpy as np

METHODS = {
    # What each of them keeps between steps, beside weights and the optimizer.
    "cst": (),  # alpha, gathered features, a warm-up of open length
    "cst+fixmatch": ("--select", "snd"),  # strong views, the best epoch so far, counts of an epoch
    "mean-teacher": ("--optimizer", "adamw"),  # a moving average, strong views, two moments
    "kld": ("--batch-size", "12"),  # labels of the whole target, in rounds
    "dirt-t": ("--epochs", "4"),  # a teacher that begins late
    "mcd": ("--select", "verdict"),  # alternating updates, the source model to go back to
    "star": ("--hold-out", "0.2"),  # noise in every pass
    "mdd+ia": (),  # batches by pseudo-labels of the epoch's start
    "sentry": ("--augment", "mild"),  # recent predictions, a committee
    "mixmatch+sam": (),  # mixtures, two passes a step
}
SHORT = ("--epochs", "4", "--steps-per-epoch", "7", "--batch-size", "16", "--backbone", "cnn", "--workers", "0")
TIMES = ("seconds", "cpu_seconds")
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
CODES = {"kill": (-9,), "term": (143, -15), "int": (130, -2)}
"""How a process ends that was stopped so; by the signal itself while it was starting."""


def images(file: Path, count: int, seed: int, labelled: bool) -> Path:
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    pictures = 0.4 * rng.random((count, 1, 8, 8)) + 0.1 * seed
    for picture, label in zip(pictures, labels, strict=True):
        picture[:, 2 * label : 2 * label + 2] += 0.4
    np.savez(file, X=pictures.astype(np.float32), **({"y": labels} if labelled else {}))
    return file


def begin(words: list[str], fresh: bool, said: Path) -> tuple[int, Callable[[], int | None]]:
    """Start a training and return its number, and what asks for its exit code; ``said`` gets what it says."""
    if fresh:
        with said.open("w") as file:
            process = subprocess.Popen([sys.executable, "-m", "cst", *words], stdout=file, stderr=file)
        return process.pid, process.poll
    pid = os.fork()
    if pid == 0:
        _train(words, said)
    code: list[int] = []

    def poll() -> int | None:
        if not code:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                code.append(os.waitstatus_to_exitcode(status))
        return code[0] if code else None

    return pid, poll


def _train(words: list[str], said: Path) -> None:
    """In the forked process: the command, as it is, and nothing after it."""
    from cst.cli.main import main

    code = 1
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which is ignored in the background
    with said.open("w", buffering=1) as sys.stdout:
        sys.stderr = sys.stdout
        try:
            main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
    os._exit(code)


def to_end(words: list[str], fresh: bool, said: Path, stop: tuple[float, int] | None = None) -> tuple[int, float]:
    """The exit code and the seconds of one process, which gets a signal after so many seconds."""
    began = time.perf_counter()
    pid, poll = begin(words, fresh, said)
    while (code := poll()) is None:
        now = time.perf_counter() - began
        if stop and now >= stop[0]:
            os.kill(pid, stop[1])
            stop = None
        time.sleep(0.002)
    return code, time.perf_counter() - began


def ending(folder: Path) -> list[Any]:
    """All that a finished run says, without the times."""
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    records = [{key: value for key, value in record.items() if key not in TIMES} for record in records]
    files = [(folder / name).read_bytes() for name in ("model.safetensors", "result.json", "after.safetensors")]
    left = sorted(path.name for path in folder.iterdir() if path.name != ".lock")
    return [*files, records, left]


class Trial:
    """Runs of one method, all of which must end as the first, which nobody touches."""

    def __init__(self, folder: Path, words: list[str], how: argparse.Namespace, result: dict[str, Any]) -> None:
        self.broken, self.said, self.how, self.result = folder / "broken", folder / "said.txt", how, result
        self.begun = ["train", *words, "--checkpoint-every", str(how.every)]
        self.random = random.Random(f"{how.seed} {result}")
        folder.mkdir()
        code, self.seconds = to_end([*self.begun, "--out", str(folder / "whole")], how.fresh, self.said)
        if code:
            raise SystemExit(f"{result['method']} failed with exit code {code}: {self.said.read_text()}")
        self.expected = ending(folder / "whole")

    def run(self, kills: int) -> None:
        """One run, killed and resumed until it is finished; no more than so many times in all."""
        result, how = self.result, self.how
        shutil.rmtree(self.broken, ignore_errors=True)
        killed = in_epoch = 0
        while True:
            words = [*self.begun, "--out", str(self.broken)]
            if (self.broken / "config.yaml").is_file():
                words = ["train", "--resume", str(self.broken), "--checkpoint-every", str(how.every)]
            stop = (self.random.uniform(0, self.seconds), SIGNALS[how.signal])
            code, _ = to_end(words, how.fresh, self.said, stop if result["kills"] + killed < kills else None)
            if code == 0:
                break
            if code not in CODES[how.signal]:
                after = f"with exit code {code} after {killed} kills"
                raise SystemExit(f"{result['method']} failed {after}: {self.said.read_text()}")
            killed += 1
            in_epoch += is_in_epoch(self.broken)
        same = ending(self.broken) == self.expected
        for name, value in {"kills": killed, "in_epoch": in_epoch, "runs": 1, "identical": int(same)}.items():
            result[name] += value


def is_in_epoch(folder: Path) -> bool:
    """Whether the run goes on within an epoch."""
    from cst.engine.run import Run

    state = Run(folder).load_checkpoint()
    return bool(state and state.get("within"))


def show(results: dict[str, dict[str, Any]]) -> bool:
    print("| method | kills | resumed within an epoch | runs | bit-identical |\n| --- | ---: | ---: | ---: | ---: |")
    names = ("kills", "in_epoch", "runs", "identical")
    for method, result in results.items():
        print(f"| `{method}` | " + " | ".join(str(result[name]) for name in names) + " |")
    total = {name: sum(result[name] for result in results.values()) for name in names}
    print("| all | " + " | ".join(str(total[name]) for name in names) + " |")
    return total["identical"] == total["runs"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="of all methods together")
    parser.add_argument("--methods", default=",".join(METHODS), help="names with commas between")
    parser.add_argument("--every", type=int, default=2, help="steps between checkpoints")
    parser.add_argument("--signal", choices=SIGNALS, default="kill")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--fresh", action="store_true", help="a new interpreter for each process")
    parser.add_argument("--keep", type=Path, help="file for what is done, of one command")
    how = parser.parse_args()
    if not how.fresh:
        import torch

        import cst
        from cst.cli import main as _  # noqa: F401
        from cst.engine import progress, setup, train  # noqa: F401

        assert cst, torch
        import lightning_fabric  # noqa: F401
        import safetensors.torch  # noqa: F401
        import sklearn.metrics  # noqa: F401
    methods = how.methods.split(",")
    results = json.loads(how.keep.read_text()) if how.keep and how.keep.is_file() else {}
    parts = [how.kills * number // len(methods) for number in range(len(methods) + 1)]
    quotas = dict(zip(methods, (after - before for before, after in pairwise(parts)), strict=True))
    for method in methods:
        results.setdefault(method, {"method": method, "kills": 0, "in_epoch": 0, "runs": 0, "identical": 0})
    with tempfile.TemporaryDirectory() as place:
        source = images(Path(place) / "source.npz", 60, 0, labelled=True)
        target = images(Path(place) / "target.npz", 45, 1, labelled=False)
        trials: dict[str, Trial] = {}
        while waiting := [method for method in methods if results[method]["kills"] < quotas[method]]:
            for method in waiting:  # in turns, so that each has its part at any time
                result = results[method]
                if method not in trials:
                    words = ["--source", str(source), "--target", str(target), "--method", method]
                    trials[method] = Trial(
                        Path(place) / method, [*words, *SHORT, *METHODS.get(method, ())], how, result
                    )
                trials[method].run(quotas[method])
                print(json.dumps(result), file=sys.stderr, flush=True)
                if how.keep:
                    how.keep.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    sys.exit(0 if show(results) else 1)


if __name__ == "__main__":
    main()
