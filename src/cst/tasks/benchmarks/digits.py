"""MNIST, USPS and SVHN, as images of 32x32 with ink or brightness 0..1."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cst.data.domain import Domain, RowNames
from cst.tasks.benchmarks.files import find
from cst.tasks.benchmarks.matlab import read_matlab

SIDE = 32
LONGEST = 2**30
"""Bytes of a file when it is unpacked; the longest of these publishers has 47 million."""
MNIST_HOME = "the MNIST pages of Y. LeCun or their mirrors (four .gz files)"
USPS_HOME = "the LIBSVM data page, multi-class (usps.bz2, usps.t.bz2)"
SVHN_HOME = "the SVHN page of Stanford, format 2 (train_32x32.mat)"

Digits = tuple[Tensor, Tensor]
"""Images [N, C, 32, 32] and labels [N]."""


def mnist(root: Path, train: bool = True) -> Digits:
    """60,000 or 10,000 handwritten digits, from idx files in ``MNIST/raw`` or ``MNIST``."""
    part = "train" if train else "t10k"
    images, labels = (
        _idx(find(root, f"MNIST/raw/{part}-{name}.gz", f"MNIST/{part}-{name}.gz", origin=MNIST_HOME))
        for name in ("images-idx3-ubyte", "labels-idx1-ubyte")
    )
    return _resized(torch.tensor(images).unsqueeze(1) / 255), torch.tensor(labels, dtype=torch.long)


def usps(root: Path, train: bool = True) -> Digits:
    """7,291 or 2,007 digits from envelopes, from LIBSVM text in ``USPS``: 256 values -1..1, labels 1..10 for 0..9."""
    from sklearn.datasets import load_svmlight_file

    path = find(root, f"USPS/{'usps' if train else 'usps.t'}.bz2", origin=USPS_HOME)
    try:
        rows, labels = load_svmlight_file(io.BytesIO(_opened(path)), n_features=256, dtype=np.float32, zero_based=False)
    except (ValueError, IndexError, OverflowError):
        raise ValueError(f"{path} is not LIBSVM text of 16x16 digits: get it anew from {USPS_HOME}.") from None
    written = rows.copy()
    written.data[:] = 1
    images = torch.tensor(np.where(written.toarray() > 0, rows.toarray(), np.float32(-1)))  # what is not written is -1
    return _resized(((images + 1) / 2).view(-1, 1, 16, 16)), torch.tensor(labels.astype(np.int64) - 1)


def svhn(root: Path, train: bool = True) -> Digits:
    """House numbers in colour, from ``SVHN/train_32x32.mat``; label 10 stands for 0."""
    path = find(root, f"SVHN/{'train' if train else 'test'}_32x32.mat", origin=SVHN_HOME)
    try:
        content = read_matlab(path.read_bytes(), LONGEST)
        images, labels = content["X"], content["y"].reshape(-1)
        if images.ndim != 4 or images.shape[:3] != (SIDE, SIDE, 3):
            raise ValueError("other sizes")
    except (OSError, MemoryError):
        raise
    except Exception as error:
        reason = type(error).__name__
        raise ValueError(f"{path} is not a file of SVHN ({reason}): get it anew from {SVHN_HOME}.") from None
    pixels = torch.tensor(images).permute(3, 2, 0, 1).float() / 255
    return pixels, torch.tensor(labels.astype(np.int64)) % 10


READERS: dict[str, Callable[..., Digits]] = {"mnist": mnist, "usps": usps, "svhn": svhn}
COUNTS = {"mnist": (60_000, 10_000), "usps": (7_291, 2_007), "svhn": (73_257, 26_032)}
"""How many training and test images each publisher has."""


def read_digits(root: Path, name: str, train: bool = True) -> tuple[Domain, list[str]]:
    """Images and labels, and a sentence if their count is not the publisher's."""
    images, labels = READERS[name](root, train)
    if len(images) != len(labels):
        raise ValueError(f"{name.upper()} has {len(images):,} images but {len(labels):,} labels: get both files anew.")
    expected, part = (COUNTS[name][0], "training") if train else (COUNTS[name][1], "test")
    short = [f"{len(images):,} of the {expected:,} {part} images of {name.upper()} are there."]
    return Domain("arrays", images, RowNames(len(images)), labels), [] if len(images) == expected else short


def _resized(images: Tensor) -> Tensor:
    return F.interpolate(images.float(), size=(SIDE, SIDE), mode="bilinear", align_corners=False)


def _opened(path: Path) -> bytes:
    """The content of a file, decompressed."""
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    try:
        with openers.get(path.suffix, open)(path, "rb") as file:
            content: bytes = file.read(LONGEST + 1)
    except (OSError, EOFError, ValueError, zlib.error):
        raise ValueError(f"{path} cannot be decompressed: get it anew.") from None
    if len(content) > LONGEST:
        raise ValueError(f"{path} has more than {LONGEST:,} bytes when it is unpacked: get it anew.")
    return content


def _idx(path: Path) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """An array of bytes in the idx format: two zeros, type 8, the number of dimensions, their sizes, the values."""
    content = _opened(path)
    kind, dimensions = struct.unpack(">HBB", content[:4])[1:] if len(content) >= 4 else (0, 0)
    start = 4 + 4 * dimensions
    shape = struct.unpack(f">{dimensions}I", content[4:start]) if len(content) >= start else ()
    if kind != 8 or len(content) - start != int(np.prod(shape)):
        raise ValueError(f"{path} is not a complete idx file of bytes: get it anew from {MNIST_HOME}.")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape).copy()
