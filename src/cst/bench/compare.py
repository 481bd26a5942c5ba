"""`compare`: several methods on the user's own data, in one call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cst.api import adapt
from cst.bench.engines import sentence_of
from cst.bench.facts import facts_of
from cst.bench.job import slug
from cst.bench.progress import SuiteProgress
from cst.bench.rows import row
from cst.bench.suite import ACCURACY, Suite
from cst.bench.suite_file import check_figures
from cst.bench.tables import Table, tables_of
from cst.bench.writers import comma_separated, fragment, latex, markdown
from cst.config import Settings
from cst.engine.adapted import Adapted
from cst.engine.run import Run
from cst.grammar import parse_method
from cst.spelling import printable


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes:
        rows: the figures of each run, for instance for ``pandas.DataFrame``.
        adapted: the models, by method and seed.
        failed: what went wrong with runs that have no model, by method and seed.
        table: methods as lines.
    """

    rows: list[dict[str, Any]]
    adapted: dict[tuple[str, int], Adapted]
    failed: dict[tuple[str, int], str]
    table: Table
    title: str = "Methods on your data"

    def __str__(self) -> str:
        return markdown([self.table], self.title)

    def _repr_html_(self) -> str:
        return fragment([self.table], self.title)

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return str(self)

    def to_csv(self) -> str:
        """The table with commas between."""
        return comma_separated([self.table], self.title)

    def to_latex(self) -> str:
        """The table for the package booktabs."""
        return latex([self.table], self.title)


def compare(
    source: Any,
    target: Any,
    methods: Sequence[str] = ("source-only", "cst"),
    seeds: int | Iterable[int] = 3,
    *,
    target_labels: Any = None,
    out: Path | str | None = None,
    figures: Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Comparison:
    """Adapt with each method and seed, and lay the figures out in a table.

    Args:
        source: as :func:`cst.adapt` takes it.
        target: likewise.
        methods: names from ``cst methods`` or sums of terms.
        seeds: how many, or which.
        target_labels: for the oracle figures, with which the table shows accuracies; without them it shows the verdict
            and the round trip's error, which need none. Training never sees them.
        out: a folder in which the runs are kept; the same call goes on with what is there.
        figures: what the table shows of a run, such as ``("accuracy", "total_variation")``.
        progress: lines on standard error, or none; where a bar can be drawn, a bar if not given.
        **options: as for :func:`cst.adapt`.

    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> source, target = random.normal(size=(200, 5)), random.normal(size=(150, 5)) + 0.3
    >>> labels, truth = source[:, 0] > 0, target[:, 0] > 0
    >>> both = compare((source, labels), target, ["source-only", "cst"], seeds=2, target_labels=truth, epochs=2)
    >>> [line.label for line in both.table.lines], len(both.rows)
    (['source-only', 'cst'], 4)
    """
    names, numbers = _checked(methods, seeds, options)
    if figures is not None:
        figures = check_figures(figures, "figures=")
    shown = SuiteProgress(None if progress is not False else lambda line: None)
    shown.tell = shown.tell if progress else lambda line: None
    rows: list[dict[str, Any]] = []
    adapted: dict[tuple[str, int], Adapted] = {}
    failed: dict[tuple[str, int], str] = {}
    settings: list[Settings] = []
    with TemporaryDirectory() if out is None else nullcontext(str(out)) as place:
        shown.start(len(names) * len(numbers), 0)
        try:
            for seed in numbers:
                for method in names:
                    label = f"{method}  seed {seed}"
                    run = Run(Path(place) / f"{slug(method)}-seed{seed}")
                    shown.began(label, 0.0)
                    try:
                        model = adapt(
                            source,
                            target,
                            method,
                            seed=seed,
                            target_labels=target_labels,
                            resume=run.config_file.is_file(),
                            callbacks=shown.showing(label),
                            progress=False,
                            out=run.folder,
                            **options,
                        )
                    except (ArithmeticError, RuntimeError) as error:
                        # Of this run: it diverged, or ran out of memory. What is wrong with all of them is raised.
                        failed[method, seed] = sentence_of(error)
                        warnings.warn(f"{printable(label)} failed: {failed[method, seed]}", stacklevel=2)
                    else:
                        adapted[method, seed] = model
                        settings.append(model.settings)
                        rows.append(row(run, method, "", seed))
                    shown.ended(label, failed.get((method, seed), ""))
        finally:
            shown.stop()
    if not rows:
        raise RuntimeError(f"Every run failed; the first: {next(iter(failed.values()))}")
    usual = (ACCURACY, "total_variation", "target_head_source_error") if target_labels is not None else (ACCURACY,)
    suite = Suite("compare", "Methods on your data", (), len(numbers), tuple(figures or usual))
    facts = facts_of(None, settings, rows)
    facts += [f"{method}, seed {seed}, failed: {why}" for (method, seed), why in failed.items()]
    (table,) = tables_of(suite, rows, facts)
    return Comparison(rows, adapted, failed, table)


def _checked(methods: Any, seeds: Any, options: dict[str, Any]) -> tuple[list[str], list[int]]:
    """Methods and seeds, all of them valid, each once: a mistake must not cost the runs before it."""
    names = [] if isinstance(methods, str) else list(methods)
    if not names or not all(isinstance(name, str) for name in names) or len(set(map(slug, names))) < len(names):
        raise ValueError(f"methods= must be a list of different methods, as ['source-only', 'cst'], got {methods!r}.")
    for name in names:
        parse_method(name)
    several = [] if isinstance(seeds, str | float) else seeds
    numbers = list(range(seeds)) if isinstance(seeds, Integral) else list(several)
    whole = all(isinstance(seed, Integral) and int(seed) >= 0 for seed in numbers)
    if not numbers or not whole or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds= must be how many, at least 1, or different whole numbers, got {seeds!r}.")
    for name in ("method", "seed", "resume"):
        if name in options:
            raise ValueError(f"{name}= is decided by compare: give methods= and seeds= instead.")
    return names, [int(seed) for seed in numbers]
