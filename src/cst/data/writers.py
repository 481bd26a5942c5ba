"""Tables of any length, written row by row: CSV and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from cst.data.values import whole_characters
from cst.extras import missing
from cst.spelling import harmless

Rows = Iterable[Sequence[Any]]
AT_ONCE = 50_000
"""Rows that lie in memory while a Parquet file is written."""
LARGEST = 2**63 - 1
"""Whole numbers beyond it are written as text."""


def type_of(cell: Any) -> str:
    """Of a cell, as a column of a table has one: ``int``, ``float``, ``bool``, ``str``, or nothing for a gap."""
    if cell is None:
        return ""
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) > LARGEST:
        return "str"
    name = type(cell).__name__
    return name if name in ("int", "float", "bool") else "str"


def common_type(types: set[str]) -> str:
    """What a column is whose cells have these types.

    >>> common_type({"int", ""}), common_type({"int", "float"}), common_type({"bool", "int"}), common_type(set())
    ('int', 'float', 'str', 'str')
    """
    present = types - {""}
    if present == {"int", "float"}:
        return "float"
    return present.pop() if len(present) == 1 else "str"


def write_csv(path: Path, names: Sequence[str], rows: Rows, types: Mapping[str, set[str]]) -> None:
    """Cells that a spreadsheet would take for formulas get an apostrophe; shares have six digits."""
    shares = [name in SHARES for name in names]
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        lines = csv.writer(file)
        lines.writerow(map(harmless, names))
        for row in rows:
            lines.writerow(f"{cell:.6f}" if share else harmless(cell) for cell, share in zip(row, shares, strict=True))


def write_parquet(path: Path, names: Sequence[str], rows: Rows, types: Mapping[str, set[str]]) -> None:
    """Columns keep their types: whole numbers, numbers, truth values, else text."""
    pyarrow, parquet = arrow()
    of_cells = {"int": pyarrow.int64(), "float": pyarrow.float64(), "bool": pyarrow.bool_(), "str": pyarrow.string()}
    kinds = [common_type(set(types.get(name, ()))) for name in names]
    schema = pyarrow.schema([(name, of_cells[kind]) for name, kind in zip(names, kinds, strict=True)])
    with parquet.ParquetWriter(path, schema) as file:
        for block in _blocks(iter(rows)):
            columns = [
                [cell if kind != "str" else _text(cell) for cell in column]
                for column, kind in zip(zip(*block, strict=True), kinds, strict=True)
            ]
            file.write_table(pyarrow.table(columns, schema=schema))


SHARES = ("probability", "margin")
WRITERS: dict[str, Callable[[Path, Sequence[str], Rows, Mapping[str, set[str]]], None]] = {
    ".csv": write_csv,
    ".parquet": write_parquet,
}
"""How a table is written, by the ending of its name."""


def check_ending(path: Path, option: str) -> None:
    """Refuse a table that cannot be written, before there is anything to write."""
    if path.suffix.lower() not in WRITERS:
        raise ValueError(f"{option}{path} must end in {' or '.join(WRITERS)}: choose one of these formats.")
    if path.suffix.lower() == ".parquet":
        arrow()


def arrow() -> tuple[Any, Any]:
    """The package that knows Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise missing("pyarrow", "Writing Parquet") from None
    return pyarrow, parquet


def _text(cell: Any) -> str | None:
    return None if cell is None else whole_characters(str(cell))


def _blocks(rows: Iterator[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    while block := list(islice(rows, AT_ONCE)):
        yield block
