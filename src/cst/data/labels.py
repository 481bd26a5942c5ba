"""Labels of any type as integers 0..K-1, and back."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cst.data.values import is_gap

UNKNOWN = -1
"""In the place of a label that is not known."""


def encode_labels(labels: Any) -> tuple[Tensor, tuple[Any, ...]]:
    """Labels of any type as integers 0..K-1 [N], and the class that each integer stands for.

    Integers 0..K-1 keep their values. Other labels (strings, floats, 1..K) are numbered in sorted order.

    >>> encode_labels(["cat", "dog", "cat"])
    (tensor([0, 1, 0]), ('cat', 'dog'))
    """
    values = label_array(labels, "source")
    classes, encoded = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        only = f" ('{classes[0]}')" if len(classes) else ""
        raise ValueError(f"The source has one class only{only}: a classifier needs at least two.")
    return torch.as_tensor(encoded.reshape(-1), dtype=torch.long), tuple(c.item() for c in classes)


def known_labels(labels: Any, classes: tuple[Any, ...], count: int) -> Tensor:
    """Labels of the target as integers, `UNKNOWN` for those that are missing; the others are classes of the source.

    >>> known_labels(["dog", None, "cat"], ("cat", "dog"), 3)
    tensor([ 1, -1,  0])
    """
    gaps = missing(labels)
    if gaps.any():
        known = torch.full((len(_as_many(gaps, count)),), UNKNOWN)
        present = [label for label, gap in zip(_plain(labels), gaps, strict=True) if not gap]
        if not present:
            raise ValueError("The target's labels are all missing: give some of them, or none.")
        known[torch.from_numpy(~gaps)] = known_labels(present, classes, len(present))
        return known
    values = _as_many(label_array(labels, "target"), count)
    numbers: dict[Any, int] = {value: number for number, value in enumerate(classes)}
    if not any(value in numbers for value in values.tolist()):  # 1 in one file, "1" or "1.0" in the other
        for spelled in (str, without_fraction):
            numbers = {spelled(value): number for number, value in enumerate(classes)}
            words = np.asarray([spelled(value) for value in values.tolist()])
            if len(numbers) == len(classes) and any(word in numbers for word in words.tolist()):
                values = words
                break
    strange = sorted({str(v) for v in values.tolist() if v not in numbers})
    if strange:
        raise ValueError(
            f"The target has labels that the source does not have ({', '.join(strange[:5])}): both must share classes."
        )
    return torch.tensor([numbers[value] for value in values.tolist()])


def without_fraction(label: Any) -> str:
    """A label as text, a whole number as such: '1' for 1, 1.0 and '1.0'."""
    return re.sub(r"^([+-]?\d+)\.0+$", r"\1", str(label))


def _as_many(labels: Any, count: int) -> Any:
    if len(labels) != count:
        raise ValueError(f"The target has {count} inputs but {len(labels)} labels: give one label for each input.")
    return labels


def missing(labels: Any) -> Any:
    """Which labels are missing [N], before NumPy turns them into text."""
    if hasattr(labels, "isna"):
        return np.asarray(labels.isna(), dtype=bool).ravel()
    return np.asarray([is_gap(label) for label in _plain(labels)], dtype=bool)


def _plain(labels: Any) -> Any:
    """Labels of any type as Python's own values, in one row."""
    values = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
    return np.asarray(values, dtype=object).ravel()


def label_array(labels: Any, role: str) -> Any:
    """One label for each sample, as an array of integers, strings or booleans."""
    values = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"The {role} labels have shape {values.shape}: give one label for each input, not one-hot rows."
        )
    if values.dtype.kind != "f" and missing(labels).any():
        raise ValueError(f"The {role} labels have missing values: every {role} sample needs a label.")
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError(f"The {role} labels have NaN or infinite values: every {role} sample needs a label.")
        if (values == np.round(values)).all():
            values = values.astype(np.int64)
    if values.ndim != 1 or values.dtype.kind not in "biufU":
        raise ValueError(f"The {role} labels are {values.dtype}: give integers, strings or booleans.")
    return values
