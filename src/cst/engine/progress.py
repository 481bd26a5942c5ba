"""Progress of a run on standard error: a live bar on a terminal or in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from cst.engine.callbacks import Callback
from cst.engine.metrics import metric
from cst.ranks.group import is_first_started
from cst.spelling import printable
from cst.stages import is_watched, watched_by

if TYPE_CHECKING:
    from cst.config import Settings

QUIET = 30.0
"""Seconds after which a line is due where there is no bar."""
PATIENCE = 1.0
"""Seconds that work other than training may take before it is shown."""
WIDE = 100
"""Columns of a terminal from which on there is room for a long bar."""


def duration(seconds: float) -> str:
    """In the words of people who wait.

    >>> duration(8), duration(200), duration(8000)
    ('8 s', '3 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def is_live() -> bool:
    """Whether a bar can be drawn: on a terminal, or in a notebook."""
    if sys.stderr.isatty():
        return True
    if "IPython" not in sys.modules:
        return False
    from rich.console import Console

    return Console().is_jupyter and find_spec("ipywidgets") is not None  # without it rich draws nothing and warns


class Progress(Callback):
    """How far a run is, how long it will take, and how the last epoch went.

    Args:
        label: what the run is called.
    """

    def __init__(self, label: str) -> None:
        self.label, self.live = printable(label), is_live()
        self.bar: Any = None
        self.job: Any = None
        self.epochs = self.total = self.step = self.first = 0
        self.began = self.said = time.monotonic()
        self.loss: float | None = None
        self.last: list[str] = []
        self.stage, self.stage_began, self.stage_job = "", self.began, None

    def on_settings(self, settings: Settings) -> None:
        """Know how many epochs there are."""
        self.epochs = settings.epochs

    def on_start(self, total: int) -> None:
        """Show the bar."""
        self.total, self.began = total, time.monotonic()
        if self.live:
            self._open()
            self.job = self.bar.add_task(self._name(), total=total, note=f"epoch 1/{self.epochs}")

    def on_step(self, step: int, total: int) -> None:
        """Move the bar."""
        self.first = self.first or step
        self.step = step
        self._end_stage()
        if self.bar:
            self.bar.update(self.job, completed=step, note=self._note(self._room()))
        elif time.monotonic() - self.said > QUIET or (step == self.first + 2 and self._seconds_left() > QUIET):
            self._say()

    def on_losses(self, losses: dict[str, float]) -> None:
        """Remember the loss of the epoch so far."""
        self.loss = losses["total"]

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Say how the epoch went."""
        self.loss = record["loss"]["total"]
        self.last = [f"alpha {record['alpha']:.1f}"] if "alpha" in record else []
        if accuracy := record.get("oracle", {}).get("accuracy"):
            self.last.append(f"accuracy {metric('accuracy').show(accuracy)} % (oracle)")
        if self.bar:
            self.bar.update(self.job, note=self._note(self._room()), refresh=True)
        elif record["epoch"] % max(1, self.epochs // 5) == 0 or record["epoch"] == self.epochs:
            self._say()

    def on_remark(self, sentence: str) -> None:
        """Say it above the bar."""
        if self.bar:
            self.bar.console.print(sentence, markup=False, highlight=False)
        else:
            self._print(sentence)

    def on_stage(self, what: str, done: int, total: int) -> None:
        """Show work other than training if it takes long."""
        now = time.monotonic()
        if what != self.stage:
            self._end_stage()
            self.stage, self.stage_began = what, now
        if done >= total:
            self._end_stage()
        elif done and now - self.stage_began > PATIENCE:
            left = duration((now - self.stage_began) / done * (total - done))
            note = f"{done:,} of {total:,}, {left} left"
            if self.live:
                self._open()
                if self.stage_job is None:
                    self.stage_job = self.bar.add_task(what, total=total, note="")
                self.bar.update(self.stage_job, completed=done, note=note)
            elif now - self.said > QUIET or self.said < self.stage_began:
                self._print(f"{what}: {note}")

    def on_end(self) -> None:
        """Take the bar away."""
        if self.bar:
            self.bar.stop()
            self.bar = None

    def _end_stage(self) -> None:
        if self.bar and self.stage_job is not None:
            self.bar.remove_task(self.stage_job)
        self.stage, self.stage_job = "", None

    def _open(self) -> None:
        if self.bar:
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=sys.stderr.isatty())
        self.bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24 if console.width >= WIDE else 12),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )
        self.bar.start()

    def _name(self) -> str:
        """The label, as much of it as leaves room for the rest."""
        most = max(12, self.bar.console.width - 54)
        return self.label if len(self.label) <= most else f"{self.label[: most - 3]}..."

    def _room(self) -> int:
        width = self.bar.console.width
        return int(width - len(self._name()) - (24 if width >= WIDE else 12) - 3)

    def _note(self, room: int) -> str:
        """Epoch, loss and the time left; alpha and accuracy of the last epoch as far as there is room."""
        epoch = max(1, -(-self.step * self.epochs // self.total))
        parts = [f"epoch {epoch}/{self.epochs}"]
        parts += [f"loss {self.loss:.3f}"] if self.loss is not None else []
        if self.step > self.first + 1 and self.step < self.total:
            parts.append(f"{duration(self._seconds_left())} left")
        for part in self.last:
            if len("  ".join([*parts, part])) <= room:
                parts.append(part)
        return "  ".join(parts)

    def _seconds_left(self) -> float:
        ran = self.step - self.first + 1
        return (time.monotonic() - self.began) / ran * (self.total - self.step)

    def _say(self) -> None:
        self._print(self._note(200))

    def _print(self, words: str) -> None:
        self.said = time.monotonic()
        print(f"{self.label}  {words}", file=sys.stderr, flush=True)


@contextmanager
def shown(label: str, demanded: bool | None = None) -> Iterator[list[Callback]]:
    """Within it long work is shown, and a run that is given the callbacks too.

    Args:
        label: what the work is called.
        demanded: show it, or do not; if ``None``, where a bar can be drawn and nobody shows it already.
    """
    if not is_first_started() or not (demanded or (demanded is None and is_live() and not is_watched())):
        yield []
        return
    progress = Progress(label)
    try:
        with watched_by(progress.on_stage):
            yield [progress]
    finally:
        progress.on_end()
