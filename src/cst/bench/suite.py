"""A suite: methods on tasks that belong in one table; `suite_file` reads one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

FOLDER = files("cst.bench") / "suites"
ACCURACY = "accuracy"


@dataclass(frozen=True)
class Variant:
    """One cell of a table: a method on a task."""

    line: str
    column: str
    config: dict[str, Any]
    seeds: int | None = None
    """How many seeds it has at most."""
    group: str = ""
    """The table that it belongs to, where a suite has several."""
    note: str = ""

    @property
    def name(self) -> str:
        """What progress calls it."""
        return f"{self.line} {self.column}".rstrip()


@dataclass(frozen=True)
class Beside:
    """The paper's table that stands beside a suite's.

    Attributes:
        table: its name in `paper.yaml`.
        columns: our columns that are called otherwise there.
        comparable: whether a difference means anything: not where the data are others.
    """

    table: str
    columns: Mapping[str, str] = field(default_factory=dict)
    comparable: bool = True


@dataclass(frozen=True)
class Suite:
    """What belongs in one table, or in a few."""

    name: str
    title: str
    variants: tuple[Variant, ...]
    seeds: int = 3
    figures: tuple[str, ...] = (ACCURACY,)
    paper: Beside | None = None
    against: str = ""
    """The line that no other should fall below."""


def suite_names() -> list[str]:
    """The suites that come with the package."""
    return sorted(file.name.removesuffix(".yaml") for file in FOLDER.iterdir() if file.name.endswith(".yaml"))


def check_data(variants: Iterable[Variant], data_root: Path | None = None) -> None:
    """Refuse runs whose data are not there: the user's own, or the folder of datasets that a task reads."""
    from cst.tasks.benchmarks.files import find_data_root
    from cst.tasks.catalogue import TASKS, reads_files

    for variant in variants:
        config = variant.config
        if (task := config.get("task")) in TASKS and reads_files(task):
            find_data_root(data_root)
        for name in ("source", "target", "weights"):
            value = config.get(name)
            missing = value is not None and value not in ("none", "pretrained") and not Path(str(value)).exists()
            if missing:
                raise ValueError(f"{variant.name}: there is nothing at {value}, which '{name}' names: check the path.")


def with_seeds(suite: Suite, seeds: int | None) -> Suite:
    """The suite with at most so many seeds, or with as many as it asks for."""
    if seeds is None:
        return suite
    # A variant that asks for fewer than the suite does keeps to it.
    few = tuple(
        replace(v, seeds=min(v.seeds or seeds, seeds) if (v.seeds or 0) < suite.seeds else seeds)
        for v in suite.variants
    )
    return replace(suite, variants=few, seeds=seeds)
