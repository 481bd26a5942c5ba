"""From what people have (arrays, tensors, datasets, labels of any type) to a checked `Task`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, TensorDataset

from cst.data.domains import UNKNOWN, DatasetSamples, Labelled, Oracle, Samples, Task, TensorSamples, input_of, scaled

CHANNELS = (1, 3, 4)


def task_from(
    source: Any, target: Any, target_labels: Any = None, *, as_images: bool = True, name: str = "arrays"
) -> Task:
    """A task of ``source = (inputs, labels)`` or a dataset of pairs, and ``target`` inputs or a dataset.

    Args:
        source: inputs and labels, or a map-style dataset whose items are such pairs.
        target: inputs, or a map-style dataset; labels in it are ignored.
        target_labels: for evaluation only.
        as_images: bring image arrays to [N, channels, height, width] and 0..1.
        name: of the task.
    """
    source_samples, raw_labels = _split_source(source, as_images)
    columns = columns_of(source[0]) if isinstance(source, tuple | list) else ()
    if isinstance(target, tuple) and len({np.shape(part)[:2] for part in target if hasattr(part, "shape")}) > 1:
        raise ValueError("target must be inputs alone: labels of the target, for evaluation, go into target_labels.")
    target_samples = samples_from(in_columns(target, columns, "target"), "target", as_images)
    labels, classes = encode_labels(raw_labels)
    if len(source_samples) != len(labels):
        raise ValueError(
            f"The source has {len(source_samples)} inputs but {len(labels)} labels: give one label for each input."
        )
    same_inputs(source_samples, target_samples)
    truth = None if target_labels is None else known_labels(target_labels, classes, len(target_samples))
    return Task(
        name,
        Labelled(source_samples, labels),
        target_samples,
        classes,
        Oracle(truth),
        labelled_part(truth),
        columns=columns,
    )


def columns_of(inputs: Any) -> tuple[str, ...]:
    """The names of a data frame's columns; nothing for arrays."""
    return tuple(map(str, inputs.columns)) if hasattr(inputs, "columns") else ()


def in_columns(inputs: Any, columns: tuple[str, ...], domain: str) -> Any:
    """A data frame with its columns as training had them; anything else as it is."""
    found = columns_of(inputs)
    if not columns or not found or found == columns:
        return inputs
    missing = [name for name in columns if name not in found]
    if missing:
        raise ValueError(f"The {domain} inputs have no column '{missing[0]}' (they have {', '.join(found)}).")
    return inputs[[list(inputs.columns)[found.index(name)] for name in columns]]


def same_inputs(source: Samples, target: Samples) -> None:
    """Refuse two domains whose inputs differ in type or shape."""
    if source.bytes_in != target.bytes_in:
        raise ValueError("One domain has bytes (uint8), the other has not: bring both to the same type and scale.")
    one_source, one_target = (tuple(s.take(torch.tensor([0])).shape[1:]) for s in (source, target))
    if one_source != one_target:
        raise ValueError(
            f"One source input has shape {one_source}, one target input {one_target}: bring both to the same shape."
        )


def samples_from(inputs: Any, domain: str, as_images: bool = True) -> Samples:
    """Checked inputs of one domain, of anything that has a length."""
    if isinstance(inputs, Dataset) and not isinstance(inputs, TensorDataset):
        return _dataset_samples(inputs, domain, as_images)
    if isinstance(inputs, TensorDataset):
        inputs = inputs.tensors[0]
    tensor, bytes_in = _tensor(inputs, domain, as_images)
    if tensor.ndim == 0 or tensor.numel() == 0:
        raise ValueError(_empty(domain))
    if tensor.ndim == 1:
        rows = "(1, -1)" if domain == "new" else "(-1, 1)"
        raise ValueError(
            f"The {domain} inputs are one-dimensional (shape {tuple(tensor.shape)}): give one row for each sample, "
            f"for instance with reshape{rows}."
        )
    return TensorSamples(_standard_layout(tensor, as_images), bytes_in)


def _dataset_samples(dataset: Any, domain: str, as_images: bool) -> Samples:
    try:
        count = len(dataset)
    except TypeError:
        raise ValueError(f"The {domain} dataset has no length: give one that can be indexed, not a stream.") from None
    if count == 0:
        raise ValueError(_empty(domain))

    def convert(item: Any) -> Tensor:
        return scaled(_standard_layout(_tensor(item, domain, as_images)[0][None], as_images)[0])

    return DatasetSamples(dataset, convert, _tensor(input_of(dataset[0]), domain, as_images)[1])


def _empty(domain: str) -> str:
    return f"There are no {domain} inputs: give at least one batch of samples."


def _split_source(source: Any, as_images: bool) -> tuple[Samples, Any]:
    if isinstance(source, TensorDataset):
        if len(source.tensors) < 2:
            raise ValueError("The source dataset has no labels: its items must be pairs (input, label).")
        source = source.tensors[:2]
    if isinstance(source, Dataset):
        samples = samples_from(source, "source", as_images)
        return samples, _dataset_labels(source, len(samples))
    if not isinstance(source, tuple | list) or len(source) != 2:
        raise ValueError(
            f"source must be a pair (inputs, labels) or a dataset of such pairs, got {type(source).__name__}."
        )
    return samples_from(source[0], "source", as_images), source[1]


def _dataset_labels(dataset: Any, count: int) -> Sequence[Any]:
    for attribute in ("targets", "labels"):
        found = getattr(dataset, attribute, None)
        if found is not None and len(found) == count:
            return found  # type: ignore[no-any-return]
    items = (dataset[i] for i in range(count))
    try:
        return [item[1] for item in items]
    except (TypeError, IndexError, KeyError):
        raise ValueError("The source dataset's items must be pairs (input, label); its items have no label.") from None


def _tensor(inputs: Any, domain: str, as_images: bool) -> tuple[Tensor, bool]:
    """Finite numbers as a tensor, and whether they are bytes. Floating point unless the network is the user's."""
    if np.ma.is_masked(inputs):
        raise ValueError(f"The {domain} inputs have masked values: fill them in, or drop their rows.")
    try:
        tensor = inputs if isinstance(inputs, Tensor) else torch.as_tensor(_plain_array(inputs))
    except (TypeError, ValueError):
        raise ValueError(
            f"The {domain} inputs are not numbers in a rectangular array (got {type(inputs).__name__}): convert them."
        ) from None
    tensor = tensor.detach()
    if tensor.is_complex():
        raise ValueError(f"The {domain} inputs are complex: give real numbers.")
    bytes_in = tensor.dtype == torch.uint8
    if bytes_in:
        return tensor, True
    if as_images or tensor.is_floating_point():
        tensor = tensor.float()
    if not torch.isfinite(tensor).all():
        rows = (~torch.isfinite(tensor)).reshape(len(tensor), -1).any(1)
        raise ValueError(
            f"The {domain} inputs have NaN or infinite values in {int(rows.sum())} of {len(rows)} samples "
            f"(first: sample {int(rows.nonzero()[0])}): remove or impute them."
        )
    return tensor, False


def _plain_array(inputs: Any) -> Any:
    """An array as torch takes it: not reversed, not read-only, in this machine's order of bytes, not of objects."""
    array = np.asarray(inputs)
    plain = np.float64 if array.dtype.kind == "O" else array.dtype.newbyteorder("=")
    return np.require(array, plain, ["C", "W"])


def _standard_layout(inputs: Tensor, as_images: bool) -> Tensor:
    """Vectors [N, d] stay; images become [N, channels, height, width]."""
    if not as_images:
        return inputs
    if inputs.ndim == 3:
        return inputs.unsqueeze(1)
    if inputs.ndim == 4 and inputs.shape[1] not in CHANNELS and inputs.shape[-1] in CHANNELS:
        return inputs.movedim(-1, 1).contiguous()
    return inputs


def encode_labels(labels: Any) -> tuple[Tensor, tuple[Any, ...]]:
    """Labels of any type as integers 0..K-1, and the class that each integer stands for.

    Integers 0..K-1 keep their values. Other labels (strings, floats, 1..K) are numbered in sorted order.
    """
    values = label_array(labels, "source")
    classes, encoded = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        only = f" ('{classes[0]}')" if len(classes) else ""
        raise ValueError(f"The source has one class only{only}: a classifier needs at least two.")
    return torch.as_tensor(encoded.reshape(-1), dtype=torch.long), tuple(c.item() for c in classes)


def known_labels(labels: Any, classes: tuple[Any, ...], count: int) -> Tensor:
    """Labels of the target as integers, `UNKNOWN` for those that are missing; the others are classes of the source."""
    gaps = missing(labels)
    if gaps.any():
        known = torch.full((len(_as_many(gaps, count)),), UNKNOWN)
        some = [label for label, gap in zip(_plain(labels), gaps, strict=True) if not gap]
        if not some:
            raise ValueError("The target's labels are all missing: give some of them, or none.")
        known[torch.from_numpy(~gaps)] = known_labels(some, classes, len(some))
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


def labelled_part(truth: Tensor | None) -> tuple[str, ...]:
    """A sentence for a target that is labelled in part."""
    if truth is None or UNKNOWN not in truth:
        return ()
    return (f"{int((truth != UNKNOWN).sum()):,} of the target's {len(truth):,} samples have a label to evaluate with.",)


def missing(labels: Any) -> Any:
    """Which labels are missing [N], before NumPy turns them into text."""
    if hasattr(labels, "isna"):
        return np.asarray(labels.isna(), dtype=bool).ravel()
    return np.asarray([is_gap(label) for label in _plain(labels)])


def is_gap(label: Any) -> bool:
    """Whether there is no value: None, NaN, or what pandas has for it."""
    return (
        label is None or (isinstance(label, float) and label != label) or type(label).__name__ in ("NAType", "NaTType")
    )


def _plain(labels: Any) -> Any:
    """Labels of any type as Python's own values, in one row."""
    values = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
    return np.asarray(values, dtype=object).ravel()


def label_array(labels: Any, domain: str) -> Any:
    """One label for each sample, as an array of integers, strings or booleans."""
    values = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"The {domain} labels have shape {values.shape}: give one label for each input, not one-hot rows."
        )
    if values.dtype.kind != "f" and missing(labels).any():
        raise ValueError(f"The {domain} labels have missing values: every {domain} sample needs a label.")
    if values.dtype.kind == "O":
        values = np.asarray(values.tolist())
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError(f"The {domain} labels have NaN or infinite values: every {domain} sample needs a label.")
        if (values == np.round(values)).all():
            values = values.astype(np.int64)
    if values.ndim != 1 or values.dtype.kind not in "biufU":
        raise ValueError(f"The {domain} labels are {values.dtype}: give integers, strings or booleans.")
    return values
