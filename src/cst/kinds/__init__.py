"""The kinds of data: every module in this folder that has a ``KIND`` is one, and so is what other packages add."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.registry import Registry

if TYPE_CHECKING:
    from cst.data.domain import Domain, Reading
    from cst.data.readers.tables import Table
    from cst.kinds.contract import Kind

KINDS = Registry(
    "kind of data",
    "cst.kinds",
    {m.name: f"{__name__}.{m.name}:KIND" for m in pkgutil.iter_modules(__path__) if m.name != "contract"},
)


def only_for() -> dict[str, str]:
    """The settings that mean something for one kind of data only, and which."""
    return {field: name for name in KINDS for field in KINDS[name].fields}


def kind_of_path(path: Path, reading: Reading) -> Kind:
    """The kind of data that a file or folder holds."""
    if not path.exists():
        raise ValueError(f"There is nothing at {path}: check the path.")
    best = max((KINDS[name] for name in KINDS), key=lambda kind: kind.claims_path(path, reading))
    if best.claims_path(path, reading):
        return best  # type: ignore[no-any-return]
    if reading.text is not None:
        raise ValueError(f"text={reading.text} names a column, but {path} is not a table.")
    from cst.data.readers import ARRAYS, TABLES

    known = ", ".join((*TABLES, *ARRAYS))
    raise ValueError(f"{path} is of no known kind: give a folder of images, or a file that ends in one of {known}.")


def kind_of_table(table: Table, reading: Reading) -> Kind:
    """The kind of data that a table in memory holds."""
    return max((KINDS[name] for name in KINDS), key=lambda kind: kind.claims_table(table, reading))  # type: ignore[no-any-return]


def kind_of_items(items: Any) -> Kind:
    """The kind of data that is in memory."""
    return max((KINDS[name] for name in KINDS), key=lambda kind: kind.claims_items(items))  # type: ignore[no-any-return]


def read_path(path: Path, reading: Reading) -> Domain:
    """What a file or folder holds."""
    return kind_of_path(path, reading).read_path(path, reading)


def read_items(items: Any, reading: Reading) -> Domain:
    """What is in memory: arrays, data frames, datasets, lists of texts or of paths."""
    return kind_of_items(items).read_items(items, reading)
