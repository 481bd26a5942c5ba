"""The numbers of the paper's seven tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Printed:
    """A figure as the paper prints it; the deviation where it has one."""

    mean: float
    deviation: float | None = None

    def __str__(self) -> str:
        return f"{self.mean}" if self.deviation is None else f"{self.mean} ± {self.deviation}"


@dataclass(frozen=True)
class PaperTable:
    """One table: lines by method, columns by name.

    >>> table = paper_table("visda")
    >>> str(table.cell("cst", "ResNet-101")), table.cell("star", "ResNet-50")
    ('84.8 ± 0.6', None)
    """

    title: str
    number: int
    columns: tuple[str, ...]
    lines: dict[str, tuple[Printed | None, ...]]
    recipe: str
    """The settings that the paper gives for it."""
    less: tuple[str, ...] = ()
    """Columns in which less is better."""

    def cell(self, line: str, column: str) -> Printed | None:
        """What it prints there, if anything."""
        if line not in self.lines or column not in self.columns:
            return None
        return self.lines[line][self.columns.index(column)]


def paper_tables() -> list[str]:
    """Their names."""
    return list(_all())


def paper_table(name: str) -> PaperTable:
    """The table of that name."""
    values = _all()[name]
    lines = {line: tuple(_printed(cell) for cell in cells) for line, cells in values["lines"].items()}
    less = tuple(values.get("less", ()))
    return PaperTable(values["title"], values["number"], tuple(values["columns"]), lines, values["recipe"], less)


@cache
def _all() -> dict[str, Any]:
    import yaml

    tables: dict[str, Any] = yaml.safe_load((files("cst.bench") / "paper.yaml").read_text(encoding="utf-8"))
    return tables


def _printed(cell: Any) -> Printed | None:
    if cell is None:
        return None
    mean, _, deviation = str(cell).partition(" ± ")
    return Printed(float(mean), float(deviation) if deviation else None)
