"""A task of the user's own files."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.config import OWN_DATA, Config
from cst.data.collection import Collection, Wanted, same_kind, task_of
from cst.data.readers import ARRAYS, TABLES, is_saved_dataset, kind_of, read

if TYPE_CHECKING:
    from cst.data.domains import Task

FOLDERS = "folders"


def own_collections(config: Config, columns: tuple[str, ...] = ()) -> tuple[Collection, Collection, list[Any] | None]:
    """Source, target, and the target's labels where there are any."""
    if config.source is None or config.target is None:
        raise ValueError("This run was trained on data of your own: name them with --source and --target.")
    same_kind(*(kind_of(path, config.text) for path in (config.source, config.target)))
    if config.source.is_dir() and config.source.resolve() in config.target.resolve().parents:
        raise ValueError(f"The target {config.target} lies in the source, as a class of it: move it out of there.")
    wanted = Wanted(config.text, config.label, columns=columns, strict=config.strict)
    source = read(config.source, wanted)
    if config.target_labels in source.columns:
        raise ValueError(
            f"--target-labels {config.target_labels}: the source has this column too, as an input; drop it there."
        )
    target = read(config.target, dataclasses.replace(wanted, labels=False, columns=source.columns))
    truth = None if config.target_labels is None else target_labels(config.target, target, config)
    return source, target, truth


def own_task(config: Config, columns: tuple[str, ...] = (), tokenizer: Any = None) -> Task:
    """Source and target as the configuration names them."""
    source, target, truth = own_collections(config, columns)
    return task_of(source, target, config, OWN_DATA, truth, tokenizer=tokenizer)


def target_labels(path: Path, target: Collection, config: Config) -> list[Any]:
    """Labels of the target for evaluation: of its folders, of a column of its own, or of another file."""
    named = config.target_labels
    assert named
    if named == FOLDERS:
        if target.kind != "images" or is_saved_dataset(path):
            raise ValueError("--target-labels folders needs a target of image files in class folders.")
        return _of_folders(target.names, path)
    if Path(named).suffix.lower() in ARRAYS:
        from cst.data.readers.arrays import load_labels

        return _as_many(load_labels(Path(named)).tolist(), target, named)
    if Path(named).suffix.lower() in TABLES:
        return _of_table(Path(named), target)
    if target.kind == "images" and not is_saved_dataset(path):
        raise ValueError(
            f"--target-labels {named}: for a folder of images give 'folders' or a .csv with the columns file and label."
        )
    wanted = Wanted(config.text, named, columns=target.columns, label_flag="--target-labels", gaps=True)
    found = read(path, wanted).labels
    return [] if found is None else list(found)


def _of_folders(names: Sequence[str], path: Path) -> list[str | None]:
    """The class folder of each image; None for an image that lies in none."""
    from cst.data.readers.folders import class_called

    if not any("/" in name for name in names):
        raise ValueError(f"{path / names[0]} lies in no class folder, nor does another image: there are no labels.")
    return [class_called(name.partition("/")[0]) if "/" in name else None for name in names]


def _of_table(path: Path, target: Collection) -> list[Any]:
    from cst.data.readers.tables import columns_of, labels_of

    columns = columns_of(path)
    labels = labels_of(columns, path, None, "the header 'label'", gaps=True)
    which = "file" if target.kind == "images" or "file" in columns else "row"  # as in what 'cst predict' writes
    if which not in columns and target.kind == "images":
        raise ValueError(f"{path} has no column 'file': the labels of images need the name of each.")
    if which not in columns:
        return _as_many(labels, target, str(path))
    known: dict[str, Any] = {}
    for name, label in zip(map(_with_slashes, columns[which]), labels, strict=True):
        if known.setdefault(name, label) != label:
            raise ValueError(f"{path} names {name} twice, with the labels {known[name]} and {label}: keep one of them.")
    names = [_with_slashes(name) for name in target.names]
    if not any(name in known for name in names):
        raise ValueError(f"{path} names no {which} of the target in its column '{which}': write them like {names[0]}.")
    return [known.get(name) for name in names]


def _with_slashes(name: Any) -> str:
    return str(name).strip().replace("\\", "/")


def _as_many(labels: list[Any], target: Collection, where: str) -> list[Any]:
    """One label for each row or file, of which some may have been left out."""
    count = len(target) + len(target.unreadable)
    if len(labels) != count:
        raise ValueError(f"{where} has {len(labels)} labels for {count} samples of the target: give one each.")
    if not target.unreadable:
        return labels
    if not all(name.isdigit() for name in target.names):
        raise ValueError(
            f"{where}: {target.unreadable[0]} of the target cannot be read; give the labels as a .csv with the columns "
            "file and label."
        )
    return [labels[int(row)] for row in target.names]
