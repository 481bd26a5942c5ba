"""Files as they are: folders, tables, arrays, saved datasets. What they hold is for the kinds of data to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cst.data.domain import Reading
from cst.data.readers.tables import FORMATS, Columns, columns_of, labels_of

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
    if is_saved_dataset(path):
        from cst.data.readers.datasets import columns_of_dataset, load_dataset

        return columns_of_dataset(load_dataset(path))
    return columns_of(path)


def read_labels(columns: Columns, path: Path, reading: Reading) -> list[Any] | None:
    """The column of labels, if labels are to be read."""
    if not reading.labels:
        return None
    return labels_of(columns, path, reading.label, reading.label_option, reading.gaps)
