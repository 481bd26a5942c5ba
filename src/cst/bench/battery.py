"""The battery: small tasks of every kind, half of which may guide decisions; the other half only reports.

The halves were named before the first run of any candidate; the last two pairs of digits joined the deciding half
later, for want of a task there on which the source model knows nothing of the target. A task is a configuration
without a method.
"""

from __future__ import annotations

from typing import Any

RIVALS = ("source-only", "cst", "mcc", "cdan", "mdd", "dann")
"""What the battery compares, the baseline first: strong methods without views of each family."""

Cell = tuple[str, dict[str, Any]]
"""What a task is called in a table, and how it is run."""

FEATURES: dict[str, Any] = {"backbone": "mlp", "epochs": 20}
DIGITS: dict[str, Any] = {"backbone": "cnn", "epochs": 20}


def _features(benchmark: str, *pairs: str, **more: Any) -> list[Cell]:
    return [(f"{benchmark} {pair}", {"task": f"{benchmark}-features:{pair}", **FEATURES, **more}) for pair in pairs]


def _shifted(benchmark: str, *pairs: str) -> list[Cell]:
    """Label shift within the pair's target, as in Section 2.1."""
    cells = _features(benchmark, *pairs, resample="label-shift")
    return [(f"{name}, label shift", config) for name, config in cells]


def _small(*pairs: str, **more: Any) -> list[Cell]:
    return [(f"digits {pair}", {"task": f"digits-small:{pair}", **DIGITS, **more}) for pair in pairs]


def _tables(*names: str) -> list[Cell]:
    return [(name, {"task": f"tables:{name}"}) for name in names]


DECIDING: tuple[Cell, ...] = (
    *_features("office-home", "Ar-Cl", "Ar-Rw", "Cl-Pr", "Pr-Ar", "Pr-Rw", "Rw-Cl"),
    *_features("office-31", "A-W", "D-A", "W-D"),
    *_features("amazon", "B-E", "D-K"),
    *_small("mnist-usps", "svhn-mnist", "svhn-usps", "usps-svhn"),
    ("embedded", {"task": "synthetic-digits"}),
    *_tables("breast-cancer-30-60", "wine-rescaled", "digits-shares"),
    *_shifted("office-home", "Ar-Rw"),
)
REPORTING: tuple[Cell, ...] = (
    *_features("office-home", "Ar-Pr", "Cl-Ar", "Cl-Rw", "Pr-Cl", "Rw-Ar", "Rw-Pr"),
    *_features("office-31", "A-D", "D-W", "W-A"),
    *_features("amazon", "E-B", "K-D"),
    *_small("usps-mnist", "mnist-svhn"),
    *_tables("breast-cancer-15-60", "breast-cancer-rescaled", "iris-rescaled"),
    *_shifted("office-31", "D-A"),
    *_shifted("amazon", "E-B"),
)
