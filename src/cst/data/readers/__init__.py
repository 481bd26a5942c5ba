"""Reading what users have: folders of images, tables, arrays, saved datasets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cst.data.collection import Collection, Wanted

TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
ARRAYS = (".npz", ".npy")
IMAGES = (".jpg", ".jpeg", ".jfif", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")


def kind_of(path: Path, text: str | None) -> str:
    """``images``, ``text`` or ``arrays``, by a look at the path."""
    if not path.exists():
        raise ValueError(f"There is nothing at {path}: check the path.")
    if text is not None:
        if path.suffix.lower() not in TABLES and not is_saved_dataset(path):
            raise ValueError(f"--text {text} names a column, but {path} is not a table.")
        return "text"
    if path.suffix.lower() in (*TABLES, *ARRAYS):
        return "arrays"
    if is_saved_dataset(path):
        from cst.data.readers.datasets import kind_of_dataset

        return kind_of_dataset(path)
    if path.is_dir() or path.suffix.lower() in IMAGES:
        return "images"
    known = ", ".join((*TABLES, *ARRAYS))
    raise ValueError(f"{path} is of no known kind: give a folder of images, or a file that ends in one of {known}.")


def is_saved_dataset(path: Path) -> bool:
    """Whether ``datasets`` wrote this folder."""
    return any((path / name).is_file() for name in ("state.json", "dataset_dict.json"))


def read(path: Path, wanted: Wanted) -> Collection:
    """What ``path`` holds."""
    kind_of(path, wanted.text)
    if path.suffix.lower() in TABLES:
        from cst.data.readers.tables import collection_of, columns_of

        return collection_of(columns_of(path), path, wanted)
    if path.suffix.lower() in ARRAYS:
        from cst.data.readers.arrays import read_arrays

        return read_arrays(path, wanted)
    if is_saved_dataset(path):
        from cst.data.readers.datasets import read_dataset

        return read_dataset(path, wanted)
    if wanted.labels and wanted.label is not None:
        raise ValueError(f"--label {wanted.label}: the labels of {path} are its class folders; leave the option out.")
    from cst.data.readers.folders import checked, read_folder

    if path.is_file():
        return checked(path.parent, [path], None, wanted.strict)
    return read_folder(path, wanted.labels, wanted.strict)
