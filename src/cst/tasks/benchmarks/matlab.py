"""Arrays of numbers in MATLAB files of version 5, read so that a damaged file is an error.

SciPy's reader, which knows far more of the format, ends the process on some damaged files.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

HEAD, MATRIX, COMPRESSED = 128, 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8"}
"""What the format calls types of numbers."""
CLASSES = range(6, 16)
"""Arrays of numbers, among texts, cells and others."""


def read_matlab(content: bytes, longest: int) -> dict[str, Any]:
    """The arrays of numbers by name; an array of more than ``longest`` bytes is refused."""
    if content[124:128] != b"\x00\x01IM":
        raise ValueError("no MATLAB file of version 5")
    arrays: dict[str, Any] = {}
    for kind, data in _elements(content[HEAD:], aligned=False):
        if kind == COMPRESSED:
            unpacked = zlib.decompressobj().decompress(data, longest)
            kind, data = next(_elements(unpacked, aligned=True))
        if kind == MATRIX:
            arrays |= _array(data)
    return arrays


def _array(data: bytes) -> dict[str, Any]:
    """An array by its name, if it is one of numbers."""
    parts = _elements(data, aligned=True)
    (_, flags), (_, sizes), (_, name) = next(parts), next(parts), next(parts)
    if flags[0] not in CLASSES:
        return {}
    kind, values = next(parts)
    shape = struct.unpack(f"<{len(sizes) // 4}i", sizes)
    array = np.frombuffer(values, dtype=NUMBERS[kind]).reshape(shape, order="F")
    return {name.decode("ascii"): array}


def _elements(data: bytes, aligned: bool) -> Iterator[tuple[int, bytes]]:
    """Type and content of each element; those of up to four bytes lie within their tag."""
    place = 0
    while place + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, place)
        if kind >> 16:
            kind, size, start, after = kind & 0xFFFF, kind >> 16, place + 4, place + 8
        else:
            start = place + 8
            after = start + (-(-size // 8) * 8 if aligned else size)
        if start + size > len(data) or size > max(len(data) - start, 4):
            raise ValueError("an element is cut short")
        yield kind, data[start : start + size]
        place = after
