"""Tables: CSV, TSV, JSON lines, Parquet. A column of text, or columns of numbers, and a column of labels."""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cst.data.values import is_gap, whole_characters
from cst.extras import missing

Columns = Mapping[str, list[Any]]

LABEL = "label"
_ROW_NUMBERS = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")
"""What pandas calls an index that it wrote beside the columns."""


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


def number_columns(columns: Columns, label: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that may be inputs, and those that only number the rows."""
    numbering = tuple(name for name in columns if _ROW_NUMBERS.fullmatch(name))
    return tuple(name for name in columns if name not in (*numbering, label or LABEL)), numbering


def texts_of(columns: Columns, path: Path, name: str) -> list[str]:
    """A column of text, nothing where a cell is empty; bytes are read as UTF-8, numbers as they are written."""
    texts = []
    for row, value in enumerate(_column(columns, name, path, "text=")):
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif not _is_empty(value) and not isinstance(value, str | int | float):
            raise ValueError(f"{path}, row {row}: column '{name}' holds {reprlib.repr(value)}, which is no text.")
        texts.append("" if _is_empty(value) else str(value))
    return texts


def labels_of(columns: Columns, path: Path, label: str | None, option: str, gaps: bool = False) -> list[Any]:
    """The column of labels, None for a gap where those are allowed; spaces around a label are none of it."""
    values = [None if _is_empty(value) else value for value in _column(columns, label or LABEL, path, option)]
    empty = next((row for row, value in enumerate(values) if value is None), None)
    if empty is not None and not gaps:
        raise ValueError(f"{path}, row {empty}: column '{label or LABEL}' is empty; every row of it needs a label.")
    return [value.strip() if isinstance(value, str) else value for value in values]


def _column(columns: Columns, name: str, path: Path, option: str) -> list[Any]:
    if name not in columns:
        raise ValueError(f"{path} has no column '{name}' (it has {', '.join(columns)}): {_advice(option)}.")
    return columns[name]


def _advice(option: str) -> str:
    return f"name one of them with {option}" if option else "both domains need the same inputs"


def _is_empty(value: Any) -> bool:
    return is_gap(value) or (isinstance(value, str) and not value.strip())


def matrix_of(columns: Columns, names: Sequence[str], path: Path) -> Any:
    """Columns of numbers as an array [rows, columns]."""
    import numpy as np

    rows = []
    for name in names:
        values = _column(columns, name, path, "")
        try:
            rows.append([float(value) for value in values])
        except (TypeError, ValueError, OverflowError):
            wrong = next(row for row, value in enumerate(values) if not _is_number(value))
            where = f"{path}, row {wrong}: column '{name}'"
            if _is_empty(values[wrong]):
                raise ValueError(f"{where} is empty; fill it in, or drop the row or the column.") from None
            comma = re.fullmatch(r"\s*[-+]?\d*,\d+\s*", str(values[wrong]))
            advice = "write decimal points" if comma else "drop the column, or name a column of text with text="
            raise ValueError(f"{where} holds {reprlib.repr(values[wrong])}, which is no number; {advice}.") from None
    if not rows:
        raise ValueError(f"{path} has no columns of numbers beside the label: name a column of text with text=.")
    return np.ascontiguousarray(np.asarray(rows, dtype=np.float32).T)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


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
        except json.JSONDecodeError:
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
