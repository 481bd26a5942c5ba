"""Sentences of the library in the words of the command line."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TextIO

from cst.spelling import in_one_line, printable

OPTIONS: set[str] = set()
"""All that can be a flag; the entry point fills it in."""

_OPTION = re.compile(r"(?<![\w/.\-])([a-z_]+)=(?:True\b)?(?=(.?)(.?))")
"""How the library names an option: ``out=``, ``epochs=3``, ``resume=True``."""
_QUOTED = re.compile(r"((?<!\w)'[^']*')")


def as_flags(sentence: str, words: Sequence[str] = ()) -> str:
    """A sentence of the library with its options written as flags; what the user typed or quotes hold stays as it is.

    >>> OPTIONS.update({"out", "batch_size", "freeze", "target"})
    >>> as_flags("choose another out=, or a batch_size= of at most 3; freeze=9 is too much")
    'choose another --out, or a --batch-size of at most 3; --freeze 9 is too much'
    >>> as_flags("There is nothing at text=dir/new.csv: check target=.", ["--target", "text=dir/new.csv"])
    'There is nothing at text=dir/new.csv: check --target.'
    """

    def flag(match: re.Match[str]) -> str:
        name, after, then = match.groups()
        if name not in OPTIONS:
            return match[0]
        ends = after in ("", " ", ",", ";", ":", ")") or (after == "." and not then)
        return f"--{name.replace('_', '-')}" + " " * (not ends)

    typed = [word for word in words if "=" in word and not word.startswith("--")]
    kept = re.compile("|".join(["(?!)", *map(re.escape, sorted(typed, key=len, reverse=True))]))
    parts = [piece for part in _QUOTED.split(sentence) for piece in re.split(f"({kept.pattern})", part)]
    return "".join(part if part in typed or _QUOTED.fullmatch(part) else _OPTION.sub(flag, part) for part in parts)


def say(note: str) -> None:
    """A sentence on standard error, on a terminal broken between words."""
    print(_fitted(f"cst: {in_one_line(as_flags(note))}", sys.stderr), file=sys.stderr, flush=True)


def tell(line: str) -> None:
    """A line on standard output, in which names of files do no harm to the terminal."""
    print("\n".join(_fitted(part, sys.stdout) for part in printable(line).split("\n")))


def _fitted(line: str, stream: TextIO) -> str:
    """A line as it is; on a terminal broken between words."""
    if not stream.isatty():
        return line
    return textwrap.fill(line, shutil.get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
