"""Progress of a run on standard error: a live bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from typing import Any

from cst.engine.callbacks import Callback
from cst.engine.metrics import metric


class Progress(Callback):
    """How far a run is, and how the last epoch went.

    Args:
        label: what the run is called.
    """

    def __init__(self, label: str) -> None:
        self.label, self.live, self.epochs = label, sys.stderr.isatty(), 0
        self.bar: Any = None
        self.total = 0

    def on_start(self, total: int) -> None:
        """Show the bar."""
        self.total = total
        if not self.live:
            return
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.bar.start()
        self.job = self.bar.add_task(self.label, total=total, note="first epoch")

    def on_step(self, step: int, total: int) -> None:
        """Move the bar."""
        if self.bar:
            self.bar.update(self.job, completed=step)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Say how the epoch went."""
        epoch, epochs = record["epoch"], self.total * record["epoch"] // record["step"]
        note = f"epoch {epoch}/{epochs}  loss {record['loss']['total']:.3f}"
        if "alpha" in record:
            note += f"  alpha {record['alpha']:.1f}"
        values = {**record, **record.get("oracle", {})}
        shown = "accuracy" if "oracle" in record else "target_head_source_error"
        if shown in values:
            figure = metric(shown)
            note += f"  {figure.label} {figure.show(values[shown])} %{' (oracle)' * figure.oracle}"
        if self.bar:
            self.bar.update(self.job, note=note)
        elif epoch % max(1, epochs // 5) == 0 or epoch == epochs:
            print(f"{self.label}  {note}", file=sys.stderr, flush=True)

    def on_end(self) -> None:
        """Take the bar away."""
        if self.bar:
            self.bar.stop()
