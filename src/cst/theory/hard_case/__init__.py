"""The hard case of Section 4.2: two domains, a quadratic network, and three algorithms that pick a source solution.

Coordinates are numbered as in the paper, from 1: a source solution has the form ``x_1^2 - x_l^2`` for a coordinate
``l`` from 2 to d, and only ``l = 2`` is right on the target.
"""

from cst.theory.hard_case.algorithms import (
    cycle_losses,
    cycle_self_training,
    feature_adaptation,
    feature_distances,
    minimum_norm_head,
    self_training,
)
from cst.theory.hard_case.distributions import SOURCE, TARGET, Domain
from cst.theory.hard_case.network import MINIMUM_NORM, Network, source_solution, target_error

__all__ = [
    "MINIMUM_NORM",
    "SOURCE",
    "TARGET",
    "Domain",
    "Network",
    "cycle_losses",
    "cycle_self_training",
    "feature_adaptation",
    "feature_distances",
    "minimum_norm_head",
    "self_training",
    "source_solution",
    "target_error",
]
