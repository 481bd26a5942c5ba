"""From a dataclass to command-line options: one field, one flag; its docstring is the help."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from cst.spelling import unknown


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """A mistake is a ``ValueError``, which the entry point turns into one line."""
        raise ValueError(f"{message[:1].upper()}{message[1:]}. See '{self.prog} --help'.")


POSITIONAL = "metavar"
"""Key in a field's metadata: the field is given by its place, not by a flag, and called so in the help."""


def parse(kind: type, program: str, words: list[str]) -> dict[str, Any]:
    """The fields of ``kind`` that ``words`` give a value, and no others.

    A command may know more of its defaults than its fields do, in a method ``defaults``.
    """
    parser = _Parser(
        prog=program,
        description=inspect.getdoc(kind),
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28, width=100),
    )
    hints, helps = get_type_hints(kind), _docstrings(kind)
    explain: Callable[[], dict[str, str]] = getattr(kind, "defaults", dict)
    defaults = explain() if {"-h", "--help"} & set(words) else {}
    flags = []
    for field in dataclasses.fields(kind):
        text = " ".join(helps.get(field.name, "").split()).replace("%", "%%")
        if POSITIONAL in field.metadata:
            hint, several = hints[field.name], get_origin(hints[field.name]) is tuple
            kind_of_one = get_args(hint)[0] if several else hint
            reader = _path if kind_of_one is Path else kind_of_one
            count: dict[str, Any] = {"nargs": "+"} if several else {}
            parser.add_argument(field.name, type=reader, metavar=field.metadata[POSITIONAL], help=text, **count)
            continue
        flag = "--" + field.name.replace("_", "-")
        flags.append(flag)
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if field.name in defaults:
            text += f" (default: {defaults[field.name]})"
        elif field.default not in (None, False, dataclasses.MISSING):
            text += f" (default: {field.default})"
        parser.add_argument(flag, dest=field.name, required=required, help=text, **_kind_of(hints[field.name]))
    values, rest = parser.parse_known_args(words)
    if rest:
        wrong = next((word for word in rest if word.startswith("-")), None)
        if wrong is None:
            parser.error(f"unexpected argument '{rest[0]}'")
        raise ValueError(unknown("option", wrong.partition("=")[0], flags))
    return {name: _read(value, hints[name]) for name, value in vars(values).items()}


def _read(value: Any, hint: Any) -> Any:
    """A flag that was given several times: names in one row, settings one by one."""
    if not isinstance(value, list):
        return value
    return ",".join(value) if _names(hint) else tuple(value)


def _names(hint: Any) -> bool:
    return any(get_origin(part) is tuple for part in get_args(hint))


def _kind_of(hint: Any) -> dict[str, Any]:
    """How argparse reads a value of this type."""
    if get_origin(hint) in (Union, types.UnionType):
        words = [part for part in get_args(hint) if get_origin(part) is Literal]
        if words and float in get_args(hint):  # a number or a word: the configuration tells them apart
            return {"type": str, "metavar": "|".join(["X", *get_args(words[0])])}
        hint = next(part for part in get_args(hint) if part is not type(None))
    if hint is bool:
        return {"action": argparse.BooleanOptionalAction}
    if get_origin(hint) is Mapping:
        return {"action": "append", "metavar": "NAME=VALUE"}
    if get_origin(hint) is tuple:
        return {"action": "append", "metavar": "NAMES"}
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    metavars = {int: "N", float: "X", str: "NAME"}
    return {"type": _path if hint is Path else hint, "metavar": metavars.get(hint, "PATH")}


def _path(text: str) -> Path:
    """A path; an empty one would be the current folder."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def _docstrings(kind: type) -> dict[str, str]:
    """The string that follows each field in the source, base classes first."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        for field, text in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                assert isinstance(field.target, ast.Name)
                texts[field.target.id] = str(text.value.value)
    return texts
