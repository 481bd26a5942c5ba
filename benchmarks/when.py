"""When adapting helps: number of classes, batch size, label shift; source-only against cst, our defaults.

Features of a frozen ResNet-50 under an MLP (Office-Home, Office-31; CST_DATA names their folder) and scikit-learn's
digits. Accuracy on the target at the last epoch. Run: python benchmarks/when.py --out when.json --figure when.png
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cst
from cst.tasks.catalogue import named_task
from cst.tasks.tables import halves, with_shares

METHODS = ("source-only", "cst")
Arrays = tuple[Any, Any, Any, Any]
Case = tuple[str, str, float, Arrays, dict[str, Any]]
"""Study, line, place on its axis, source, labels, target, labels, and settings."""


def features(name: str) -> Arrays:
    task = named_task(name)
    truth = task.oracle.target_labels
    assert truth is not None
    return np.asarray(task.source.items), task.labels.numpy(), np.asarray(task.target.items), truth.numpy()


def first_classes(data: Arrays, count: int) -> Arrays:
    source, labels, target, truth = data
    return source[labels < count], labels[labels < count], target[truth < count], truth[truth < count]


def falling(classes: int, exponent: float) -> list[float]:
    shares = np.arange(classes, 0, -1.0) ** exponent
    return list(shares / shares.sum())


def cases() -> Iterator[Case]:
    for pair in ("Ar-Cl", "Cl-Pr"):
        data = features(f"office-home-features:{pair}")
        for count in (5, 15, 30, 65):
            yield "classes", f"Office-Home {pair}", count, first_classes(data, count), {}
        for size in (32, 64, 128, 256):
            yield "batch size", f"Office-Home {pair}", size, data, {"batch_size": size, "steps_per_epoch": 68}
    data = features("office-31-features:A-W")
    for exponent in (0.0, 0.5, 1.0, 2.0):
        target, truth = with_shares(data[2], data[3], falling(31, exponent), seed=1)
        yield "label shift", "Office-31 A-W, target's classes fall", exponent, (*data[:2], target, truth), {}
    from sklearn.datasets import load_digits

    inputs, labels = load_digits(return_X_y=True)
    for exponent in (0.0, 0.5, 1.0, 2.0):
        first, second = halves(inputs, labels)[:2], halves(inputs, labels)[2:]
        source = with_shares(*first, falling(10, exponent), seed=1)
        target = with_shares(*second, falling(10, exponent)[::-1], seed=2)
        yield "label shift", "digits, nothing but shares reversed", exponent, (*source, *target), {}


def accuracy(method: str, data: Arrays, seed: int, settings: dict[str, Any]) -> float:
    source, labels, target, truth = data
    arrays = [part.astype(np.float32) for part in (source, target)]
    adapted = cst.adapt((arrays[0], labels), arrays[1], method, seed=seed, progress=False, **settings)
    return float((adapted.predict(arrays[1]) == truth).mean())


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    studies = list(dict.fromkeys(row["study"] for row in rows))
    figure, axes = pyplot.subplots(1, len(studies), figsize=(4.2 * len(studies), 3.4), squeeze=False)
    labels = {"label shift": "exponent of the classes' shares"}
    for axis, study in zip(axes[0], studies, strict=True):
        lines = list(dict.fromkeys(row["line"] for row in rows if row["study"] == study))
        for number, line in enumerate(lines):
            for method, style in zip(METHODS, ("--", "-"), strict=True):
                points = [r for r in rows if (r["study"], r["line"], r["method"]) == (study, line, method)]
                places = sorted({point["place"] for point in points})
                means = [100 * np.mean([p["accuracy"] for p in points if p["place"] == place]) for place in places]
                axis.plot(places, means, style, marker="o", color=f"C{number}", label=f"{line}, {method}")
        axis.set(title=study, xlabel=labels.get(study, study), ylabel="accuracy, %" if study == studies[0] else "")
        if study != "label shift":
            axis.set_xscale("log", base=2)
        places = sorted({row["place"] for row in rows if row["study"] == study})
        axis.set_xticks(places, [f"{place:g}" for place in places])
        axis.legend(fontsize=6, loc="best" if study != "batch size" else "center left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    words = parser.parse_args()

    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = json.loads(words.out.read_text()) if words.out.is_file() else []
    finished = {(r["study"], r["line"], r["place"], r["method"], r["seed"]) for r in rows}
    for study, line, place, data, settings in cases():
        for method in METHODS:
            for seed in range(words.seeds):
                if (study, line, place, method, seed) in finished:
                    continue
                value = accuracy(method, data, seed, settings)
                rows.append(
                    {"study": study, "line": line, "place": place, "method": method, "seed": seed, "accuracy": value}
                )
                words.out.write_text(json.dumps(rows))
                print(f"{study:<12} {line:<38} {place:>6g} {method:<12} seed {seed}  {100 * value:.1f}", flush=True)
    if words.figure:
        draw(rows, words.figure)


if __name__ == "__main__":
    main()
