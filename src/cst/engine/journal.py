"""Work that goes on where it was killed: one line a part, beside the file that it becomes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from cst.files import room


class Journal:
    """What is done of a file that is written when all is done.

    Each line is one JSON object; a line that an end of the process cut short is forgotten. The first says what work it
    is: another's lines are forgotten too.

    Args:
        out: the file that it becomes.
        work: what the work goes by, as plain values.
    """

    def __init__(self, out: Path, work: dict[str, Any]) -> None:
        self.out, self.work = out, work
        self.file = journal_of(out)
        self.is_of_another = False
        self._lines: BinaryIO

    @contextmanager
    def opened(self) -> Iterator[Journal]:
        """It belongs to this process meanwhile; one without any entry is removed in the end."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a+b") as self._lines:
            self._claim()
            self._lines.seek(0)
            header = _read(self._lines.readline())
            self._start = self._lines.tell()
            if header != self.work:
                self.is_of_another = header is not None
                self._lines.truncate(0)
                self.append(self.work)
                self._start = self._lines.tell()
            try:
                yield self
            finally:
                if self._lines.seek(0, os.SEEK_END) <= self._start:
                    self.file.unlink(missing_ok=True)

    def _claim(self) -> None:
        """Two processes at once would mix their lines."""
        try:
            import fcntl

            fcntl.flock(self._lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"out={self.out} is being written by another process: wait for its end, or choose another out=."
            ) from None
        except (ImportError, OSError):  # a system without locks
            return

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every entry that is whole, from the first; a caller that stops reading can :meth:`forget_last`."""
        place = self._start
        while True:
            self._lines.seek(place)
            line = self._lines.readline()
            if (entry := _read(line)) is None:
                break
            self._place = place
            place += len(line)
            yield entry
        self._lines.truncate(place)

    def forget_last(self) -> None:
        """Forget the entry that was read last, and all after it."""
        self._lines.truncate(self._place)

    def append(self, entry: dict[str, Any]) -> None:
        """Keep an entry, whatever becomes of the process."""
        with room(self.out):
            self._lines.seek(0, os.SEEK_END)
            self._lines.write(json.dumps(entry, default=str).encode() + b"\n")
            self._lines.flush()

    def remove(self) -> None:
        """The file is there: what led to it is not needed any more."""
        self._lines.truncate(self._start)


def journal_of(out: Path) -> Path:
    """Where the journal of a file lies: beside it, hidden."""
    return out.with_name(f".{out.name}.unfinished")


def _read(line: bytes) -> dict[str, Any] | None:
    """The object on a whole line."""
    if line.endswith(b"\n"):
        with suppress(ValueError):
            entry = json.loads(line)
            return entry if isinstance(entry, dict) else None
    return None
