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
LONGEST = 1000
"""Characters of a label; a longer one is a text."""
AS_TEXT = ("nan", "NaN", "<NA>", "NaT")
"""What a missing value becomes as text."""
MOST_FRACTIONS = 20
"""Labels such as 0.5 and 1.5 may be ratings; more of them than so many are measurements."""


def encode_labels(labels: Any) -> tuple[Tensor, tuple[Any, ...]]:
    """Labels of any type as integers 0..K-1 [N], and the class that each integer stands for.

    Integers 0..K-1 keep their values. Other labels (strings, floats, 1..K) are numbered in sorted order.

    >>> encode_labels(["cat", "dog", "cat"])
    (tensor([0, 1, 0]), ('cat', 'dog'))
    """
    values = label_array(labels, "source")
    if values.dtype.kind == "U" and values.dtype.itemsize > 4 * LONGEST:
        row = next(place for place, label in enumerate(values) if len(label) > LONGEST)
        raise ValueError(
            f"The source label of sample {row}, '{values[row][:40]}...', has {len(values[row]):,} characters: give "
            "names of classes, not texts."
        )
    classes, encoded = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        only = f" ('{classes[0]}')" if len(classes) else ""
        raise ValueError(f"The source has one class only{only}: a classifier needs at least two.")
    _refuse_spellings(classes.tolist())
    return torch.as_tensor(encoded.reshape(-1), dtype=torch.long), tuple(c.item() for c in classes)


def _refuse_spellings(classes: list[Any]) -> None:
    """Refuse one class that is written in two ways."""
    spelled: dict[str, Any] = {}
    for label in classes:
        other = spelled.setdefault(without_fraction(label), label)
        if other != label:
            raise ValueError(
                f"The source labels '{other}' and '{label}' look like one class written in two ways: write it in one."
            )


def check_classes(labels: Any) -> None:
    """Refuse labels of which almost every sample has its own: numbers to be estimated, or names of the samples."""
    values = label_array(labels, "source")
    classes, count = np.unique(values).tolist(), len(values)
    fractions = any(map(_has_fraction, classes))
    few = 2 if fractions else 9
    if len(classes) > max(few, count / 2) or (fractions and len(classes) > MOST_FRACTIONS):
        what = "numbers to be estimated" if fractions else "names of samples"
        raise ValueError(
            f"The source has {len(classes)} different labels in {count} samples, '{classes[0]}' for one, which look "
            f"like {what}, not like classes: name another column with label=, or make classes of them."
        )


def _has_fraction(label: Any) -> bool:
    try:
        return float(label) % 1 != 0
    except (TypeError, ValueError):
        return False


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
    """Which labels are missing [N], also those that were turned into text before; 'NA' and '?' may be classes."""
    return np.asarray([is_gap(label) or label in AS_TEXT for label in _plain(labels)], dtype=bool)


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
        place = int(np.flatnonzero(missing(labels))[0])
        word = f", written '{values[place]}'" if isinstance(values[place], str) else ""
        raise ValueError(
            f"The {role} labels have missing values (first: sample {place}{word}): every {role} sample needs a label."
        )
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
