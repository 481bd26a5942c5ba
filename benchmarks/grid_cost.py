"""What the paper's tables cost on GPUs: runs of the suites x passes over the data x what a step of each method costs.

Nothing is run. Steps are counted from the suites and the sizes of the data sets; what a step of a method costs beside
that of two heads trained jointly was measured on a CPU (benchmarks/step_cost.py, DTN, 32 + 32 images). Images a second
are those that NVIDIA publishes for training a ResNet-50 (DeepLearningExamples, resnet50v1.5: one A100, TF32 938, mixed
precision 2,470); other networks are taken to be slower by their operations. Run: python benchmarks/grid_cost.py
"""

from __future__ import annotations

import argparse
from collections import Counter

from cst.bench.suite_file import find_suite
from cst.config.recipes import RECIPES

STEP = {
    **{"source-only": 0.53, "dann": 1.05, "cdan": 1.05, "mdd": 1.01, "mcd": 6.03, "star": 6.04, "vat": 2.12},
    **{"vat+entropy": 2.11, "cdan+vat+entropy": 2.10, "dirt-t": 3.16, "mixmatch": 1.99, "fixmatch": 1.53},
    **{"fixmatch+tsallis": 1.47, "mdd+fixmatch": 1.49, "cbst": 0.98, "kld": 1.01, "afn": 1.01, "cycle": 1.00},
    **{"cst+entropy": 1.00, "cst": 1.06, "cst+sam": 2.13},
    # Not measured: a step of their sampling rules needs a whole run. By their number of passes.
    **{"mdd+ia": 1.0, "coal": 1.0, "sentry": 2.5},
}
SIZE = {
    **{"Ar": 2_427, "Cl": 4_365, "Pr": 4_439, "Rw": 4_357},
    **{"R": 16_741, "C": 3_707, "P": 6_727, "S": 5_537},  # DomainNet, 40 classes: from memory, unchecked
    **{"mnist": 60_000, "usps": 7_291, "svhn": 73_257},
}
IMAGES = {"TF32": 938.0, "mixed precision": 2_470.0}
"""A second, ResNet-50 at 224 pixels, forward and backward, one A100."""
OPERATIONS = {"resnet50": 4.1, "resnet101": 7.8, "hf:bert-base-uncased": 21.8}
"""Billions (multiply-adds) of one forward pass; of BERT with 128 tokens, 85 million weights beside its embeddings."""
TABLES = ("office-home", "sentiment", "visda", "ablation", "batch-size", "domainnet40")


def larger(task: str) -> int:
    """Samples of the larger domain: an epoch is one pass over it."""
    if task == "visda-2017":
        return 152_397
    family, _, pair = task.partition(":")
    return 2_000 if family == "amazon-reviews" else max(SIZE[side] for side in pair.split("-"))


def images(config: dict, method: str) -> float:
    """Samples of both domains that a run sends through the network and back, weighted by what a step costs."""
    return 2 * larger(config["task"]) * RECIPES[config["recipe"]]["epochs"] * STEP[method]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", choices=IMAGES, default="TF32")
    words = parser.parse_args()
    total = Counter[str]()
    print("| table | runs | GPU days, 1 GPU | wall clock, 8 GPUs | 64 GPUs | longest run, hours |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in TABLES:
        suite = find_suite(name)
        seconds, longest, runs = 0.0, 0.0, 0
        for variant in suite.variants:
            config = {**RECIPES[variant.config["recipe"]], **variant.config}
            method = variant.line if variant.line in STEP else config["method"]
            rate = IMAGES[words.precision] * OPERATIONS["resnet50"] / OPERATIONS[config["backbone"]]
            one = images(config, method) / rate
            seconds, longest, runs = seconds + variant.seeds * one, max(longest, one), runs + variant.seeds
        line(name, runs, seconds, longest)
        total.update(runs=runs, seconds=seconds)
        total["longest"] = max(total["longest"], longest)
    line("**all**", int(total["runs"]), total["seconds"], total["longest"])


def line(name: str, runs: int, seconds: float, longest: float) -> None:
    """A table cannot be over before its longest run, however many GPUs there are."""
    walls = [max(seconds / gpus, longest) for gpus in (8, 64)]
    shown = [f"{w / 86400:.1f} days" if w > 2 * 86400 else f"{w / 3600:.1f} hours" for w in walls]
    print(f"| {name} | {runs} | {seconds / 86400:.1f} | {shown[0]} | {shown[1]} | {longest / 3600:.1f} |")


if __name__ == "__main__":
    main()
