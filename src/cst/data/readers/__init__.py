"""Files as they are: folders, tables, arrays, saved datasets. What they hold is for the kinds of data to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cst.data.domain import Reading
from cst.data.readers.tables import FORMATS, Columns, Table, columns_of, labels_of

TABLES = tuple(FORMATS)
ARRAYS = (".npz", ".npy")


def is_saved_dataset(path: Path) -> bool:
    """Whether ``datasets`` wrote this folder."""
    return any((path / name).is_file() for name in ("state.json", "dataset_dict.json"))


def is_table(path: Path) -> bool:
    """Whether a path has columns: a table, or a saved dataset."""
    return path.suffix.lower() in TABLES or is_saved_dataset(path)


def read_columns(path: Path) -> Columns:
    """The columns of a table or of a saved dataset."""
    return read_table(path).columns


def read_table(path: Path) -> Table:
    """A table, or a saved dataset."""
    if is_saved_dataset(path):
        from cst.data.readers.datasets import load_dataset, table_of_dataset

        return table_of_dataset(load_dataset(path), str(path))
    return Table(columns_of(path), str(path))


def read_labels(table: Table, reading: Reading) -> list[Any] | None:
    """The column of labels, if labels are to be read."""
    if not reading.labels:
        return None
    return labels_of(table.columns, table.where, reading.label, reading.label_option, reading.gaps)
