"""NumPy files: .npz with inputs and labels, .npy with inputs alone."""

from __future__ import annotations

import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from cst.data.domain import Reading
from cst.data.readers import ARRAYS

ALONE = ""
MAPPED = 2**28
"""Bytes from which on the array of an .npy stays in its file, and is read as it is needed."""
LARGE, PACKED = 2**30, 100
"""Bytes of an array, and how often smaller it may lie in a file: more is a file that is made to fill the memory."""
INPUTS, LABELS = ("x", "X", "inputs", "data", "images"), ("y", "labels", "label", "targets")


def read_arrays(path: Path, reading: Reading) -> tuple[Any, Any]:
    """The inputs of a file, and its labels if they are to be read."""
    content = load_arrays(path)
    inputs = content[ALONE] if ALONE in content else _member(content, INPUTS, path, "inputs")
    if inputs.ndim == 0 or not inputs.size:
        raise ValueError(f"{path} is empty: give it at least one batch of samples.")
    labels = _labels(content, path, reading.label, reading.label_option) if reading.labels else None
    if labels is not None and len(labels) != len(inputs):
        raise ValueError(f"{path} has {len(inputs)} inputs but {len(labels)} labels: give one label for each input.")
    return inputs, labels


def load_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an .npz by name, or the one of an .npy."""
    if not path.is_file():
        raise ValueError(f"There is no input file at {path}.")
    try:
        _refuse_bomb(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that an old NumPy wrote, or nobody
            mapped: Any = "r" if path.suffix == ".npy" and path.stat().st_size > MAPPED else None
            content = np.load(path, mmap_mode=mapped, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return {ALONE: _whole(content)}
            with content:
                return {name: _unless_objects(content, name) for name in content.files}
    except MemoryError:
        raise ValueError(
            f"{path} holds more numbers than fit into memory, or says so: write a smaller one, or write it anew."
        ) from None
    except Exception:  # of a damaged file NumPy and zipfile say this and that
        raise ValueError(f"{path} is not a NumPy array of numbers: write one with numpy.save or numpy.savez.") from None


def _refuse_bomb(path: Path) -> None:
    """A few kilobytes of zeros, packed, can stand for as much as there is memory."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as members:
        if any(m.file_size > max(LARGE, PACKED * m.compress_size) for m in members.infolist()):
            raise MemoryError


def _unless_objects(content: Any, name: str) -> Any:
    """An array of an .npz; None for one of Python's objects, which only its author should unpickle."""
    try:
        return _whole(content[name])
    except ValueError as error:
        if "Object arrays" in str(error):
            return None
        raise


def _whole(array: Any) -> Any:
    """An array; not other bytes among the members of an archive, nor text of characters that there are not."""
    if not isinstance(array, np.ndarray):
        raise ValueError("no array")
    if array.dtype.kind == "U" and array.size:
        points = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
        if points.max(initial=0) > sys.maxunicode:
            raise ValueError("no text")
    return array


def load_labels(path: Path) -> Any:
    """The labels in a file of their own, or beside inputs."""
    content = load_arrays(path)
    return np.atleast_1d(content[ALONE] if ALONE in content else _member(content, LABELS, path, "labels"))


def _member(content: dict[str, Any], names: tuple[str, ...], path: Path, what: str) -> Any:
    name = next((name for name in names if name in content), None)
    if name is None:
        raise ValueError(f"{path} holds {', '.join(content)}: call the array of {what} '{names[0]}'.")
    if content[name] is None:
        raise ValueError(
            f"{path}: array '{name}' holds Python objects; save numbers, or for labels text, with .astype(str)."
        )
    return content[name]


def _labels(content: dict[str, Any], path: Path, label: str | None, option: str) -> Any:
    if label is not None and Path(label).suffix.lower() in ARRAYS:
        return load_labels(Path(label))
    if ALONE in content:
        raise ValueError(f"{path} holds inputs alone: save labels beside them as .npz, or name an .npy with label=.")
    if label is None:
        return _member(content, LABELS, path, "labels")
    if label not in content:
        raise ValueError(
            f"{path} has no array '{label}' (it has {', '.join(content)}): name one of them with {option}."
        )
    return _member(content, (label,), path, "labels")
