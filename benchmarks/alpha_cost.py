"""What selecting alpha costs: CPU time of an epoch of CST with it, as a ratio to one with a fixed alpha.

Random features of the size of Office-Home (65 classes, 2,048 values, 4,400 samples) under the MLP. One thread, epochs
of all interleaved in one process, medians. Run: python benchmarks/alpha_cost.py
"""

import argparse
import statistics
import time

import torch

from cst.config import Config
from cst.engine.callbacks import Callback
from cst.engine.loop import fit
from cst.engine.setup import Training, set_up, settle
from cst.tasks.own import task_in_memory

METHODS = ("source-only", "cycle+tsallis(alpha=1.5)", "cst")


def training(method: str, epochs: int, classes: int, dim: int, samples: int) -> Training:
    torch.manual_seed(0)
    centres, labels = torch.randn(classes, dim), torch.arange(samples) % classes
    source, target = (centres[labels] + 3 * torch.randn(samples, dim) for _ in range(2))
    task = task_in_memory((source, labels), target + 0.3)
    # The guard would look at the target twice, once in a run.
    words = {"method": method, "epochs": epochs, "warmup_epochs": 0, "ramp_epochs": 0, "guard": 0.0}
    return set_up(task, *settle(Config(**words, device="cpu"), task))


class EpochTimes(Callback):
    """CPU seconds from the end of an epoch to the end of the next."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.began = 0.0

    def on_start(self, total: int) -> None:
        self.began = time.process_time()

    def on_epoch(self, record: dict) -> None:
        self.times.append(time.process_time() - self.began)
        self.began = time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--classes", type=int, default=65)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--samples", type=int, default=4400)
    words = parser.parse_args()

    torch.set_num_threads(1)
    times: dict[str, list[float]] = {method: [] for method in METHODS}
    for _ in range(words.rounds):
        for method in METHODS:
            watch = EpochTimes()
            fit(training(method, 3, words.classes, words.dim, words.samples), callbacks=[watch])
            times[method] += watch.times[1:]  # the first epoch warms up
    fixed = statistics.median(times[METHODS[1]])
    for method, values in times.items():
        print(f"{method:<28} {statistics.median(values) / fixed:5.2f}   ({statistics.median(values):.2f} s an epoch)")


if __name__ == "__main__":
    main()
