"""A task of the user's own data: files, or what is in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cst.config.options import ARRAYS, LISTS, OWN_DATA, Config
from cst.data.columns import Column
from cst.data.domain import Domain, Reading
from cst.data.labels import check_classes
from cst.data.readers import ARRAYS as ARRAY_FILES
from cst.data.readers import TABLES, is_saved_dataset
from cst.data.readers.memory import table_in_memory
from cst.data.readers.tables import Table
from cst.data.task import Task, make_task, same_kind
from cst.kinds import KINDS, kind_of_path, kind_of_table, read_items, read_path

FOLDERS = "folders"


def own_domains(config: Config, columns: tuple[Column, ...] = ()) -> tuple[Domain, Domain, list[Any] | None]:
    """Source, target, and the target's labels where there are any."""
    if config.source is None or config.target is None:
        raise ValueError("This run was trained on data of your own: name them with source= and target=.")
    only, drop = config.columns or (), config.drop or ()
    reading = Reading(
        config.text,
        config.label,
        columns=columns,
        only=only,
        drop=drop,
        strict=config.strict,
        fill=not config.strict,
    )
    kind, other = (kind_of_path(path, reading) for path in (config.source, config.target))
    same_kind(kind.name, other.name)
    if (only or drop) and not kind.has_columns:
        raise ValueError(f"columns= and drop= choose numbers of a table, but the data are {kind.name}: leave them out.")
    if config.source.is_dir() and config.source.resolve() in config.target.resolve().parents:
        raise ValueError(f"The target {config.target} lies in the source, as a class of it: move it out of there.")
    source = kind.read_path(config.source, reading)
    if config.target_labels in [column.name for column in source.columns]:
        raise ValueError(
            f"target_labels={config.target_labels}: the source has this column too, as an input; drop it there."
        )
    target = kind.read_path(config.target, replace(reading, labels=False, columns=source.columns, role="target"))
    if config.target_labels is None:
        return source, target, None
    truth, notes = target_labels(config.target_labels, config, target)
    return source, replace(target, notes=(*target.notes, *notes)), truth


def own_task(config: Config, columns: tuple[Column, ...] = ()) -> Task:
    """Source and target as the configuration names them."""
    source, target, truth = own_domains(config, columns)
    if KINDS[source.kind].unit == "row":  # folders are classes because somebody made them so
        check_classes(source.labels)
    return make_task(OWN_DATA, source, target, truth, notes=KINDS[source.kind].remarks(source, target))


def task_in_memory(source: Any, target: Any, target_labels: Any = None, reading: Reading | None = None) -> Task:
    """A task of ``source = (inputs, labels)``, a table or a dataset of pairs, and ``target`` inputs or the like.

    Of data frames and datasets with named columns, ``reading`` says which are text, labels and inputs.
    """
    if isinstance(target, str | os.PathLike):
        raise ValueError("target is a path, so source must be one too.")
    reading = reading or Reading()
    table, target_table = table_in_memory(source, "source"), table_in_memory(target, "target")
    inputs, labels = (source, None) if table else _split(source)
    _check_names(reading, table or table_in_memory(inputs, "source"), target_table)
    first = _in_memory(inputs, table, replace(reading, labels=table is not None))
    second = _in_memory(target, target_table, replace(reading, labels=False, columns=first.columns, role="target"))
    if table:
        labels = first.labels
    if isinstance(target_labels, str):
        target_labels = _of_column(target_labels, target_table, second)
    if labels is None:
        raise ValueError("The source has no labels: give one label for each input.")
    check_classes(labels)
    first = replace(first, labels=labels)
    name = LISTS if isinstance(first.items, Sequence) else ARRAYS
    same_kind(first.kind, second.kind)
    return make_task(name, first, second, target_labels, notes=KINDS[first.kind].remarks(first, second))


def _in_memory(items: Any, table: Table | None, reading: Reading) -> Domain:
    """A table by the names of its columns, anything else as it is."""
    table = table or table_in_memory(items, reading.role)
    if table is None:
        return read_items(items, reading)
    kind = kind_of_table(table, reading)
    if (reading.only or reading.drop) and not kind.has_columns:
        raise ValueError(f"columns= and drop= choose numbers of a table, but the data are {kind.name}: leave them out.")
    apart = reading.role == "source" and not reading.labels  # labels that a row left out would not take with it
    return kind.read_table(table, replace(reading, strict=reading.strict or apart))


def _check_names(reading: Reading, *tables: Table | None) -> None:
    for option, name in {"text=": reading.text, "label=": reading.label}.items():
        if name is not None and not any(tables):
            raise ValueError(f"{option} names a column, which arrays and lists do not have: give a frame or a dataset.")


def _of_column(name: str, table: Table | None, target: Domain) -> list[Any]:
    """Labels of the target, for evaluation, in one of its columns."""
    from cst.data.readers.tables import labels_of

    if table is None:
        raise ValueError(f"target_labels='{name}' names a column, but the target has none: give one label each.")
    if name in [column.name for column in target.columns]:
        raise ValueError(f"target_labels={name}: the source has this column too, as an input; drop it there.")
    return _as_many(labels_of(table.columns, table.where, name, "target_labels=", gaps=True), target, table.where)


def _split(source: Any) -> tuple[Any, Any]:
    """Inputs and labels of the source."""
    from torch.utils.data import Dataset, TensorDataset

    from cst.data.arrays import labels_of_dataset

    if isinstance(source, TensorDataset):
        if len(source.tensors) < 2:
            raise ValueError("The source dataset has no labels: its items must be pairs (input, label).")
        return source.tensors[0], source.tensors[1]
    if isinstance(source, Dataset):
        return source, labels_of_dataset(source)
    if not isinstance(source, tuple | list) or len(source) != 2:
        raise ValueError(
            "source must be a pair (inputs, labels), a table with a column of labels, or a dataset of pairs, "
            f"got {type(source).__name__}."
        )
    return source[0], source[1]


def target_labels(named: str, config: Config, target: Domain) -> tuple[list[Any], tuple[str, ...]]:
    """Labels of the target for evaluation, of its folders, one of its columns or another file, and what to say."""
    path = config.target or Path()
    files = path.is_dir() and not is_saved_dataset(path)
    if named == FOLDERS:
        if not files:
            raise ValueError("target_labels=folders needs a target of image files in class folders.")
        return _of_folders(target.names, path), ()
    if Path(named).suffix.lower() in ARRAY_FILES:
        from cst.data.readers.arrays import load_labels

        return _as_many(load_labels(Path(named)).tolist(), target, named), ()
    if Path(named).suffix.lower() in TABLES:
        return _of_table(Path(named), target, config)
    if files:
        raise ValueError(
            f"target_labels={named}: for a folder of images give 'folders' or a .csv with the columns file and label."
        )
    reading = Reading(config.text, named, columns=target.columns, label_option="target_labels=", gaps=True)
    labels = read_path(path, reading).labels
    return [] if labels is None else list(labels), ()


def _of_folders(names: Sequence[str], path: Path) -> list[str | None]:
    """The class folder of each image; None for an image that lies in none."""
    from cst.data.readers.folders import class_called

    if not any("/" in name for name in names):
        raise ValueError(f"{path / names[0]} lies in no class folder, nor does another image: there are no labels.")
    return [class_called(name.partition("/")[0]) if "/" in name else None for name in names]


def _of_table(path: Path, target: Domain, config: Config) -> tuple[list[Any], tuple[str, ...]]:
    """By the names of files or rows, by a column that tells rows apart in both tables, or in order."""
    from cst.data.readers.tables import LABEL, columns_of, labels_of

    columns = columns_of(path)
    named = config.label_column or (config.label if config.label in columns else LABEL)
    labels = labels_of(columns, str(path), named, "label_column=", gaps=True)
    unit = KINDS[target.kind].unit
    which = "file" if "file" in columns else unit  # as in what 'cst predict' writes
    if which not in columns and unit == "file":
        raise ValueError(f"{path} has no column 'file': the labels of images need the name of each.")
    names = [_with_slashes(name) for name in target.names]
    if which not in columns:
        shared = _shared_column(columns, named, config)
        if shared is None:
            return _as_many(labels, target, str(path)), ()
        which, cells = shared
        names = [_with_slashes(cells[int(row)]) for row in target.names]
    known: dict[str, Any] = {}
    for name, label in zip(map(_with_slashes, columns[which]), labels, strict=True):
        if known.setdefault(name, label) != label:
            raise ValueError(f"{path} names {name} twice, with the labels {known[name]} and {label}: keep one of them.")
    if not any(name in known for name in names):
        raise ValueError(f"{path} names no {which} of the target in its column '{which}': write them like {names[0]}.")
    strange = [name for name in known if name not in set(names)]
    notes = [f"The labels in {path} are matched by its column '{which}'."] if which not in ("file", "row") else []
    if strange:
        notes.append(f"{len(strange)} labels in {path} belong to no {which} of the target, {which} {strange[0]} first.")
    return [known.get(name) for name in names], tuple(notes)


def _shared_column(columns: Mapping[str, list[Any]], label: str | None, config: Config) -> tuple[str, list[Any]] | None:
    """A column that tells rows apart in the file of labels and in the target, with the target's values."""
    from cst.data.columns import telling_rows_apart
    from cst.data.readers import is_table, read_columns

    if config.target is None or not is_table(config.target):
        return None
    theirs = read_columns(config.target)
    both = [name for name in columns if name in theirs and name != label]
    apart = [name for name in telling_rows_apart(columns, both) if telling_rows_apart(theirs, [name])]
    return (apart[0], theirs[apart[0]]) if apart else None


def _with_slashes(name: Any) -> str:
    return str(name).strip().replace("\\", "/")


def _as_many(labels: list[Any], target: Domain, where: str) -> list[Any]:
    """One label for each row or file, of which some may have been left out."""
    count = len(target) + len(target.left_out)
    if len(labels) != count:
        raise ValueError(f"{where} has {len(labels)} labels for {count} samples of the target: give one each.")
    if not target.left_out:
        return labels
    if not all(name.isdigit() for name in target.names):
        raise ValueError(
            f"{where}: {target.left_out[0]} of the target cannot be read; give the labels as a .csv with the columns "
            "file and label."
        )
    return [labels[int(row)] for row in target.names]
