"""Files as they are: folders, tables, arrays, saved datasets. What they hold is for the kinds of data to say."""

from __future__ import annotations

from pathlib import Path

from cst.data.readers.tables import FORMATS

TABLES = tuple(FORMATS)
ARRAYS = (".npz", ".npy")


def is_saved_dataset(path: Path) -> bool:
    """Whether ``datasets`` wrote this folder."""
    return any((path / name).is_file() for name in ("state.json", "dataset_dict.json"))


def is_table(path: Path) -> bool:
    """Whether a path has columns: a table, or a saved dataset."""
    return path.suffix.lower() in TABLES or is_saved_dataset(path)
