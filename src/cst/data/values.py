"""Single values as files have them."""

from __future__ import annotations

from typing import Any


def is_gap(value: Any) -> bool:
    """Whether there is no value: None, NaN, or what pandas has for it.

    >>> [is_gap(value) for value in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


GAPS = ("", "?", "na", "n/a", "#n/a", "nan", "null", "<na>")
"""How tables write that a value is missing, in any case."""


def is_missing(value: Any) -> bool:
    """Whether there is no value, or a word that says so.

    >>> [is_missing(value) for value in (None, " ", "NaN", "?", "none", 0)]
    [True, True, True, True, False, False]
    """
    return is_gap(value) or (isinstance(value, str) and value.strip().lower() in GAPS)


def whole_characters(text: str) -> str:
    """The text with a mark in the place of each half of a character, as texts that were cut short end with."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
