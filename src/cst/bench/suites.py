"""The suites: lists of configurations that belong in one table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cst.methods import CATALOGUE
from cst.spelling import unknown


@dataclass(frozen=True)
class Variant:
    """One line of a table."""

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Suite:
    """One table."""

    name: str
    title: str
    variants: tuple[Variant, ...]


def _variants(method: str, *settings: dict[str, Any]) -> tuple[Variant, ...]:
    """The method under each of the settings, named by them."""
    return tuple(Variant(_label(method, setting), {"method": method, **setting}) for setting in settings)


def _label(method: str, setting: dict[str, Any]) -> str:
    words = [str(value) if key in ("option", "weight") else f"{key}={value}" for key, value in setting.items()]
    return ", ".join([method, *words])


NOTES: dict[str, str] = {}
"""What must be said of a method's line in the table of all methods."""

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "demo",
            "Every method on the embedded task",
            tuple(Variant(name, {"method": name}, NOTES.get(name, "")) for name in CATALOGUE),
        ),
        Suite(
            "batch-norm",
            "Batch-norm statistics on the embedded task",
            tuple(
                variant
                for method in ("source-only", "cycle", "cst", "cst-official")
                for variant in _variants(method, {"batch_norm": "joint"}, {"batch_norm": "per-domain"})
            ),
        ),
        Suite(
            "cycle-options",
            "Options of the cycle term on the embedded task, without entropy",
            _variants(
                "cycle",
                {},
                {"option": "cycle.bias=true"},
                {"option": "cycle.centred=true"},
                {"option": "cycle.l2=1"},
                {"option": "cycle.normalize=true"},
                {"option": "cycle.normalize=true,cycle.centred=true"},
                {"weight": "cycle=10"},
            ),
        ),
        Suite(
            "ramp",
            "Epochs of the ramp on the embedded task",
            _variants("cst", *({"ramp_epochs": epochs} for epochs in (0, 2, 5, 10))),
        ),
    )
}


def find_suite(name: str) -> Suite:
    """The suite of that name."""
    if name not in SUITES:
        raise ValueError(unknown("suite", name, SUITES))
    return SUITES[name]
