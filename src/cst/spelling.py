"""One sentence for a name that nobody knows; text that does no harm to a terminal."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Any

MOST = 40
"""Names that a sentence can bear."""
LONGEST = 80
"""Characters of a name that a sentence can bear; to find what is close to a longer one takes long, too."""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """``Unknown term 'tsalis': did you mean 'tsallis'? Known terms: ...``."""
    names = list(known)
    name = name if len(name) <= LONGEST else f"{name[:LONGEST]}..."
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    listed = ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
    return f"Unknown {kind} '{name}': {hint}Known {kind}s: {listed}."


def opening(where: str) -> str:
    """What a message calls some data, at the beginning of a sentence: paths stay as they are.

    >>> opening("the source"), opening("theatres.csv")
    ('The source', 'theatres.csv')
    """
    return where.replace("the ", "The ", 1) if where.startswith("the ") else where


def printable(text: str) -> str:
    """Text whose control characters are spelled out: a file or class may be called by an escape sequence.

    >>> print(printable("red \x1b[31m light"))
    red \\x1b[31m light
    """
    if text.isprintable():
        return text
    return "".join(_spelled(character) for character in text)


def in_one_line(text: str) -> str:
    r"""The same for text that is one line: a line break in a name would begin another, as if somebody else spoke.

    >>> print(in_one_line("a.jpg\ncst: all is well"))
    a.jpg\ncst: all is well
    """
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def harmless(cell: Any) -> Any:
    """A cell of a table that no spreadsheet takes for a formula: one that begins like it gets an apostrophe.

    >>> harmless("=cmd|calc"), harmless("-3.5"), harmless("a=b"), harmless(7)
    ("'=cmd|calc", '-3.5', 'a=b', 7)
    """
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _spelled(character: str) -> str:
    if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs"):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
