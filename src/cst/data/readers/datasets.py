"""Datasets of Hugging Face: in memory, or in folders that ``save_to_disk`` wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cst.data.readers.tables import ColumnsOnDisk, Table
from cst.extras import missing
from cst.spelling import opening


def load_dataset(path: Path) -> Any:
    """The dataset in a folder; pictures in it stay encoded."""
    try:
        import datasets
    except ImportError:
        raise missing("datasets", f"Reading the saved dataset {path}") from None
    if (path / "dataset_dict.json").is_file():
        parts = ", ".join(sorted(entry.name for entry in path.iterdir() if entry.is_dir()))
        raise ValueError(f"{path} holds several datasets ({parts}): name one of these folders.")
    try:
        dataset = datasets.load_from_disk(str(path))
    except Exception as error:
        raise ValueError(f"{path} is not a complete saved dataset ({type(error).__name__}): save it anew.") from None
    return plain_dataset(dataset, str(path))


def plain_dataset(dataset: Any, where: str) -> Any:
    """Rows of Python's own values; pictures stay encoded."""
    dataset = dataset.with_format(None)
    for name in image_columns(dataset):
        dataset = dataset.cast_column(name, type(dataset.features[name])(decode=False))
    if not len(dataset):
        raise ValueError(f"{opening(where)} has no rows: give it at least one batch of samples.")
    return dataset


def image_columns(dataset: Any) -> list[str]:
    """The columns that hold pictures."""
    return [name for name, feature in dataset.features.items() if type(feature).__name__ == "Image"]


class Pictures(Sequence[Any]):
    """The encoded images of a column, read when they are asked for."""

    def __init__(self, dataset: Any, column: str) -> None:
        self.dataset, self.column = dataset, column

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, row: Any) -> Any:
        picture = self.dataset[int(row)][self.column]
        return b"" if picture is None else picture["bytes"] or picture["path"]


def table_of_dataset(dataset: Any, where: str) -> Table:
    """A plain dataset as a table; class numbers become the names that the dataset has for them."""

    def read(name: str) -> list[Any]:
        values, feature = list(dataset[name]), dataset.features[name]
        if type(feature).__name__ == "ClassLabel":
            return [None if v is None or v < 0 else feature.int2str(v) for v in values]
        return values

    images = image_columns(dataset)
    columns = ColumnsOnDisk([name for name in dataset.column_names if name not in images], read)
    return Table(columns, where, Pictures(dataset, images[0]) if images else None)
