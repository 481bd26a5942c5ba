"""Tables: CSV, TSV, JSON lines, Parquet, as columns; one of text, one of labels."""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cst.data.values import is_gap, is_missing, whole_characters
from cst.extras import missing
from cst.spelling import opening

Columns = Mapping[str, list[Any]]

LABEL = "label"


class ColumnsOnDisk(Columns):
    """Columns that are read one by one, when they are asked for."""

    def __init__(self, names: Sequence[str], read: Callable[[str], list[Any]]) -> None:
        self.names, self.read = names, read

    def __getitem__(self, name: str) -> list[Any]:
        return self.read(name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Table:
    """Rows with named columns, wherever they lie.

    Attributes:
        columns: of plain values, without those of pictures.
        where: what messages call the table: its path, or "the source" and the like of one in memory.
        pictures: the first column of encoded images, if there is one.
        frame: the data frame, if it is one.
    """

    columns: Columns
    where: str
    pictures: Sequence[Any] | None = None
    frame: Any = None


def texts_of(columns: Columns, where: str, name: str) -> list[str]:
    """A column of text, nothing where a cell is empty; bytes are read as UTF-8, numbers as they are written."""
    texts = []
    for row, value in enumerate(_column(columns, name, where, "text=")):
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif not _is_empty(value) and not isinstance(value, str | int | float):
            raise ValueError(
                f"{opening(where)}, row {row}: column '{name}' holds {reprlib.repr(value)}, which is no text."
            )
        texts.append("" if _is_empty(value) else str(value))
    return texts


def labels_of(columns: Columns, where: str, label: str | None, option: str, gaps: bool = False) -> list[Any]:
    """The column of labels, None for a gap where those are allowed; spaces around a label are none of it."""
    cells = _column(columns, label or LABEL, where, option)
    row = next((row for row, cell in enumerate(cells) if is_missing(cell)), None)
    if row is not None and not gaps:
        place = f"{opening(where)}, row {row}: column '{label or LABEL}'"
        if _is_empty(cells[row]):
            raise ValueError(f"{place} is empty; every row of it needs a label.")
        raise ValueError(f"{place} holds '{cells[row]}', which stands for a missing label; drop the row, or rename it.")
    return [None if is_missing(cell) else cell.strip() if isinstance(cell, str) else cell for cell in cells]


def _column(columns: Columns, name: str, where: str, option: str) -> list[Any]:
    if name not in columns:
        raise ValueError(
            f"{opening(where)} has no column '{name}' (it has {', '.join(columns)}): name one of them with {option}."
        )
    return columns[name]


def _is_empty(value: Any) -> bool:
    return is_gap(value) or (isinstance(value, str) and not value.strip())


def columns_of(path: Path) -> Columns:
    """Every column of a table, at least one row long."""
    if not path.is_file():
        raise ValueError(f"There is no table at {path}: check the path.")
    columns = FORMATS[path.suffix.lower()](path)
    if not columns:
        raise ValueError(f"{path} has no rows: give it at least one batch of samples.")
    return columns


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not UTF-8; save the file in that encoding.") from None


def _separated(path: Path, separator: str | None) -> Columns:
    """Without a separator, a semicolon if the header has one and no comma, as some spreadsheets write it."""
    csv.field_size_limit(2**31 - 1)
    content = _content(path)
    if separator is None:
        first = re.sub(r'"[^"]*"', "", content.partition("\n")[0])
        separator = ";" if ";" in first and "," not in first else ","
    rows = _unquoted(content) if separator == "\t" else None
    lines = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    try:
        rows = rows or list(lines)
    except csv.Error:
        raise ValueError(
            f"{path}, line {lines.line_num}: a quotation mark is not closed as it should be; double those in the text."
        ) from None
    header, *rows = _filled(rows)
    header = _different([name.strip() for name in header], path)
    for number, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(
                f"{path}, row {number}: {len(row)} fields instead of {len(header)}; put quotes around text with "
                "separators in it."
            )
    return {name: [row[place] for row in rows] for place, name in enumerate(header)} if rows else {}


_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
"""A field in quotation marks, those within it doubled."""


def _unquoted(content: str) -> list[list[str]] | None:
    """The fields of a .tsv in which every line is a row, so that quotation marks may stand anywhere; else None."""
    rows = [line.removesuffix("\r").split("\t") for line in content.split("\n")]
    rows = [row if row != [""] else [] for row in rows]
    if len({len(row) for row in rows if row}) != 1:
        return None
    whole = [[_QUOTED.fullmatch(field) for field in row] for row in rows]
    return [
        [quoted[1].replace('""', '"') if quoted else field for field, quoted in zip(row, marks, strict=True)]
        for row, marks in zip(rows, whole, strict=True)
    ]


def _filled(rows: list[list[str]]) -> list[list[str]]:
    """Lines with something on them; in a table of one column an empty line between others is an empty cell."""
    filled = [place for place, row in enumerate(rows) if row]
    if not filled:
        return [[]]
    if len(rows[filled[0]]) > 1:
        return [rows[place] for place in filled]
    return [row or [""] for row in rows[filled[0] : filled[-1] + 1]]


def _different(names: list[str], path: Path) -> list[str]:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"{path} has two columns called '{twice}': rename one of them.")
    return names


def _json_lines(path: Path) -> Columns:
    rows = []
    for number, line in enumerate(_content(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # also of numbers with thousands of digits
            row = None
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: not a JSON object; give one object a line.")
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [_as_read(row.get(name)) for row in rows] for name in names}


def _as_read(value: Any) -> Any:
    return whole_characters(value) if isinstance(value, str) else value


def _parquet(path: Path) -> Columns:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise missing("pyarrow", f"Reading the table {path}") from None
    try:
        with parquet.ParquetFile(path) as file:
            names, rows = file.schema_arrow.names, file.metadata.num_rows
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file ({type(error).__name__}): write it anew.") from None

    def read(name: str) -> list[Any]:
        try:
            return parquet.read_table(path, columns=[name]).column(name).to_pylist()  # type: ignore[no-any-return]
        except (ArrowException, OSError) as error:
            raise ValueError(
                f"{path}: column '{name}' cannot be read ({type(error).__name__}): write it anew."
            ) from None

    return ColumnsOnDisk(_different(names, path), read) if rows else {}


FORMATS: dict[str, Callable[[Path], Columns]] = {
    ".csv": lambda path: _separated(path, None),
    ".tsv": lambda path: _separated(path, "\t"),
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
"""How a table is read, by the ending of its name."""
