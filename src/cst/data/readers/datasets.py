"""Folders that ``datasets`` wrote with ``save_to_disk``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cst.data.collection import Collection, Wanted
from cst.data.images import problems
from cst.data.readers.tables import ColumnsOnDisk, collection_of, labels_of


def _load(path: Path) -> Any:
    try:
        import datasets
    except ImportError:
        raise ValueError(
            f"{path}: reading a saved dataset needs the package datasets; pip install 'cycle-self-training[tables]'."
        ) from None
    if (path / "dataset_dict.json").is_file():
        parts = ", ".join(sorted(entry.name for entry in path.iterdir() if entry.is_dir()))
        raise ValueError(f"{path} holds several datasets ({parts}): name one of these folders.")
    try:
        dataset = datasets.load_from_disk(str(path)).with_format(None)
    except Exception as error:
        raise ValueError(f"{path} is not a complete saved dataset ({type(error).__name__}): save it anew.") from None
    for name, feature in dataset.features.items():
        if isinstance(feature, datasets.Image):
            dataset = dataset.cast_column(name, datasets.Image(decode=False))
    if not len(dataset):
        raise ValueError(f"{path} has no rows: give it at least one batch of samples.")
    return dataset


def _image_column(dataset: Any) -> str | None:
    return next((name for name, feature in dataset.features.items() if type(feature).__name__ == "Image"), None)


def kind_of_dataset(path: Path) -> str:
    """``images`` if a column holds images, else numbers."""
    return "images" if _image_column(_load(path)) else "arrays"


def read_dataset(path: Path, wanted: Wanted) -> Collection:
    """The text, the images or the numbers of a saved dataset, and its labels if they are wanted."""
    dataset = _load(path)
    column = _image_column(dataset)
    if wanted.text is not None or column is None:
        return collection_of(_columns(dataset), path, wanted)
    items = Pictures(dataset, column)
    others = _columns(dataset.remove_columns(column))
    labels = labels_of(others, path, wanted.label, wanted.label_flag, wanted.gaps) if wanted.labels else None
    names = [str(row) for row in range(len(items))]
    bad = [row for row, trouble in enumerate(problems(items)) if trouble]
    if bad and (wanted.strict or len(bad) == len(items)):
        raise ValueError(f"{path}, row {bad[0]}: the image cannot be read; remove the row.")
    return Collection("images", items, names, labels).without(bad, "row ")


class Pictures(Sequence[Any]):
    """The encoded images of a column, read when they are asked for."""

    def __init__(self, dataset: Any, column: str) -> None:
        self.dataset, self.column = dataset, column

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, row: Any) -> Any:
        picture = self.dataset[int(row)][self.column]
        return b"" if picture is None else picture["bytes"] or picture["path"]


def _columns(dataset: Any) -> ColumnsOnDisk:
    """Plain columns; class numbers become the names that the dataset has for them."""

    def read(name: str) -> list[Any]:
        values, feature = list(dataset[name]), dataset.features[name]
        if type(feature).__name__ == "ClassLabel":
            return [None if v is None or v < 0 else feature.int2str(v) for v in values]
        return values

    return ColumnsOnDisk(dataset.column_names, read)
