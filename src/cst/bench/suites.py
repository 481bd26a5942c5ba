"""The suites: lists of configurations that belong in one table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

from cst.bench.battery import DECIDING, REPORTING, RIVALS
from cst.methods import CATALOGUE
from cst.spelling import unknown


@dataclass(frozen=True)
class Variant:
    """One line of a table; in a table of several tasks, one cell."""

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    seeds: int | None = None
    """How many seeds it has at most."""
    cell: str = ""
    """What its task is called, where that is not the second part of the task's name."""
    group: str = ""
    """The table that it belongs to, where a suite has several."""

    @property
    def method(self) -> str:
        """The method, as a line calls it."""
        return str(self.config.get("method", ""))

    @property
    def task(self) -> str:
        """The task, as a column calls it."""
        return self.cell or str(self.config.get("task", "")).partition(":")[2]


@dataclass(frozen=True)
class Suite:
    """One table."""

    name: str
    title: str
    variants: tuple[Variant, ...]
    by_task: bool = False
    """Whether the tasks are its columns, as in the paper's tables."""


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


def _on(
    recipe: str,
    tasks: Iterable[str],
    methods: Iterable[str],
    note: str = "",
    seeds: int | None = None,
    **settings: Any,
) -> list[Variant]:
    """Methods on tasks with a recipe."""
    return [
        Variant(
            f"{method} {task.partition(':')[2]}",
            {"task": task, "method": method, "recipe": recipe, **settings},
            note,
            seeds,
        )
        for task in tasks
        for method in methods
    ]


DIGITS = ("digits:mnist-usps", "digits:svhn-mnist")
SIX_EPOCHS = {"epochs": 6, "steps_per_epoch": 114, "warmup_epochs": 1, "ramp_epochs": 2}
REVIEWS = [f"amazon-reviews:{a}-{b}" for a, b in permutations("BDEK", 2)]
FOUR_PAIRS = [f"amazon-reviews:{pair}" for pair in ("B-E", "D-K", "E-B", "K-D")]
TWO_PAIRS = FOUR_PAIRS[:2]
OFFICE = ("office-caltech10:amazon-webcam", "office-caltech10:caltech10-amazon")

SUITES |= {
    "digits": Suite(
        "digits",
        "Digits, DTN",
        (
            *_on("cst/digits", DIGITS, ("source-only",), seeds=1),
            *_on("cst/digits", DIGITS, ("cst",)),
            *_on("cst/digits", DIGITS[:1], ("cst-official",), seeds=1),
        ),
        by_task=True,
    ),
    "digits-parts": Suite(
        "digits-parts",
        "From source-only to CST to its published code, one part at a time: MNIST to USPS, DTN",
        tuple(
            replace(variant, config={"task": DIGITS[0], "recipe": "cst/digits", **SIX_EPOCHS, **variant.config})
            for variant in (
                *_variants("source-only", {}, {"batch_norm": "joint"}),
                *_variants("cycle", {}),
                *_variants(
                    "cst",
                    {},
                    {"augment": "none"},
                    {"standardize": "dataset"},
                    {"optimizer": "sgd", "lr": 0.01},
                    {"weight": "cycle=10"},
                    {"batch_norm": "joint"},
                    {"weight": "cycle=2", "option": "cycle.normalize=true,cycle.centred=true"},
                ),
                *_variants("source+cycle+confusion(alpha=1.9,temperature=2.5)", {}),
                *_variants("cst+fixmatch", {"weight": "fixmatch=0.5", "option": "fixmatch.threshold=0.97"}),
                *_variants("cst+sam", {"option": "sam.adaptive=true,sam.rho=0.5"}),
                *_variants("cst-official", {}),
            )
        ),
    ),
    "battery": Suite(
        "battery",
        "The battery: what may guide decisions, and what only reports",
        tuple(
            Variant(f"{method} {cell}", {**config, "method": method}, cell=cell, group=group)
            for group, cells in (("deciding", DECIDING), ("reporting", REPORTING))
            for method in RIVALS
            for cell, config in cells
        ),
        by_task=True,
    ),
    "amazon-reviews": Suite(
        "amazon-reviews",
        "Amazon reviews, MiniLM",
        (
            *_on("cst/reviews", [task for task in REVIEWS if task not in TWO_PAIRS], ("source-only", "cst"), seeds=1),
            *_on("cst/reviews", TWO_PAIRS, ("source-only", "cst")),
            *_on("cst/reviews", FOUR_PAIRS, ("dann", "vat", "mdd"), seeds=1),
        ),
        by_task=True,
    ),
    "office-caltech10": Suite(
        "office-caltech10",
        "Office-Caltech10, EfficientNet-Lite0",
        tuple(_on("cst/office-caltech10", OFFICE, ("source-only", "cst"))),
        by_task=True,
    ),
}
"""Those after the embedded task read files under CST_DATA."""


_BETWEEN = re.compile(r",(?![^(]*\))")
"""A comma between names, not one between the options of a term."""


def find_suite(name: str, methods: str | None = None, tasks: str | None = None) -> Suite:
    """The suite of that name, or the part of it with these methods and tasks (names with commas between)."""
    if name not in SUITES:
        raise ValueError(unknown("suite", name, SUITES))
    suite = SUITES[name]
    for kind, names in (("method", methods), ("task", tasks)):
        if names is not None:
            suite = _part(suite, kind, [word.strip().rpartition(":")[2] for word in _BETWEEN.split(names)])
    return suite


def _part(suite: Suite, kind: str, names: list[str]) -> Suite:
    """The variants whose ``kind`` is one of ``names``."""
    known = list(dict.fromkeys(getattr(variant, kind) for variant in suite.variants))
    if known == [""]:
        raise ValueError(f"Suite '{suite.name}' has one {kind} only: leave out --{kind}s.")
    for name in names:
        if name not in known:
            raise ValueError(f"Suite '{suite.name}': {unknown(kind, name, known)}")
    return replace(suite, variants=tuple(v for v in suite.variants if getattr(v, kind) in names))
