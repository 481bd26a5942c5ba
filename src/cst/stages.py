"""Work that takes long, told to whoever watches: passes over whole domains, files that are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Thing = TypeVar("Thing")
Watcher = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and how much there is."""

_WATCHERS: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


@contextmanager
def watched_by(*watchers: Watcher) -> Iterator[None]:
    """Within it the watchers are told how far long work is, wherever it is done."""
    token = _WATCHERS.set((*_WATCHERS.get(), *watchers))
    try:
        yield
    finally:
        _WATCHERS.reset(token)


def is_watched() -> bool:
    """Whether somebody is told already."""
    return bool(_WATCHERS.get())


def told(what: str, parts: Iterable[Thing], total: int, size: Callable[[Thing], int]) -> Iterator[Thing]:
    """The same parts one by one; watchers are told when the work begins, and after each part how much is done.

    >>> with watched_by(lambda *words: print(*words)):
    ...     parts = list(told("reading", ["ab", "c"], 3, len))
    reading 0 3
    reading 2 3
    reading 3 3
    """
    tell_watchers(what, 0, total)
    done = 0
    for part in parts:
        yield part
        done += size(part)
        tell_watchers(what, done, total)


def tell_watchers(what: str, done: int, total: int) -> None:
    """Tell whoever watches how far some work is."""
    for watcher in _WATCHERS.get():
        watcher(what, done, total)
