"""Which kind of shift lies between two domains: other shares of the same classes, or other inputs?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

COLUMNS = 256
"""Inputs that are looked at, evenly spaced among all."""
ROWS = 100_000
"""Samples of a domain that are looked at, evenly spaced: enough for moments."""
SHRINKAGE = 0.3
"""Part of a multiple of the identity in the covariance within classes."""


def unexplained_by_shares(source: Any, labels: Any, target: Any) -> float:
    """How much of the distance of the two domains' moments no mixture of the source's classes explains, 0 to 1.

    Under label shift alone every moment of the target is ``sum_c pi_c m_c`` of the source's class moments, for some
    shares ``pi``. The shares that come closest are found by non-negative least squares on first and second moments;
    what remains, as a part of the distance to the source's own moments, is near 0 under label shift and near 1 under a
    shift of the inputs. Moments are whitened by their covariance within classes: there a shift of the inputs has as
    many directions as there are moments, and K classes explain K - 1 of them. Without it many classes explain any
    shift, since moments that vary together count again and again. What samples of this size make uncertain, of the
    target's moments and of the classes', is taken off. No target label is needed.

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
    classes = np.unique(_some_rows(np.asarray(labels)), return_inverse=True)[1]
    ours, theirs = _moments(_some_columns(source), _some_columns(target))
    if not ours.size:  # nothing varies
        return 0.0
    counts = np.bincount(classes)
    means = np.stack([ours[classes == c].mean(0) for c in range(len(counts))])
    whiten = _whitening(ours - means[classes])
    means, centre, before = means @ whiten, theirs.mean(0) @ whiten, ours.mean(0) @ whiten
    shares = _closest_mixture(means, centre)
    of_target = float((theirs @ whiten).var(0).sum()) / len(theirs)
    of_classes = float((shares**2 / counts).sum()) * len(centre)  # a whitened moment varies by one within a class
    rest = float(((centre - shares @ means) ** 2).sum()) - of_target - of_classes
    whole = float(((centre - before) ** 2).sum()) - of_target
    return min(1.0, max(0.0, rest) / whole) if whole > 0 else 0.0


def _some_rows(values: NDArray[Any]) -> NDArray[Any]:
    some: NDArray[Any] = values[np.linspace(0, len(values) - 1, ROWS).astype(int)] if len(values) > ROWS else values
    return some


def _some_columns(inputs: Any) -> Numbers:
    rows = _some_rows(np.asarray(inputs))
    flat = rows.reshape(len(rows), -1)
    places = np.linspace(0, flat.shape[1] - 1, min(COLUMNS, flat.shape[1])).round().astype(int)
    return flat[:, places].astype(np.float64)


def _moments(ours: Numbers, theirs: Numbers) -> tuple[Numbers, Numbers]:
    """First and second moments in the source's scale, no value beyond three deviations: outliers must not decide."""
    mean, deviation = ours.mean(0), ours.std(0)
    varying = deviation > 1e-6 * max(float(deviation.max()), 1e-30)
    ours, theirs = (((x - mean)[:, varying] / deviation[varying]).clip(-3, 3) for x in (ours, theirs))
    return np.hstack([ours, ours**2 / 2]), np.hstack([theirs, theirs**2 / 2])


def _whitening(within: Numbers) -> Numbers:
    """The map under which deviations from the class means [N, D] have about unit covariance."""
    covariance = within.T @ within / len(within)
    size = len(covariance)
    shrunk = (1 - SHRINKAGE) * covariance + SHRINKAGE * max(np.trace(covariance) / size, 1e-12) * np.eye(size)
    values, vectors = np.linalg.eigh(shrunk)
    whitening: Numbers = vectors / np.sqrt(values)
    return whitening


def _closest_mixture(means: Numbers, centre: Numbers) -> Numbers:
    """Shares [K], none negative, which sum to one, whose mixture of the rows of means [K, D] is nearest to centre."""
    from scipy.optimize import nnls

    strict = 1e3 * (1 + np.abs(means).max())  # holds the sum at one
    rows = np.vstack([means.T, np.full((1, len(means)), strict)])
    shares: Numbers = nnls(rows, np.append(centre, strict))[0]
    return shares
