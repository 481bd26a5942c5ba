"""Files that are whole at any moment: written aside, flushed to disk, renamed; and one sentence for damaged ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def write_aside(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` make a new file beside ``path`` and put it in its place; an interruption leaves the old one."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        write(aside)
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    _flush_folder(path.parent)


def write_text_aside(path: Path, text: str) -> None:
    """Replace a text file as a whole."""
    write_aside(path, lambda aside: _write_text(aside, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _flush_folder(folder: Path) -> None:
    """The new name is on disk too, where the system can say so."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError:  # a file system that does not know it
        pass
    finally:
        os.close(handle)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with a damaged file into one sentence that names it."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        reason = type(error).__name__
        raise ValueError(
            f"{path} is damaged or was not written by cst ({reason}): restore it or start a new run."
        ) from None
