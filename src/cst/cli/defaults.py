"""The usual settings in words, for help texts and docs; they stand in `cst.config.defaults` and in the kinds."""

from __future__ import annotations

from typing import Any

from cst.config.defaults import ALWAYS
from cst.kinds import KINDS


def usual_by_case() -> dict[str, dict[str, Any]]:
    """The settings whatever the data, and where kinds of data or pretrained backbones differ from them."""
    cases: dict[str, dict[str, Any]] = {"": ALWAYS}
    for name in KINDS:
        kind = KINDS[name]
        usual, pretrained = dict(kind.usual(False)), dict(kind.usual(True))
        cases[name] = usual
        cases[f"{name} with a pretrained backbone"] = {
            field: value for field, value in pretrained.items() if usual.get(field) != value
        }
    return cases


def usual_in_words() -> dict[str, str]:
    """Of each setting its usual value, and the cases in which it is another.

    >>> usual_in_words()["epochs"]
    '20; 3 for text'
    """
    words: dict[str, str] = {}
    cases = usual_by_case()
    for field, value in ALWAYS.items():
        others: dict[str, list[str]] = {}
        for case, settings in cases.items():
            if case and settings.get(field, value) != value:
                others.setdefault(_shown(settings[field]), []).append(case)
        words[field] = "; ".join([_shown(value), *(f"{other} for {_listed(where)}" for other, where in others.items())])
    return words


def _listed(cases: list[str]) -> str:
    """Cases in a row; what several have in common is said once."""
    tail = " with a pretrained backbone"
    pretrained = [case.removesuffix(tail) for case in cases if case.endswith(tail)]
    plain = [case for case in cases if not case.endswith(tail)]
    return ", ".join([*plain, *([" and ".join(pretrained) + tail] if pretrained else [])])


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def usual_table() -> str:
    """The usual settings as a Markdown table: a line for each setting, a column for each case that has its own."""
    cases = {case: settings for case, settings in usual_by_case().items() if settings}
    names = [name for name in ALWAYS if any(name in settings for case, settings in cases.items() if case)]
    rows = [["setting", "usual", *(case for case in cases if case)], ["---"] * len(cases) + ["---"]]
    for name in names:
        rows.append([f"`{name}`", *(_shown(settings[name]) if name in settings else "" for settings in cases.values())])
    backbones = [f"`{KINDS[case].backbone}`" if case in KINDS else "" for case in cases if case]
    rows.append(["`backbone`", f"`{ALWAYS['backbone']}`", *backbones])
    rest = ", ".join(f"`{name}` {_shown(ALWAYS[name])}" for name in ALWAYS if name not in (*names, "backbone"))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + f"\n\nThe same for all data: {rest}."
