"""Files that are whole at any moment: written aside, flushed to disk, renamed; places where nothing is lost by writing;
and one sentence for damaged files."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cst.ranks.group import is_first

LONGEST_YAML = 1_000_000
LEAST_ROOM = 2**20
"""Bytes that must be free for a failure to have another reason than a full disk."""
FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "no more may be written here (a quota)",
    errno.EFBIG: "files may not be so large here",
}


def check_place(path: Path, option: str, data: Iterable[Path | None] = ()) -> None:
    """Refuse an output that cannot be written, or that would take the place of data, before any work is done.

    Args:
        path: where a file or a folder is to be written.
        option: what named it, such as ``out=``.
        data: files and folders that must stay as they are; a hard link or another spelling of them is refused too.
    """
    for origin in data:
        if origin is not None and _is_same(path, origin):
            raise ValueError(f"{option}{path} is {origin}, which holds data: choose another place.")
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise ValueError(f"{option}{path} lies below a file: choose another place.")
    try:
        tempfile.TemporaryFile(dir=parent).close()
    except OSError as error:
        raise ValueError(f"{option}{path} cannot be written ({error.strerror}): choose another place.") from None


def _is_same(path: Path, other: Path) -> bool:
    with suppress(OSError):
        if path.samefile(other):
            return True
    return path.resolve() == other.resolve()


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path is a folder or lies below it."""
    place = path.resolve()
    return folder.is_dir() and (place == folder.resolve() or folder.resolve() in place.parents)


def write_aside(path: Path, write: Callable[[Path], None], previous: Path | None = None) -> None:
    """Let ``write`` make a new file beside ``path`` and put it in its place; an interruption leaves the old one.

    Of the processes that train together the first alone writes.

    Args:
        path: of the file.
        write: makes it under another name.
        previous: what the old one is called from then on, where it is to be kept.
    """
    if not is_first():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with room(path, aside):
            write(aside)
            with aside.open("rb+") as file:
                os.fsync(file.fileno())
        aside.chmod(0o666 & ~_umask())  # some libraries write files that only their owner may read
        if previous and path.exists():
            os.replace(path, previous)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    _flush_folder(path.parent)


@contextmanager
def room(path: Path, aside: Path | None = None) -> Iterator[None]:
    """Libraries say strange things of a full disk: say what it is.

    Args:
        path: of what is being written.
        aside: under which it is made; its size tells of errors that are not the system's own.
    """
    try:
        yield
    except Exception as error:  # torch and safetensors have errors of their own for it
        refused = error if isinstance(error, OSError) else _refused(aside) if aside else None
        if refused is None or refused.errno not in FULL:
            raise
        reason = f"{FULL[refused.errno]}; what was there before is kept"
        raise OSError(refused.errno, reason, str(path)) from None


def _refused(aside: Path) -> OSError | None:
    """What the system says to more of a file that could not be written to its end."""
    if shutil.disk_usage(aside.parent).free < LEAST_ROOM:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        with aside.open("ab") as file:
            file.write(bytes(LEAST_ROOM))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error
    return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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


def load_yaml(text: str) -> Any:
    """What a YAML text says: plain values only, of bounded size and depth, and without aliases.

    Aliases let a few lines stand for gigabytes. All that is wrong is a ``ValueError``.

    >>> load_yaml("epochs: 3")
    {'epochs': 3}
    >>> load_yaml("a: &a [1]\\nb: *a")
    Traceback (most recent call last):
    ValueError: it has an alias ('*a'), which is not allowed: write the value out
    """
    import yaml

    if len(text) > LONGEST_YAML:
        raise ValueError(f"it has {len(text):,} characters, more than {LONGEST_YAML:,}")
    try:
        for token in yaml.scan(text, yaml.SafeLoader):
            if isinstance(token, yaml.AliasToken):
                raise ValueError(f"it has an alias ('*{token.value}'), which is not allowed: write the value out")
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


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
