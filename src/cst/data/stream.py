"""New inputs in parts: of a folder that is larger than memory, only some samples are there at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cst.data.domain import Domain
from cst.data.readers.folders import CLUTTER, FileType, each_visible, no_files, of_other_types


@dataclass(frozen=True)
class Stream:
    """Samples that are read when their turn comes, always in the same order.

    Attributes:
        total: how many there are, those that turn out to be unreadable among them.
        parts: all of them from the first on, each part a `Domain` of at most so many samples.
        sign: what changes if the samples of a part do.
        carried: columns that tell rows apart, to be written beside predictions.
        left_out: what the reading left out already.
        fault: what is wrong with what is left out.
        word: what is said before the name of one that is left out.
        notes: what else was noticed, one sentence each.
    """

    total: int
    parts: Callable[[int], Iterator[Domain]]
    sign: Callable[[Domain], str]
    carried: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    fault: str = "files cannot be read"
    word: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, domain: Domain, path: Path, word: str = "") -> Stream:
        """What was read as a whole from ``path``."""
        whole = " ".join(_stamp(file) for file in (each_visible(path) if path.is_dir() else [path]))

        def parts(size: int) -> Iterator[Domain]:
            for start in range(0, len(domain), size):
                yield domain.at(range(start, min(start + size, len(domain))))

        return cls(
            len(domain),
            parts,
            sign=lambda part: f"{part.names[0]} {len(part)} {whole} {_content(part.items)}",
            carried=tuple(domain.carried),
            left_out=domain.left_out,
            fault=domain.fault or cls.fault,
            word=word,
            notes=domain.notes,
        )

    @classmethod
    def of_folder(cls, folder: Path, type: FileType) -> Stream:
        """The files of a type below ``folder``, of which no list is kept."""
        total = others = 0
        first = ""
        for path in each_visible(folder):
            if type.has(path):
                total += 1
            elif path.name not in CLUTTER:
                first = first or path.relative_to(folder).as_posix()
                others += 1
        if not total:
            raise no_files(folder, type)

        def parts(size: int) -> Iterator[Domain]:
            files: list[Path] = []
            for path in each_visible(folder):
                if type.has(path):
                    files.append(path)
                if len(files) == size:
                    yield _domain(files)
                    files = []
            if files:
                yield _domain(files)

        def _domain(files: list[Path]) -> Domain:
            return Domain(type.kind, files, [path.relative_to(folder).as_posix() for path in files])

        def sign(part: Domain) -> str:
            return "\n".join(f"{name} {_stamp(file)}" for name, file in zip(part.names, part.items, strict=True))

        return cls(total, parts, sign, notes=of_other_types(folder, type, others, first))


def _content(items: Any) -> str:
    """What numbers and texts in memory are; files have stamps."""
    if hasattr(items, "tobytes"):
        return hashlib.sha256(items.tobytes()).hexdigest()
    return "\n".join(items) if len(items) and isinstance(items[0], str) else ""


def _stamp(file: Path) -> str:
    """Size and time of a file, by which its content is taken for the same."""
    with suppress(OSError):
        facts = file.stat()
        return f"{facts.st_size} {facts.st_mtime_ns}"
    return ""
