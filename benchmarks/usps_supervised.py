"""What USPS's own training labels teach of its test images, with the recipe that adapts to USPS without them.

Run: CST_DATA=... python benchmarks/usps_supervised.py --seed 0
"""

import argparse

import cst
from cst.tasks.benchmarks.digits import usps
from cst.tasks.benchmarks.files import find_data_root

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", default="runs/usps-supervised")
words = parser.parse_args()

(images, labels), (test, truth) = (usps(find_data_root(None), train=part) for part in (True, False))
adapted = cst.adapt(
    (images, labels),
    images,
    "source-only",
    "dtn",
    seed=words.seed,
    recipe="cst/digits",
    out=f"{words.out}-{words.seed}",
)
right = adapted.predict(test) == truth.numpy()
print(f"seed {words.seed}: {100 * right.mean():.2f} % of the {len(right):,} test images")
