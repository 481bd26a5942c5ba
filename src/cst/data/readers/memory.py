"""Tables in memory: data frames of pandas and polars, datasets of Hugging Face."""

from __future__ import annotations

from typing import Any

from cst.data.readers.datasets import plain_dataset, table_of_dataset
from cst.data.readers.tables import Table


def table_in_memory(items: Any, role: str) -> Table | None:
    """A data frame or a dataset with named columns; ``None`` for anything else, such as arrays and lists."""
    where = "the new data" if role == "new" else f"the {role}"
    if is_frame(items):
        return Table(columns_of_frame(items), where, frame=items)
    if hasattr(items, "collect_schema"):  # of polars, as a query
        raise ValueError(f"The {role} is a {type(items).__name__}, which holds no rows yet: give frame.collect().")
    if hasattr(items, "cast_column"):
        if isinstance(items, dict):
            raise ValueError(f"The {role} holds several datasets ({', '.join(items)}): give one of them.")
        if not hasattr(items, "__len__"):
            raise ValueError(
                f"The {role} is a stream, of which no batch can be drawn at random: give a part of it, "
                "datasets.Dataset.from_list(list(stream.take(10_000)), features=stream.features)."
            )
        return table_of_dataset(plain_dataset(items, where), where)
    return None


def is_frame(items: Any) -> bool:
    """Whether inputs are a data frame, of pandas or of polars."""
    return hasattr(items, "columns") and (hasattr(items, "iloc") or hasattr(items, "get_column"))


def columns_of_frame(frame: Any) -> dict[str, list[Any]]:
    """Every column of a data frame."""
    names = [str(name) for name in frame.columns]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"The data frame has two columns called '{twice}': rename one of them.")
    return {
        str(name): (frame[name].tolist if hasattr(frame, "iloc") else frame[name].to_list)() for name in frame.columns
    }


def numbers_of_frame(frame: Any) -> Any:
    """A frame of numbers without gaps as an array of their type; ``None`` for any other."""
    if hasattr(frame, "iloc"):
        whole = not frame.isna().any(axis=None) and all(kind.kind in "biuf" for kind in frame.dtypes)
        return frame.to_numpy() if whole else None
    array = frame.to_numpy()  # gaps have become NaN
    return array if array.dtype.kind in "biuf" and not (array != array).any() else None
