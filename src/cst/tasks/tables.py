"""Tables of scikit-learn's, divided into two domains: other shares of the classes, or columns on another scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cst.data.task import Task

Numbers = NDArray[np.float64]
Classes = NDArray[np.int64]
Halves = tuple[Numbers, Classes, Numbers, Classes]
"""Inputs and classes of the source, inputs and classes of the target."""


def halves(inputs: Numbers, labels: Classes, seed: int = 0) -> Halves:
    """Two halves of a table, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(inputs))
    first, second = np.array_split(order, 2)
    return inputs[first], labels[first], inputs[second], labels[second]


def with_shares(inputs: Numbers, labels: Classes, shares: list[float], seed: int) -> tuple[Numbers, Classes]:
    """As many rows as there are, for classes in these shares."""
    order = np.random.default_rng(seed).permutation(len(inputs))
    counts = np.bincount(labels, minlength=len(shares))
    size = min(count / share for count, share in zip(counts, shares, strict=True))
    kept = [order[labels[order] == c][: max(2, int(size * share))] for c, share in enumerate(shares)]
    positions = np.sort(np.concatenate(kept))
    return inputs[positions], labels[positions]


def label_shift(data: Halves, source: list[float], target: list[float]) -> Halves:
    """The halves with other shares of the classes and nothing else."""
    return (*with_shares(*data[:2], source, 1), *with_shares(*data[2:], target, 2))


def rescaled(data: Halves, seed: int = 0) -> Halves:
    """The target's columns stretched by up to a half and moved by up to a deviation, each by its own amount."""
    source, of_source, target, of_target = data
    random = np.random.default_rng(seed)
    factor = np.exp(random.uniform(-0.4, 0.4, target.shape[1]))
    move = random.uniform(-1, 1, target.shape[1]) * source.std(0)
    return source, of_source, target * factor + move, of_target


def _loaded(name: str) -> tuple[Numbers, Classes]:
    import sklearn.datasets

    inputs, labels = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    return inputs.astype(np.float64), labels.astype(np.int64)


def _falling(count: int) -> list[float]:
    shares = np.arange(count, 0, -1) ** 1.5
    return (shares / shares.sum()).tolist()  # type: ignore[no-any-return]


TABLES: dict[str, Callable[[], Halves]] = {
    "breast-cancer-30-60": lambda: label_shift(halves(*_loaded("breast_cancer")), [0.3, 0.7], [0.6, 0.4]),
    "breast-cancer-15-60": lambda: label_shift(halves(*_loaded("breast_cancer")), [0.15, 0.85], [0.6, 0.4]),
    "breast-cancer-rescaled": lambda: rescaled(halves(*_loaded("breast_cancer"))),
    "wine-rescaled": lambda: rescaled(halves(*_loaded("wine"))),
    "iris-rescaled": lambda: rescaled(halves(*_loaded("iris"))),
    "digits-shares": lambda: label_shift(halves(*_loaded("digits")), _falling(10), _falling(10)[::-1]),
}


def read_table(name: str) -> Task:
    """The task called ``name``; everything comes with scikit-learn."""
    from cst.data.domain import Domain, RowNames
    from cst.data.task import make_task

    source, of_source, target, of_target = TABLES[name]()

    def domain(inputs: Any, labels: Any = None) -> Domain:
        return Domain("arrays", inputs.astype(np.float32), RowNames(len(inputs)), labels)

    return make_task(f"tables:{name}", domain(source, of_source), domain(target), of_target)
