"""Theorems 3 and 4 as a table: many target samples, how often each algorithm finds the truth, what was promised."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cst.theory.hard_case import descent, promises
from cst.theory.hard_case.algorithms import (
    cycle_losses,
    cycle_self_training,
    feature_adaptation,
    feature_distances,
    self_training,
)
from cst.theory.hard_case.distributions import SOURCE, TARGET
from cst.theory.hard_case.network import source_solution, target_error

RECOVERS = "recovers the truth"
CHUNK = 2_000_000
"""Numbers of one batch of target samples: bounds the memory, not the result."""


@dataclass(frozen=True)
class Share:
    """In how many trials something happened, with a 95 % confidence interval (Clopper and Pearson)."""

    algorithm: str
    event: str
    solved: str
    hits: int
    trials: int
    promised: str
    exact: float | None

    @property
    def share(self) -> float:
        """The share of trials."""
        return self.hits / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval."""
        from scipy.stats import binomtest

        limits = binomtest(self.hits, self.trials).proportion_ci(0.95, "exact")
        return float(limits.low), float(limits.high)

    def record(self) -> dict[str, Any]:
        """For JSON."""
        low, high = self.interval
        fields = {**self.__dict__, "share": self.share, "low": low, "high": high}
        return {key: round(value, 6) if isinstance(value, float) else value for key, value in fields.items()}


@dataclass(frozen=True)
class Quantity:
    """A number of the proofs: its exact value, the mean over trials where it depends on the sample, what is printed."""

    name: str
    exact: float
    mean: float | None
    printed: float

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {key: round(value, 6) if isinstance(value, float) else value for key, value in self.__dict__.items()}


def exact_trials(d: int, n: int, trials: int, seed: int = 0) -> tuple[list[Share], list[Quantity]]:
    """Draw ``trials`` target samples of size ``n`` and solve each algorithm exactly over the classes of Lemma 8.

    >>> shares, _ = exact_trials(d=11, n=20, trials=1000)
    >>> [(share.algorithm, round(share.share, 1)) for share in shares]
    [('feature adaptation', 0.8), ('self-training', 0.1), ('CST', 1.0)]
    """
    generator = _generator(seed, d, n, 0)
    algorithms: dict[str, Callable[[Tensor, torch.Generator], Tensor]] = {
        "feature adaptation": feature_adaptation,
        "self-training": self_training,
        "CST": cycle_self_training,
    }
    chosen: dict[str, list[Tensor]] = {name: [] for name in algorithms}
    distances, losses = [], []
    for size in _chunks(trials, n * d):
        samples = TARGET.sample((size, n), d, generator)
        for name, algorithm in algorithms.items():
            chosen[name].append(algorithm(samples, generator))
        distances.append(feature_distances(samples))
        losses.append(cycle_losses(samples))
    shares = [_share(name, "exactly", torch.cat(coordinates), d, n) for name, coordinates in chosen.items()]
    return shares, _quantities(torch.cat(distances).mean(0), torch.cat(losses).mean(0))


def descent_trials(d: int, n: int, trials: int, starts: int, seed: int = 0) -> list[Share]:
    """The same by gradient descent, with ``starts`` random starts for each of ``trials`` target samples."""
    generator = _generator(seed, d, n, starts)
    samples = TARGET.sample((trials, n), d, generator)
    best, single = descent.cycle_by_descent(samples, starts, generator)
    nearest = descent.adaptation_by_descent(samples, starts, generator)
    trained = descent.self_training_by_descent(samples.repeat_interleave(starts, 0), generator)
    hits = int((single == 2).sum())
    return [
        _share("feature adaptation", f"descent, best of {starts}", nearest, d, n),
        _share("self-training", "descent", trained, d, n),
        _share("CST", f"descent, best of {starts}", best, d, n),
        Share("CST", RECOVERS, "descent, any start", hits, single.numel(), "-", None),
    ]


def _share(algorithm: str, solved: str, coordinates: Tensor, d: int, n: int) -> Share:
    """How often the coordinates that an algorithm chose are what a theorem says, and what it says."""
    right, wrong, trials = int((coordinates == 2).sum()), int((coordinates > 2).sum()), len(coordinates)
    if algorithm == "feature adaptation":
        exact = promises.adaptation_errs(n, d) if n <= promises.MOST_POINTS else None
        promised = _at_least(promises.adaptation_errs_printed(n))
        return Share(algorithm, "errs by 0.5 on Q", solved, wrong, trials, promised, exact)
    if algorithm == "self-training":
        chance = promises.training_recovers(d)
        return Share(algorithm, RECOVERS, solved, right, trials, f"{chance:.3f}", chance)
    promised = _at_least(promises.cycle_recovers_printed(n))
    return Share(algorithm, RECOVERS, solved, right, trials, promised, promises.cycle_recovers(n))


def _quantities(distances: Tensor, losses: Tensor) -> list[Quantity]:
    """Means over trials of classes 2 and 3 beside the values for the whole of Q, from d = 3 without loss."""
    counts = torch.tensor([[1, 1, 1, 1]])
    good, spurious = (float(value) for value in promises.cell_distances(counts))
    networks = [source_solution(coordinate, 3) for coordinate in (2, 3)]
    errors = [float(target_error(network)) for network in networks]
    zero = SOURCE.expected_square(networks[1].matrix)
    return [
        Quantity("total variation of features, l = 2", good, float(distances[0]), 0.56),
        Quantity("total variation of features, l > 2", spurious, float(distances[1]), 0.40),
        Quantity("cycle loss, l = 2", 0.0, float(losses[0]), 0.0),
        Quantity("cycle loss, l > 2", float(zero), float(losses[1]), 0.18),
        Quantity("error on Q, l = 2", errors[0], None, 0.0),
        Quantity("error on Q, l > 2", errors[1], None, 0.5),
    ]


def _at_least(bound: float) -> str:
    """A lower bound, rounded down."""
    return f"at least {math.floor(1000 * bound) / 1000:.3f}"


def _generator(*numbers: int) -> torch.Generator:
    """Tables of different sizes are independent, whatever their seed."""
    state = np.random.SeedSequence(numbers).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(state[0] >> np.uint64(1)))


def _chunks(trials: int, numbers: int) -> list[int]:
    size = max(1, CHUNK // numbers)
    return [min(size, trials - start) for start in range(0, trials, size)]
