"""What validators cost: CPU seconds of each on two domains of random features, float32, on one thread.

Run: python benchmarks/validators_cost.py --samples 5000 --dim 512, or without options for 50,000 x 2,048.
"""

import argparse
import resource
import time

import torch

from cst.selection import VALIDATORS, Mixed, Outputs


def random_outputs(samples: int, dim: int, classes: int) -> Outputs:
    """Groups with noise about them, the second domain moved, in both as many samples."""
    generator = torch.Generator().manual_seed(0)

    def noise(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    centres, labels = noise(classes, dim), torch.arange(samples) % classes
    source, target = (noise(samples, dim).add_(centres[labels]).add_(move) for move in (0.0, 0.1))
    logits = [features @ centres.mT / dim**0.5 for features in (source, target)]
    mixed = Mixed(torch.randperm(samples, generator=generator), 0.55, logits[1] + noise(samples, classes))
    return Outputs(source, labels, logits[0], target, logits[1], logits[1] + noise(samples, classes), mixed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50_000)
    parser.add_argument("--dim", type=int, default=2048)
    parser.add_argument("--classes", type=int, default=65)
    words = parser.parse_args()

    torch.set_num_threads(1)
    outputs = random_outputs(words.samples, words.dim, words.classes)
    total = 0.0
    for name, validator in VALIDATORS.items():
        began = time.process_time()
        score = validator.score(outputs)
        seconds = time.process_time() - began
        total += seconds
        print(f"{name:<26} {seconds:7.2f} s   score {score:8.4f}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{'all':<26} {total:7.2f} s   peak memory {peak:.1f} GB, data and torch included")


if __name__ == "__main__":
    main()
