"""Does a value from a file or a command line fit an annotation?"""

from __future__ import annotations

import math
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a name", Path: "a path"}


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` is of the type that ``hint`` names; a whole number is a number, true is not."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(fits(value, part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple)
    if hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def described(hint: Any) -> str:
    """``a whole number``, ``one of step, inverse``."""
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(described(part) for part in get_args(hint) if part is not type(None))
    if get_origin(hint) is Literal:
        return f"one of {', '.join(map(str, get_args(hint)))}"
    return WORDS.get(hint, str(getattr(hint, "__name__", hint)))


def plain(value: Any, hint: Any) -> Any:
    """``value`` with NumPy scalars unwrapped, and with text that spells a number read as one where one is wanted."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, str) and not fits(value, hint):
        alternatives = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        for kind in (int, float):
            if kind in alternatives:
                try:
                    return kind(value)
                except ValueError:
                    continue
    return value
