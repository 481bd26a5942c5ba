"""Folders of files: one subfolder a class for the source, any layout for the target."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cst.data.domain import Domain

CLUTTER = ("Thumbs.db", "desktop.ini")
"""What file managers leave behind."""


@dataclass(frozen=True)
class FileType:
    """What files of a kind of data are.

    Attributes:
        kind: the name of the kind, and what several such files are called.
        suffixes: how their names end.
        problems: for each path why the file cannot be read, or an empty text.
        strict: refuse a file that cannot be read instead of leaving it out.
    """

    kind: str
    suffixes: tuple[str, ...]
    problems: Callable[[Sequence[Path]], list[str]]
    strict: bool = False

    def has(self, path: Path) -> bool:
        """Whether a path is called like such a file."""
        return path.suffix.lower() in self.suffixes and not path.name.startswith(".") and not path.is_dir()

    def files(self, folder: Path) -> list[Path]:
        """Such files below ``folder``, in order of their paths."""
        return [path for path in visible_files(folder) if self.has(path)]


def read_folder(folder: Path, type: FileType, labelled: bool = True) -> Domain:
    """The files under ``folder``; their class is the first folder on the way, if labels are to be read."""
    if labelled:
        classes = _classes(folder, type)
        domain = read_classes(folder, classes, type)
        if note := _split(folder, classes):
            domain = replace(domain, notes=(*domain.notes, note))
    else:
        domain = checked(folder, type.files(folder), None, type)
    others = [path for path in visible_files(folder) if not type.has(path) and path.name not in CLUTTER]
    first = others[0].relative_to(folder).as_posix() if others else ""
    return replace(domain, notes=(*domain.notes, *of_other_types(folder, type, len(others), first)))


def of_other_types(folder: Path, type: FileType, count: int, first: str) -> tuple[str, ...]:
    """A sentence on files that are not of the type, if there are any."""
    sentence = f"{count} files in {folder} do not end like {type.kind} and are left out, {first} first."
    return (sentence,) if count else ()


def _classes(folder: Path, type: FileType) -> list[str]:
    classes = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not classes:
        raise ValueError(f"{folder} has no class folders: put the {type.kind} of each class in a folder of its own.")
    return classes


def _split(folder: Path, classes: Sequence[str]) -> str:
    """A note on folders that look like the parts of a dataset, each with the classes in it."""
    inner = [{entry.name for entry in (folder / name).iterdir() if entry.is_dir()} for name in classes]
    if len(classes) < 2 or not inner[0] or any(names != inner[0] for names in inner):
        return ""
    first, second = classes[:2]
    return (
        f"The classes {first} and {second} of {folder} hold the same folders, {min(inner[0])} for one: if those are "
        f"the classes, give {folder / first} instead."
    )


def read_classes(folder: Path, classes: Sequence[str], type: FileType) -> Domain:
    """The files of the given class folders; each must have some."""
    files: list[Path] = []
    labels: list[str] = []
    for name in classes:
        of_class = type.files(folder / name)
        if not of_class:
            raise ValueError(f"The class folder {folder / name} has no {type.kind}: fill it or remove it.")
        files += of_class
        labels += [class_called(name)] * len(of_class)
    domain = checked(folder, files, labels, type)
    lost = [name for name in classes if class_called(name) not in domain.labels]
    if lost:
        raise ValueError(f"No file of the class folder {folder / lost[0]} can be read: mend it or remove it.")
    loose = [path.name for path in folder.iterdir() if type.has(path)]
    if loose:
        note = (
            f"{len(loose)} {type.kind} lie beside the class folders of {folder} and are left out, {min(loose)} first."
        )
        domain = replace(domain, notes=(*domain.notes, note))
    return domain


def class_called(folder: str) -> str:
    """The class that a folder stands for; file systems write the same letter in two ways."""
    return unicodedata.normalize("NFC", folder)


def visible_files(folder: Path) -> list[Path]:
    """Files below ``folder`` in order of their paths, hidden ones left out."""
    return list(each_visible(folder))


def each_visible(folder: Path) -> Iterator[Path]:
    """The same one by one; only the names in one folder are in memory at a time."""
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        if os.path.realpath(place) in seen:  # a link that leads back
            folders.clear()
            continue
        seen.add(os.path.realpath(place))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in sorted(files) if not name.startswith("."))


def checked(folder: Path, files: Sequence[Path], labels: Sequence[str] | None, type: FileType) -> Domain:
    """Those files that can be read; if ``type`` is strict, all must be."""
    if not files:
        raise no_files(folder, type)
    reasons = type.problems(files)
    bad = [place for place, reason in enumerate(reasons) if reason]
    if bad and (type.strict or len(bad) == len(files)):
        raise ValueError(reasons[bad[0]])
    names = [path.relative_to(folder).as_posix() for path in files]
    return Domain(type.kind, list(files), names, labels).without(bad, "files cannot be read")


def no_files(folder: Path, type: FileType) -> ValueError:
    """One sentence for a folder without any file of the type."""
    endings = ", ".join(type.suffixes)
    return ValueError(f"There are no {type.kind} in {folder}: it needs files that end in one of {endings}.")
