"""What must be said below a table: how an epoch was chosen, with how many seeds, on which network, and what differs
from the paper's setting."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from cst.bench.paper import paper_table
from cst.bench.suite import Suite
from cst.config import Settings
from cst.config.recipes import RECIPES
from cst.engine.selecting import LAST, VERDICT

AUTO = "a small network from scratch (cnn or mlp)"
WHOLE = {"freeze": 0, "resample": None}
"""What the paper's recipes do not say because it goes without saying."""


def facts_of(suite: Suite | None, settings: Sequence[Settings], rows: Sequence[dict[str, Any]]) -> list[str]:
    """Sentences, from what the runs really went by."""
    facts = [_rule(settings), _seeds(rows)]
    backbones = _several(AUTO if s.backbone == "auto" else s.backbone for s in settings)
    facts.append(f"Backbone: {backbones}.")
    if suite and suite.paper:
        table = paper_table(suite.paper.table)
        changed = differences(settings, table.recipe, except_for=_varied(suite))
        facts.append(f"Beside it: Table {table.number} of the paper, {table.title}.")
        facts.append(
            f"What differs from the paper's setting: {'; '.join(changed)}."
            if changed
            else "No setting that the paper gives was changed."
        )
    return facts


def _rule(settings: Sequence[Settings]) -> str:
    rules = dict.fromkeys(s.select for s in settings)
    words = {
        LAST: "the last epoch",
        VERDICT: "the last epoch, or the source model where the signs were bad",
    }
    said = _several(words.get(rule, f"the epoch with the best {rule}") for rule in rules)
    return f"Selection rule: {said}; no target label in training or selection."


def _seeds(rows: Sequence[dict[str, Any]]) -> str:
    cells: dict[tuple[Any, ...], set[int]] = {}
    for row in rows:
        cells.setdefault((row["group"], row["line"], row["column"]), set()).add(row["seed"])
    least, most = (pick(len(seeds) for seeds in cells.values()) for pick in (min, max))
    if most == 1:
        return "One seed."
    counted = f"{most} seeds" if least == most else f"{least} to {most} seeds"
    return f"{counted}, mean and sample deviation."


def _varied(suite: Suite) -> set[str]:
    """Settings by which the lines or columns of the suite differ: they stand in its headings."""
    names = {name for variant in suite.variants for name in variant.config}
    return {name for name in names if len({str(variant.config.get(name)) for variant in suite.variants}) > 1}


def differences(settings: Sequence[Settings], recipe: str, except_for: Collection[str] = ()) -> list[str]:
    """Where runs depart from a recipe, a phrase a setting: ``epochs 15 (the paper: 150)``."""
    phrases = []
    for name, value in {**RECIPES[recipe], **WHOLE}.items():
        if name in except_for:
            continue
        ours = [s.data["resample"] if name == "resample" else getattr(s, name) for s in settings]
        others = [one for one in ours if not _same(one, value)]
        if others:
            phrases.append(f"{name} {_several(others)} (the paper: {'none' if value is None else value})")
    return phrases


def _same(ours: Any, theirs: Any) -> bool:
    return str(ours) == str(theirs) or (isinstance(ours, int | float) and ours == theirs)


def _several(values: Iterable[Any]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values))
