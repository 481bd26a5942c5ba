"""One sentence for a name that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST = 40
"""Names that a sentence can bear."""


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """``Unknown term 'tsalis': did you mean 'tsallis'? Known terms: ...``."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    listed = ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
    return f"Unknown {kind} '{name}': {hint}Known {kind}s: {listed}."
