"""Folders of images: one subfolder a class for the source, any layout for the target."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cst.data.collection import Collection
from cst.data.images import problems
from cst.data.readers import IMAGES

CLUTTER = ("Thumbs.db", "desktop.ini")
"""What file managers leave behind."""


def read_folder(folder: Path, labelled: bool = True, strict: bool = False) -> Collection:
    """The images under ``folder``; their class is the first folder on the way, if labels are wanted."""
    if labelled:
        classes = _classes(folder)
        found = read_classes(folder, classes, strict)
        if note := _split(folder, classes):
            found = replace(found, notes=(*found.notes, note))
    else:
        found = checked(folder, image_files(folder), None, strict)
    others = [path for path in visible_files(folder) if not _is_image(path) and path.name not in CLUTTER]
    if others:
        first = others[0].relative_to(folder).as_posix()
        note = f"{len(others)} files in {folder} do not end like images and are left out, {first} first."
        found = replace(found, notes=(*found.notes, note))
    return found


def _classes(folder: Path) -> list[str]:
    found = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if not found:
        raise ValueError(f"{folder} has no class folders: put the images of each class in a folder of its own.")
    return found


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


def read_classes(folder: Path, classes: Sequence[str], strict: bool = False) -> Collection:
    """The images of the given class folders; each must have some."""
    files, labels = [], []
    for name in classes:
        own = image_files(folder / name)
        if not own:
            raise ValueError(f"The class folder {folder / name} has no images: fill it or remove it.")
        files += own
        labels += [class_called(name)] * len(own)
    found = checked(folder, files, labels, strict)
    lost = [name for name in classes if class_called(name) not in (found.labels or ())]
    if lost:
        raise ValueError(f"No image of the class folder {folder / lost[0]} can be read: mend it or remove it.")
    loose = [path.name for path in folder.iterdir() if _is_image(path)]
    if loose:
        note = f"{len(loose)} images lie beside the class folders of {folder} and are left out, {min(loose)} first."
        found = replace(found, notes=(*found.notes, note))
    return found


def class_called(folder: str) -> str:
    """The class that a folder stands for; file systems write the same letter in two ways."""
    return unicodedata.normalize("NFC", folder)


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in IMAGES and not path.name.startswith(".") and not path.is_dir()


def image_files(folder: Path) -> list[Path]:
    """Files below ``folder`` that are called like images, in order of their paths."""
    return [path for path in visible_files(folder) if _is_image(path)]


def visible_files(folder: Path) -> list[Path]:
    """Files below ``folder`` in order of their paths, hidden ones left out."""
    found = []
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        if os.path.realpath(place) in seen:  # a link that leads back
            folders.clear()
            continue
        seen.add(os.path.realpath(place))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(place, name) for name in sorted(files) if not name.startswith(".")]
    return found


def checked(folder: Path, files: Sequence[Path], labels: Sequence[str] | None, strict: bool) -> Collection:
    """Those files that can be read; with ``strict`` all must be."""
    if not files:
        kinds = ", ".join(IMAGES)
        raise ValueError(f"There are no images in {folder}: it needs files that end in one of {kinds}.")
    trouble = problems(files)
    bad = [place for place, reason in enumerate(trouble) if reason]
    if bad and (strict or len(bad) == len(files)):
        raise ValueError(trouble[bad[0]])
    names = [path.relative_to(folder).as_posix() for path in files]
    return Collection("images", list(files), names, labels).without(bad)
