"""A SHA-256 within the file it belongs to, as the comment of a zip archive, which is what ``torch.save`` writes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

MARK = b"sha256:"
LENGTH = len(MARK) + 64
END = b"PK\5\6"
"""With which the last 22 bytes of an archive without a comment begin."""
BLOCK = 2**20


class ChecksumError(Exception):
    """A file is not what was written."""


def seal(archive: Path) -> None:
    """Write into a zip archive what its bytes must amount to; whoever reads archives passes over it.

    >>> from tempfile import TemporaryDirectory
    >>> from zipfile import ZipFile
    >>> with TemporaryDirectory() as folder:
    ...     with ZipFile(Path(folder) / "some.zip", "w") as file:
    ...         file.writestr("greeting", "hello")
    ...     seal(Path(folder) / "some.zip")
    ...     check_seal(Path(folder) / "some.zip")
    ...     ZipFile(Path(folder) / "some.zip").read("greeting")
    b'hello'
    """
    with archive.open("rb+") as file:
        file.seek(-2, os.SEEK_END)  # the last field of an archive without a comment is the comment's length
        file.write(LENGTH.to_bytes(2, "little"))
        digest = _digest(file, file.tell())
        file.write(MARK + digest)


def check_seal(archive: Path) -> None:
    """Refuse a file that was changed since it was sealed, or cut short; one that never was is not looked into."""
    with archive.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - LENGTH))
        last = file.read()
        unsealed = last[-len(END) - 18 :].startswith(END) and last.endswith(b"\0\0")
        if not unsealed and last != MARK + _digest(file, max(0, size - LENGTH)):
            raise ChecksumError(archive)


def _digest(file: BinaryIO, size: int) -> bytes:
    """Of the first bytes of a file, after which it is read or written on."""
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(min(BLOCK, size - file.tell())):
        digest.update(block)
    return digest.hexdigest().encode()
