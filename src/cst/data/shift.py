"""Which kind of shift lies between two domains: other shares of the same classes, or other inputs?"""

from __future__ import annotations

from typing import Any

import numpy as np


def unexplained_by_shares(source: Any, labels: Any, target: Any) -> float:
    """How much of the distance of the two domains' moments no mixture of the source's classes explains, 0 to 1.

    Under label shift alone every moment of the target is ``sum_c pi_c m_c`` of the source's class moments, for some
    shares ``pi``. The shares that come closest are found by non-negative least squares on first and second moments of
    standardised inputs; what remains, as a part of the distance to the source's own moments, is near 0 under label
    shift and near 1 under a shift of the inputs. What the size of the target's sample makes uncertain is taken off
    both. No target label is needed.

    Args:
        source: inputs [N, ...].
        labels: of the source, 0..K-1 [N].
        target: inputs [M, ...].

    >>> random = np.random.default_rng(0)
    >>> labels = np.arange(200) % 2
    >>> source = random.normal(size=(200, 3)) + 4 * labels[:, None]
    >>> rare = random.normal(size=(200, 3)) + 4 * (np.arange(200) % 5 == 0)[:, None]
    >>> round(unexplained_by_shares(source, labels, rare), 1)
    0.0
    >>> moved, stretched = source + np.array([5, -5, 0]), 2 * source - 2
    >>> [round(unexplained_by_shares(source, labels, other)) for other in (moved, stretched)]
    [1, 1]
    """
    from scipy.optimize import nnls

    ours, theirs = (np.asarray(x, dtype=np.float64).reshape(len(x), -1) for x in (source, target))
    classes = np.asarray(labels)
    mean, deviation = ours.mean(0), ours.std(0)
    varying = deviation > 1e-6 * max(float(deviation.max()), 1e-30)
    first, second = (_moments((x - mean)[:, varying] / deviation[varying]) for x in (ours, theirs))
    of_classes = np.stack([first[classes == c].mean(0) for c in np.unique(classes)], 1)
    centre = second.mean(0)
    strict = 1e3 * (1 + np.abs(of_classes).max())  # holds the sum of the shares at one
    shares, _ = nnls(np.vstack([of_classes, np.full((1, of_classes.shape[1]), strict)]), np.append(centre, strict))
    chance = float((second.var(0) / len(second)).sum())
    rest = float(((centre - of_classes @ shares) ** 2).sum()) - chance
    whole = float(((centre - first.mean(0)) ** 2).sum()) - chance
    return min(1.0, max(0.0, rest) / whole) if whole > 0 else 0.0


def _moments(standardised: Any) -> Any:
    """First and second moments, no value beyond three deviations: a few outliers must not decide."""
    cut = standardised.clip(-3, 3)
    return np.hstack([cut, cut**2 / 2])
