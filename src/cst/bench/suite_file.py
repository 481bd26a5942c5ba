"""A suite, read from a file of our own or of the user's.

::

    title: My scanners
    settings: {epochs: 20}                      # of every run; all that `cst train --config` takes
    methods: [source-only, cst, {name: long cst, method: cst, epochs: 40}]
    tasks:
      - office-home:Ar-Cl                       # a name from `cst tasks`; office-home:* for all pairs
      - {name: scans, source: photos/, target: scans/, target_labels: truth.csv}
    seeds: 3
    figures: [accuracy, total_variation]        # the columns of each task; accuracy if not given
    paper: office-home                          # whose table of the paper stands beside it
    against: source-only                        # whose lead each method is asked to keep
    parts: [...]                                # or several blocks of methods, tasks, settings, seeds, name and note

Methods are the lines of the table and tasks its columns.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cst.bench.suite import ACCURACY, FOLDER, Beside, Suite, Variant, suite_names
from cst.config import config_from
from cst.config.options import DEFAULT_TASK, load_options, name_of_data
from cst.grammar import adjusted, make, parse_method
from cst.methods import CATALOGUE
from cst.spelling import unknown

FILES = (".yaml", ".yml")
OF_A_PART = ("methods", "tasks", "settings", "seeds", "name", "note")
OF_A_SUITE = ("title", "methods", "tasks", "settings", "seeds", "figures", "paper", "against", "parts")
SEEDS = 3
OF_EACH_RUN = ("seed", "out")
"""What a suite decides itself."""
OF_THE_TABLE = ("method", "task", "source", "target", *OF_EACH_RUN)
"""What lines and columns are made of: a setting for all runs would make them all alike."""
OF_A_RUN = ("verdict", "milliseconds_per_step", "target_accuracy", "oracle_epoch_accuracy")
"""What a table may show beside the metrics."""


def find_suite(name: str, methods: str | None = None, tasks: str | None = None, settings: Any = None) -> Suite:
    """The suite of that name or in that file.

    Args:
        name: of a suite of ours, or the path of a file.
        methods: only these lines, names with commas between; a method that is not among them becomes one.
        tasks: only these columns likewise.
        settings: of every run, over those of the suite.
    """
    is_file = name.endswith(FILES)
    if not is_file and name not in suite_names():
        raise ValueError(f"{unknown('suite', name, suite_names())} Or name a file that ends in .yaml.")
    path = Path(name) if is_file else Path(str(FOLDER / f"{name}.yaml"))
    return read_suite(path.stem, load_options(path), str(path) if is_file else name, methods, tasks, settings)


def read_suite(
    name: str,
    values: Mapping[str, Any],
    where: str,
    methods: str | None = None,
    tasks: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Suite:
    """A suite of plain values; ``where`` names their origin in an error."""
    _check_keys(values, OF_A_SUITE, where)
    parts = values.get("parts") or [{}]
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError(f"{where}: parts must be a list of blocks with methods, tasks and settings of their own.")
    blocks = []
    for part in parts:
        _check_keys(part, OF_A_PART, where)
        block = {key: values[key] for key in ("methods", "tasks", "seeds") if key in values} | part
        block["settings"] = {**_mapping(values.get("settings"), where), **_mapping(part.get("settings"), where)}
        _refuse(block["settings"], OF_EACH_RUN, where)
        blocks.append(block)
    _refuse(settings or {}, OF_THE_TABLE, "--set")
    if not any("methods" in block for block in blocks) and methods is None:
        raise ValueError(f"{where} names no methods: add a line such as 'methods: [source-only, cst]'.")
    for kind, names in (("methods", methods), ("tasks", tasks)):
        if names is not None:
            _keep(blocks, kind, [word.strip() for word in _BETWEEN.split(names)], where)
    seeds = _count(values.get("seeds", SEEDS), where)
    variants: dict[tuple[str, str, str], Variant] = {}
    for block in blocks:
        for variant in _variants(block, where, seeds, settings or {}):
            key = variant.group, variant.line, variant.column
            other = variants.get(key)
            if other is not None and other.config != variant.config:
                raise ValueError(f"{where}: two runs are called '{variant.name}': give one another name.")
            if other is None or (variant.seeds or 0) > (other.seeds or 0):
                variants[key] = variant
    if not variants:
        raise ValueError(f"{where} has no run: name methods and tasks in it.")
    for variant in variants.values():
        _check(variant, where)
    lines = list(dict.fromkeys(variant.line for variant in variants.values()))
    against = str(values.get("against", ""))
    if against and methods is None and against not in lines:
        raise ValueError(f"{where}, against: {unknown('method', against, lines)}")
    return Suite(
        name,
        _one_line(values.get("title", name)),
        tuple(variants.values()),
        seeds,
        check_figures(values.get("figures", [ACCURACY]), where),
        _beside(values.get("paper"), where),
        against,
    )


_BETWEEN = re.compile(r",(?![^(]*\))")
"""A comma between names, not one between the options of a term."""


def _one_line(words: Any) -> str:
    return " ".join(str(words).split())


def _refuse(settings: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in names:
        if name in settings:
            raise ValueError(f"{where}: '{name}' is not for all runs to share: name methods, tasks and seeds instead.")


def _check_keys(values: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in values:
        if key not in known:
            raise ValueError(f"{where}: {unknown('key', str(key), known)}")


def _count(seeds: Any, where: str) -> int:
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise ValueError(f"{where}: seeds must be a whole number of at least 1, got {seeds!r}.")
    return seeds


def check_figures(names: Any, where: str) -> tuple[str, ...]:
    """Names of what a table shows of a run, all of them known."""
    from cst.engine.metrics import METRICS

    known = [name for name, metric in METRICS.items() if metric.compute and name != "pseudo_label_distribution"]
    known += OF_A_RUN
    for name in _listed(names):
        if name not in known:
            raise ValueError(f"{where}: {unknown('figure', str(name), known)}")
    return tuple(_listed(names))


def _mapping(values: Any, where: str) -> dict[str, Any]:
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ValueError(f"{where}: settings must be options with values, such as 'epochs: 20', got {values!r}.")
    return values


def _listed(values: Any) -> list[Any]:
    return [] if values is None else list(values) if isinstance(values, list | tuple) else [values]


def _entries(values: Any, kind: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Lines or columns: what each is called, and its settings."""
    entries: list[tuple[str, dict[str, Any]]] = []
    for value in _listed(values):
        if isinstance(value, str) and kind == "methods":
            entries += [(name, {"method": name}) for name in (CATALOGUE if value == "*" else [value])]
        elif isinstance(value, str):
            entries += [(name.partition(":")[2] or name, {"task": name}) for name in _tasks_like(value)]
        elif isinstance(value, dict):
            settings = {key: item for key, item in value.items() if key != "name"}
            entries.append((_one_line(value.get("name") or _label(settings, kind)), settings))
        else:
            raise ValueError(f"{where}: {kind} must be names, or entries with a name and settings, got {value!r}.")
    return entries


def _tasks_like(name: str) -> list[str]:
    """A task, or all pairs of a family: ``office-home:*``."""
    from cst.tasks.catalogue import TASKS

    if not name.endswith(":*"):
        return [name]
    members = [task for task in TASKS if task.startswith(name[:-1])]
    if not members:
        raise ValueError(unknown("task", name, dict.fromkeys(task.partition(":")[0] + ":*" for task in TASKS)))
    return members


def _label(settings: Mapping[str, Any], kind: str) -> str:
    """A name made of settings: that of the method or the data, and what differs."""
    if kind == "tasks":
        sides = (Path(str(settings[side])) if side in settings else None for side in ("source", "target"))
        return name_of_data(str(settings.get("task", DEFAULT_TASK)), *sides)
    words = [
        str(value) if key in ("option", "weight") else f"{key}={value}"
        for key, value in settings.items()
        if key != "method"
    ]
    return ", ".join([str(settings.get("method", "cst")), *words])


def _variants(block: Mapping[str, Any], where: str, usual_seeds: int, over: Mapping[str, Any]) -> Iterable[Variant]:
    lines = _entries(block.get("methods", "cst"), "methods", where)
    columns = _entries(block.get("tasks"), "tasks", where) or [("", {})]
    seeds = _count(block.get("seeds", usual_seeds), where)
    for column, of_task in columns:
        for line, of_method in lines:
            config = {**block["settings"], **of_task, **of_method, **over}
            group, note = (_one_line(block.get(key, "")) for key in ("name", "note"))
            yield Variant(line, column, config, seeds, group, note)


def _keep(blocks: list[dict[str, Any]], kind: str, names: list[str], where: str) -> None:
    """Leave the named lines or columns in the blocks; a name that none has is added."""
    known = [dict(_entries(block.get(kind), kind, where)) for block in blocks]
    for name in [member for word in names for member, _ in _expanded(word, kind, where)]:
        places = [_place(name, entries, kind) for entries in known]
        if not any(places):
            for block in blocks if kind == "methods" else blocks[:1]:
                block.setdefault(NEW, []).append(_added(name, kind, where, known))
        for block, entries, place in zip(blocks, known, places, strict=True):
            if place:
                block.setdefault(NEW, []).append({"name": place, **entries[place]})
    for block in blocks:
        block[kind] = block.pop(NEW, [])
    blocks[:] = [block for block in blocks if block[kind]]


NEW = "kept"


def _expanded(name: str, kind: str, where: str) -> list[tuple[str, Any]]:
    """``*`` and ``office-home:*`` stand for several; a task of a family keeps its whole name."""
    if kind == "tasks":
        return [(member, None) for member in _tasks_like(name)]
    return _entries("*", kind, where) if name == "*" else [(name, None)]


def _place(name: str, entries: Mapping[str, Mapping[str, Any]], kind: str) -> str:
    """What a block calls the line or column of that name; empty if it has none."""
    if kind == "tasks" and ":" in name:
        return next((label for label, settings in entries.items() if settings.get("task") == name), "")
    return name if name in entries else ""


def _added(name: str, kind: str, where: str, known: list[dict[str, Any]]) -> str:
    from cst.tasks.catalogue import TASKS

    members = list(dict.fromkeys(member for entries in known for member in entries))
    if kind == "methods":
        try:
            parse_method(name)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    elif name not in TASKS:
        raise ValueError(f"{where}: {unknown('task', name, members or TASKS)}")
    return name


def _beside(value: Any, where: str) -> Beside | None:
    from cst.bench.paper import paper_tables

    if value is None:
        return None
    if not isinstance(value, str | dict):
        raise ValueError(f"{where}: paper must be the name of one of its tables, got {value!r}.")
    entries = {"table": value} if isinstance(value, str) else value
    _check_keys(entries, tuple(item.name for item in dataclasses.fields(Beside)), where)
    beside = Beside(**{"table": "", **entries})
    if not isinstance(beside.columns, dict) or not isinstance(beside.comparable, bool):
        raise ValueError(f"{where}, paper: columns must name columns, and comparable must be true or false.")
    if beside.table not in paper_tables():
        raise ValueError(f"{where}: {unknown('paper table', beside.table, paper_tables())}")
    return beside


def _check(variant: Variant, where: str) -> None:
    """Refuse a run that cannot be before any is begun."""
    from cst.tasks.catalogue import TASKS

    try:
        config = config_from(variant.config, where="settings")
        for part in adjusted(parse_method(config.method), config.weight, config.option).terms:
            make(part)  # which refuses options that it does not know
    except ValueError as error:
        # An option of a file is no flag: 'epochs= must be' becomes 'epochs must be'.
        sentence = re.sub(r"\b([a-z_]+)=(?=[\s:,.])", r"\1", str(error))
        raise ValueError(f"{where}, {variant.name}: {sentence}") from None
    if config.source is None and config.task_name not in TASKS:
        raise ValueError(f"{where}: {unknown('task', config.task_name, TASKS)}")
