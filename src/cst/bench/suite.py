"""A suite: methods on tasks that belong in one table, read from a file of our own or of the user's.

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
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from cst.config import config_from
from cst.config.options import DEFAULT_TASK, load_options, name_of_data
from cst.grammar import adjusted, make, parse_method
from cst.methods import CATALOGUE
from cst.spelling import unknown

FOLDER = files("cst.bench") / "suites"
FILES = (".yaml", ".yml")
OF_A_PART = ("methods", "tasks", "settings", "seeds", "name", "note")
OF_A_SUITE = ("title", "methods", "tasks", "settings", "seeds", "figures", "paper", "against", "parts")
ACCURACY = "accuracy"
SEEDS = 3
OF_A_RUN = ("verdict", "milliseconds_per_step", "target_accuracy", "oracle_epoch_accuracy")
"""What a table may show beside the metrics."""


@dataclass(frozen=True)
class Variant:
    """One cell of a table: a method on a task."""

    line: str
    column: str
    config: dict[str, Any]
    seeds: int | None = None
    """How many seeds it has at most."""
    group: str = ""
    """The table that it belongs to, where a suite has several."""
    note: str = ""

    @property
    def name(self) -> str:
        """What progress calls it."""
        return f"{self.line} {self.column}".rstrip()


@dataclass(frozen=True)
class Beside:
    """The paper's table that stands beside a suite's.

    Attributes:
        table: its name in `paper.yaml`.
        columns: our columns that are called otherwise there.
        comparable: whether a difference means anything: not where the data are others.
    """

    table: str
    columns: Mapping[str, str] = field(default_factory=dict)
    comparable: bool = True


@dataclass(frozen=True)
class Suite:
    """What belongs in one table, or in a few."""

    name: str
    title: str
    variants: tuple[Variant, ...]
    seeds: int = 3
    figures: tuple[str, ...] = (ACCURACY,)
    paper: Beside | None = None
    against: str = ""
    """The line that no other should fall below."""


def suite_names() -> list[str]:
    """The suites that come with the package."""
    return sorted(file.name.removesuffix(".yaml") for file in FOLDER.iterdir() if file.name.endswith(".yaml"))


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
        blocks.append(block)
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
    return Suite(
        name,
        str(values.get("title", name)),
        tuple(variants.values()),
        seeds,
        _figures(values.get("figures", [ACCURACY]), where),
        _beside(values.get("paper"), where),
        str(values.get("against", "")),
    )


_BETWEEN = re.compile(r",(?![^(]*\))")
"""A comma between names, not one between the options of a term."""


def _check_keys(values: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in values:
        if key not in known:
            raise ValueError(f"{where}: {unknown('entry', str(key), known)}")


def _count(seeds: Any, where: str) -> int:
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise ValueError(f"{where}: seeds must be a whole number of at least 1, got {seeds!r}.")
    return seeds


def _figures(names: Any, where: str) -> tuple[str, ...]:
    from cst.engine.metrics import METRICS

    known = [name for name, metric in METRICS.items() if metric.compute] + list(OF_A_RUN)
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
    return [] if values is None else values if isinstance(values, list) else [values]


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
            entries.append((str(value.get("name") or _label(settings, kind)), settings))
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
            yield Variant(line, column, config, seeds, str(block.get("name", "")), str(block.get("note", "")))


def _keep(blocks: list[dict[str, Any]], kind: str, names: list[str], where: str) -> None:
    """Leave the named lines or columns in the blocks; a name that no block has is added to all."""
    known = [dict(_entries(block.get(kind), kind, where)) for block in blocks]
    for block, entries in zip(blocks, known, strict=True):
        block[kind] = []
        for name in names:
            short = name if kind == "methods" else name.partition(":")[2] or name
            if name in entries or short in entries:
                block[kind].append({"name": short, **entries.get(short, entries.get(name, {}))})
            elif not any(name in others or short in others for others in known):
                block[kind].append(_added(name, kind, where, known))
    blocks[:] = [block for block in blocks if block[kind]]


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
    entries = {"table": value} if isinstance(value, str) else _mapping(value, where)
    _check_keys(entries, tuple(item.name for item in dataclasses.fields(Beside)), where)
    beside = Beside(**{"table": "", **entries})
    if beside.table not in paper_tables():
        raise ValueError(f"{where}: {unknown('table of the paper', beside.table, paper_tables())}")
    return beside


def _check(variant: Variant, where: str) -> None:
    """Refuse a run that cannot be before any is begun."""
    from cst.tasks.catalogue import TASKS

    config = config_from(variant.config, where=f"{where}: {variant.name}")
    for part in adjusted(parse_method(config.method), config.weight, config.option).terms:
        make(part)  # which refuses options that it does not know
    if config.source is None and config.task_name not in TASKS:
        raise ValueError(f"{where}: {unknown('task', config.task_name, TASKS)}")


def with_seeds(suite: Suite, seeds: int | None) -> Suite:
    """The suite with at most so many seeds, or with as many as it asks for."""
    if seeds is None:
        return suite
    # A variant that asks for fewer than the suite does keeps to it.
    few = tuple(
        replace(v, seeds=min(v.seeds or seeds, seeds) if (v.seeds or 0) < suite.seeds else seeds)
        for v in suite.variants
    )
    return replace(suite, variants=few, seeds=seeds)
