"""What folding constants saves: CPU time of a pass through frozen image layers, as a ratio to the layers as they are.

Random pictures, 32 at a time, one thread, both interleaved in one process, medians; randomly initialised networks cost
what pretrained ones do. Run: python benchmarks/frozen_cost.py
"""

import argparse
import statistics
import time

import torch
from torch import nn

from cst.data.inference import WORTH, quick
from cst.models.pretrained import image_backbone

CASES = (("resnet50", 224, None), ("resnet50", 128, 14), ("efficientnet-lite0", 160, 12))
"""Backbone, side of the pictures, how many of its layers."""


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    words = parser.parse_args()
    torch.set_num_threads(1)
    for name, side, count in CASES:
        torch.manual_seed(0)
        steps = image_backbone(name, "none")
        plain = nn.Sequential(steps.standardize(), *steps.layers[:count]).eval()
        pictures = torch.rand(32, 3, side, side)
        fast = quick(plain, pictures[:8], WORTH)
        assert fast is not plain
        times: dict[str, list[float]] = {"plain": [], "quick": []}
        for _ in range(words.rounds + 1):  # the first round warms up
            for which, network in (("plain", plain), ("quick", fast)):
                start = time.process_time()
                network(pictures)
                times[which].append((time.process_time() - start) / len(pictures))
        medians = {which: statistics.median(taken[1:]) for which, taken in times.items()}
        difference = (fast(pictures) - plain(pictures)).abs().max() / plain(pictures).abs().max()
        print(
            f"{name}, {side} pixels, {count or 'all'} layers: {medians['quick'] / medians['plain']:.2f} of "
            f"{medians['plain']:.3f} CPU s an image; outputs differ by {difference:.0e} of the largest"
        )


if __name__ == "__main__":
    main()
