"""What a step of CST costs, as a ratio to training two heads jointly: the paper says "as fast as".

CPU time of one thread, steps interleaved in one process, medians. Run: python benchmarks/step_cost.py
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import cst.terms
from cst.config import Config
from cst.data.arrays import task_from
from cst.engine.fit import Trainer
from cst.engine.train import build_model, resolve
from cst.functional import pseudo_labels
from cst.terms.contract import Problem, Step, Term

METHODS = ("joint", "cycle", "cycle+tsallis(alpha=1.5)", "cst+sam", "cst-official")


class Joint(Term):
    """A second linear head with cross-entropy to the pseudo-labels, on the same features."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.head = nn.Linear(problem.feature_dim, problem.num_classes)

    def forward(self, step: Step) -> Tensor:
        return F.cross_entropy(self.head(step.target.features), pseudo_labels(step.target.logits))


def trainer(method: str, backbone: str, side: int, batch: int) -> Trainer:
    torch.manual_seed(0)
    images, labels = torch.rand(4 * batch, 3, side, side), torch.arange(4 * batch) % 10
    task = task_from((images, labels), images.flip(0))
    config, parsed = resolve(Config(method=method, backbone=backbone, batch_size=batch, device="cpu"), task)
    model, dim, _ = build_model(task, config)
    made = Trainer(model, task, parsed, config, dim)
    made.learner.train()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backbone", default="dtn")
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()

    torch.set_num_threads(1)
    cst.terms.TERMS["joint"] = "__main__:Joint"
    trainers = {method: trainer(method, given.backbone, given.side, given.batch) for method in METHODS}
    times: dict[str, list[float]] = {method: [] for method in METHODS}
    for number in range(given.rounds + 2):
        for method, each in trainers.items():
            step = each._step(number % 4)
            began = time.process_time()
            each.update.take(each.wrapped, step)
            if number >= 2:  # the first rounds warm up
                times[method].append(time.process_time() - began)
    base = statistics.median(times["joint"])
    for method, values in times.items():
        print(f"{method:<28} {statistics.median(values) / base:5.2f}   ({1000 * statistics.median(values):.0f} ms)")


if __name__ == "__main__":
    main()
