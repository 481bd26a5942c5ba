"""The paper's equations as functions of tensors: no modules, no state, no configuration.

Shapes are written in brackets: N samples, d features, K classes, A values of alpha.
"""

from cst.functional.alpha import ALPHAS, AlphaSelection, select_alpha
from cst.functional.entropy import balanced_tsallis_entropy, tsallis_entropy
from cst.functional.measures import (
    calibration_error,
    margin,
    mean_confidence,
    temperature_for,
    total_variation,
)
from cst.functional.round_trip import cycle_loss, pseudo_labels, reverse_loss, ridge_head

__all__ = [
    "ALPHAS",
    "AlphaSelection",
    "balanced_tsallis_entropy",
    "calibration_error",
    "cycle_loss",
    "margin",
    "mean_confidence",
    "pseudo_labels",
    "reverse_loss",
    "ridge_head",
    "select_alpha",
    "temperature_for",
    "total_variation",
    "tsallis_entropy",
]
