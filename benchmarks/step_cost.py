"""What a step of CST costs, as a ratio to training two heads jointly: the paper says "as fast as".

CPU time of one thread, steps interleaved in one process, medians. Run: python benchmarks/step_cost.py
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import cst
from cst.config import Config
from cst.engine.setup import Training, set_up, settle
from cst.functional import pseudo_labels
from cst.tasks.own import task_in_memory

METHODS = ("joint", "cycle", "cycle+tsallis(alpha=1.5)", "cst+sam", "cst-official")


@cst.register("joint")
class Joint(cst.Term):
    """A second linear head with cross-entropy to the pseudo-labels, on the same features."""

    def setup(self, problem: cst.Problem) -> None:
        super().setup(problem)
        self.head = nn.Linear(problem.feature_dim, problem.num_classes)

    def forward(self, step: cst.Step) -> Tensor:
        return F.cross_entropy(self.head(step.target.features), pseudo_labels(step.target.logits))


def training(method: str, backbone: str, side: int, batch: int) -> Training:
    torch.manual_seed(0)
    images, labels = torch.rand(4 * batch, 3, side, side), torch.arange(4 * batch) % 10
    task = task_in_memory((images, labels), images.flip(0))
    # All terms from the first step: in a warm-up only the source's counts, and the others cost nothing.
    settings = {"backbone": backbone, "batch_size": batch, "warmup_epochs": 0, "ramp_epochs": 0, "device": "cpu"}
    made = set_up(task, *settle(Config(method=method, **settings), task))
    made.objective.train()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbone", default="dtn")
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--methods", default=",".join(METHODS), help="commas between; joint among them")
    words = parser.parse_args()
    methods = words.methods.split(",")

    torch.set_num_threads(1)
    runs = {method: training(method, words.backbone, words.side, words.batch) for method in methods}
    times: dict[str, list[float]] = {method: [] for method in methods}
    for number in range(words.rounds + 2):
        for method, run in runs.items():
            step = cst.Step(run.model, run.feed.batch(number % 4), run.objective.views)
            began = time.process_time()
            run.update.take(run.module, step)
            if number >= 2:  # the first rounds warm up
                times[method].append(time.process_time() - began)
    base = statistics.median(times["joint"])
    for method, values in times.items():
        print(f"{method:<28} {statistics.median(values) / base:5.2f}   ({1000 * statistics.median(values):.0f} ms)")


if __name__ == "__main__":
    main()
