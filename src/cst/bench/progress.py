"""How far a suite is, and how long it will take: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from cst.engine.callbacks import Callback
from cst.engine.progress import duration, is_live
from cst.spelling import printable

FIFTHS = 5
"""A line for each of so many parts of a long run, where there are no bars."""


class SuiteProgress:
    """Counts runs, and parts of runs.

    Args:
        tell: takes lines; standard error if not given, where a terminal gets bars as well.
    """

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self.tell, self.live = tell or _to_standard_error, tell is None and is_live()
        self.total = self.before = self.finished = 0
        self.shares: dict[str, float] = {}
        self.first: dict[str, float] = {}
        self.began_at = time.monotonic()
        self.bars: Any = None
        self.tasks: dict[str, Any] = {}

    def start(self, total: int, before: int) -> None:
        """Of ``total`` runs, ``before`` were finished."""
        self.total, self.before, self.began_at = total, before, time.monotonic()
        self._say(f"{before} of {total} runs were finished before")
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            self.bars = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[note]}", markup=False),
                console=Console(stderr=sys.stderr.isatty()),
            )
            self.bars.start()
            self.tasks[""] = self.bars.add_task("all runs", total=total, completed=before, note="")

    def began(self, label: str, share: float) -> None:
        """A run begins, or goes on after a share of it."""
        self.shares[label] = self.first[label] = share
        if self.bars:
            self.tasks[label] = self.bars.add_task(printable(label), total=1.0, completed=share, note="")

    def moved(self, label: str, share: float, note: str = "") -> None:
        """A run has this share behind it."""
        before, self.shares[label] = self.shares[label], share
        if self.bars:
            self.bars.update(self.tasks[label], completed=share, note=note)
            self._update()
        elif int(FIFTHS * share) > int(FIFTHS * before) and share < 1:
            self._say(f"{label}: {share:.0%}{self._left()}")

    def again(self, label: str, why: str) -> None:
        """A run failed and is tried once more."""
        self._drop(label)
        self._say(f"{label}: failed, is tried once more: {why}")

    def left(self, label: str) -> None:
        """A run is another process's."""
        self._say(f"{label}: left to the process that trains it")

    def ended(self, label: str, why: str) -> None:
        """A run is over."""
        self._drop(label)
        self.finished += 1
        to_go = self.total - self.before - self.finished
        state = f"failed: {why}" if why else "done"
        self._say(f"{label}: {state}{', ' if not why else '; '}{to_go} to go{self._left()}")
        self._update()

    def stop(self) -> None:
        """Take the bars away."""
        if self.bars:
            self.bars.stop()
            self.bars = None

    def showing(self, label: str) -> list[Callback]:
        """Callbacks of a run that is trained in this process."""
        return [_Within(self, label)]

    @property
    def seconds_left(self) -> float | None:
        """By what the parts that were done since the start took; None while nothing was."""
        going = sum(share - self.first[label] for label, share in self.shares.items())
        done = self.finished + going
        if done <= 0:
            return None
        to_do = self.total - self.before - self.finished - sum(self.shares.values())
        return (time.monotonic() - self.began_at) / done * max(0.0, to_do)

    def _left(self) -> str:
        left = self.seconds_left
        return f", about {duration(left)} left" if left else ""

    def _drop(self, label: str) -> None:
        self.shares.pop(label, None)
        if self.bars and label in self.tasks:
            self.bars.remove_task(self.tasks.pop(label))

    def _update(self) -> None:
        if self.bars:
            done = self.before + self.finished
            note = f"{done} of {self.total}{self._left()}"
            self.bars.update(self.tasks[""], completed=done + sum(self.shares.values()), note=note)

    def _say(self, line: str) -> None:
        if self.bars:
            self.bars.console.print(printable(line), markup=False, highlight=False)
        else:
            self.tell(line)


class _Within(Callback):
    """Moves the bar of a run."""

    def __init__(self, progress: SuiteProgress, label: str) -> None:
        self.progress, self.label = progress, label
        self.said = 0.0

    def on_step(self, step: int, total: int) -> None:
        """Not at every step: drawing takes time too."""
        if time.monotonic() - self.said > 0.5 or step == total:
            self.said = time.monotonic()
            self.progress.moved(self.label, step / total)

    def on_remark(self, sentence: str) -> None:
        """Say it with the run's name."""
        self.progress._say(f"{self.label}: {sentence}")


def _to_standard_error(line: str) -> None:
    print(printable(line), file=sys.stderr, flush=True)
