"""From what people have (arrays, tensors, data frames, datasets) to checked samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from cst.data.columns import ENOUGH, LARGEST
from cst.data.samples import DatasetSamples, Samples, TensorSamples, input_of, scaled

CHANNELS = (1, 3, 4)
BLOCK = 65_536
"""Rows that are looked at together."""


def columns_of(inputs: Any) -> tuple[str, ...]:
    """The names of a data frame's columns; nothing for arrays."""
    return tuple(map(str, inputs.columns)) if hasattr(inputs, "columns") else ()


def in_columns(inputs: Any, columns: tuple[str, ...], role: str) -> Any:
    """A data frame with its columns as training had them; anything else as it is."""
    names = columns_of(inputs)
    if not columns or not names or names == columns:
        return inputs
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(f"The {role} inputs have no column '{missing[0]}' (they have {', '.join(names)}).")
    return inputs[[list(inputs.columns)[names.index(name)] for name in columns]]


def samples_from(inputs: Any, role: str, as_images: bool = True) -> tuple[Samples, bool]:
    """Checked inputs of one domain, of anything that has a length, and whether they came as bytes."""
    if isinstance(inputs, Dataset):
        return _dataset_samples(inputs, role, as_images)
    tensor, bytes_in = _tensor(inputs, role, as_images)
    _refuse_shape(tuple(tensor.shape), role)
    return TensorSamples(_standard_layout(tensor, as_images)), bytes_in


def shape_and_type(inputs: Any, role: str, as_images: bool = True) -> tuple[tuple[int, ...], bool]:
    """The shape of one input as a network takes it, and whether it comes as bytes, by a look at the first sample."""
    if isinstance(inputs, Dataset):
        samples, bytes_in = _dataset_samples(inputs, role, as_images)
        return tuple(samples.take(torch.tensor([0])).shape[1:]), bytes_in
    _refuse_shape(tuple(inputs.shape), role)
    tensor, bytes_in = _tensor(inputs[:1], role, as_images, finite=False)
    return tuple(_standard_layout(tensor, as_images).shape[1:]), bytes_in


def _refuse_shape(shape: tuple[int, ...], role: str) -> None:
    if not shape or 0 in shape:
        raise ValueError(no_inputs(role))
    if len(shape) == 1:
        rows = "(1, -1)" if role == "new" else "(-1, 1)"
        raise ValueError(
            f"The {role} inputs are one-dimensional (shape {shape}): give one row for each sample, "
            f"for instance with reshape{rows}."
        )


def not_numbers(inputs: Any, role: str) -> ValueError:
    """The error of inputs that are no array of numbers."""
    if hasattr(inputs, "toarray"):
        return ValueError(f"The {role} inputs are sparse ({type(inputs).__name__}): make them dense with .toarray().")
    return ValueError(
        f"The {role} inputs are not numbers in a rectangular array (got {type(inputs).__name__}): convert them."
    )


def _dataset_samples(dataset: Any, role: str, as_images: bool) -> tuple[Samples, bool]:
    def convert(item: Any) -> Tensor:
        return scaled(_standard_layout(_tensor(item, role, as_images)[0][None], as_images)[0])

    return DatasetSamples(dataset, convert), _tensor(input_of(dataset[0]), role, as_images)[1]


def count_of(dataset: Any, role: str) -> int:
    """How many items a dataset has; a stream is refused."""
    try:
        return len(dataset)
    except TypeError:
        raise ValueError(f"The {role} dataset has no length: give one that can be indexed, not a stream.") from None


def no_inputs(role: str) -> str:
    """What to say of a domain without samples."""
    return f"There are no {role} inputs: give at least one batch of samples."


def labels_of_dataset(dataset: Any) -> Sequence[Any]:
    """The labels of a map-style dataset: its own list of them, or the second part of every item."""
    count = count_of(dataset, "source")
    for attribute in ("targets", "labels"):
        labels = getattr(dataset, attribute, None)
        if labels is not None and len(labels) == count:
            return labels  # type: ignore[no-any-return]
    items = (dataset[i] for i in range(count))
    try:
        return [item[1] for item in items]
    except (TypeError, IndexError, KeyError):
        raise ValueError("The source dataset's items must be pairs (input, label); its items have no label.") from None


def _tensor(inputs: Any, role: str, as_images: bool, finite: bool = True) -> tuple[Tensor, bool]:
    """Finite numbers as a tensor, and whether they are bytes. Floating point unless the network is the user's."""
    if np.ma.is_masked(inputs):
        raise ValueError(f"The {role} inputs have masked values: fill them in, or drop their rows.")
    try:
        tensor = inputs if isinstance(inputs, Tensor) else _as_tensor(inputs)
    except (TypeError, ValueError):
        raise not_numbers(inputs, role) from None
    tensor = tensor.detach()
    if tensor.is_complex():
        raise ValueError(f"The {role} inputs are complex: give real numbers.")
    if tensor.dtype == torch.uint8:
        return tensor, True
    if as_images or tensor.is_floating_point():
        tensor = tensor.float()
    if not finite or not tensor.ndim or not tensor.is_floating_point() or _is_sound(tensor):
        return tensor, False
    if not torch.isfinite(tensor).all():
        rows = (~torch.isfinite(tensor)).reshape(len(tensor), -1).any(1)
        raise ValueError(
            f"The {role} inputs have NaN or infinite values in {int(rows.sum())} of {len(rows)} samples "
            f"(first: sample {int(rows.nonzero()[0])}): remove or impute them."
        )
    first = int((tensor.abs() > LARGEST).reshape(len(tensor), -1).any(1).nonzero()[0])
    raise ValueError(
        f"The {role} inputs hold values of up to {float(tensor.abs().amax()):g} (first: sample {first}), too large "
        "to compute with: mark what is missing as such, or change the scale."
    )


def _is_sound(tensor: Tensor) -> bool:
    """Whether all values are numbers that can be computed with; a block at a time, without a copy of them all."""
    return all(bool((block.abs() <= LARGEST).all()) for block in torch.split(tensor, BLOCK))


def counting(inputs: Any) -> list[int]:
    """Places of vectors [N, d] that hold consecutive whole numbers, each once."""
    values = np.asarray(inputs)
    if len(values) < ENOUGH or values.dtype.kind not in "iuf":
        return []
    span = values.max(0) - values.min(0) == len(values) - 1
    return [
        int(place)
        for place in np.flatnonzero(span)
        if (values[:, place] == np.round(values[:, place])).all() and len(np.unique(values[:, place])) == len(values)
    ]


def constant(*domains: Any) -> list[int]:
    """Places of vectors that hold one value, the same in all domains."""
    arrays = [np.asarray(domain) for domain in domains]
    first = arrays[0][:1]
    if len({array.shape[1:] for array in arrays}) > 1 or any(array.dtype.kind not in "iufb" for array in arrays):
        return []
    return np.flatnonzero(np.all([(array == first).all(0) for array in arrays], axis=0)).tolist()


def varying_in_one(source: Any, target: Any) -> list[int]:
    """Places of vectors that hold one value in the source and another in the target."""
    ours, theirs = np.asarray(source), np.asarray(target)
    if ours.shape[1:] != theirs.shape[1:] or ours.dtype.kind not in "iufb":
        return []
    return np.flatnonzero((ours == ours[:1]).all(0) & (theirs != ours[:1]).any(0)).tolist()


def _as_tensor(inputs: Any) -> Tensor:
    """The numbers of an array; those of a mapped file stay there, and are read when they are needed."""
    if isinstance(inputs, np.memmap) and inputs.flags.c_contiguous and inputs.dtype in (np.float32, np.uint8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the file cannot be written: nobody does
            return torch.from_numpy(inputs)
    return torch.as_tensor(_plain_array(inputs))


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
