"""The folder of a run that several processes train: the first reads and writes, the others learn what it read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

from cst.config import Settings
from cst.engine.run import Run
from cst.ranks.group import count, from_first


class SharedRun:
    """A `Run` whose methods are called by all processes and carried out by the first.

    What one of them returns, or raises, all processes get: a checkpoint that is read, a disk that is full.
    """

    def __init__(self, folder: Path) -> None:
        self._run = Run(folder)

    def __getattr__(self, name: str) -> Any:
        of_class = getattr(Run, name, None)
        if isinstance(of_class, property):
            return from_first(lambda: getattr(self._run, name))
        if callable(of_class):
            return lambda *words, **options: from_first(lambda: getattr(self._run, name)(*words, **options))
        return getattr(self._run, name)


@contextmanager
def begun(folder: Path, settings: Settings, resume: bool, overwrite: bool) -> Iterator[Run]:
    """`Run.begun`, for one process or several."""
    with ExitStack() as until_the_end:
        if count() == 1:
            yield until_the_end.enter_context(Run.begun(folder, settings, resume, overwrite))
            return

        def begin() -> None:
            until_the_end.enter_context(Run.begun(folder, settings, resume, overwrite))

        from_first(begin)
        yield cast(Run, SharedRun(folder))
