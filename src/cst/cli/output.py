"""What commands print: tables, progress, and the same figures as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cst.bench.tables import percent
from cst.data.readers import IMAGES


def check_file(path: Path | None, flag: str = "--json", data: Iterable[Path] = ()) -> None:
    """Refuse a place that cannot be written, or that would change the data, before any work is done."""
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{flag} {path} is a folder: name a file in it.")
    for given in data:
        place, own = path.resolve(), given.resolve()
        if place == own or (own in place.parents and place.suffix.lower() in IMAGES):
            raise ValueError(f"{flag} {path} would become a part of the data in {given}: choose another place.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{flag} {path} lies below a file: choose another place.") from None


def write_json(path: Path | None, figures: Any) -> None:
    """Write ``figures`` if a place was asked for."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def print_table(title: str, columns: list[str], rows: list[list[str]], left: int = 1) -> None:
    """A table on standard output; the first ``left`` columns are text, the others numbers."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        table.add_column(
            escape(column), justify="left" if place < left else "right", overflow="fold", no_wrap=place == 0
        )
    for row in rows:
        table.add_row(*map(escape, row))
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, 140)
    console.print(f"[italic]{escape(title)}")  # as rich's own title, but not folded to the width of the table
    console.print(table)


class Watch:
    """Progress of a run: a live bar on a terminal, a line now and then elsewhere."""

    def __init__(self, label: str, epochs: int) -> None:
        self.label, self.epochs = label, epochs
        self.live = sys.stderr.isatty()

    def __enter__(self) -> Watch:
        if self.live:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=16),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self.bar.start()
            self.job = self.bar.add_task(self.label, total=None, note="starting")
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.bar.stop()

    def on_step(self, step: int, total: int) -> None:
        """Move the bar."""
        if self.live:
            self.bar.update(self.job, completed=step, total=total)

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Say how the epoch went."""
        note = f"epoch {record['epoch']}/{self.epochs}  loss {record['loss']['total']:.3f}"
        if "alpha" in record:
            note += f"  alpha {record['alpha']:.1f}"
        if "oracle" in record:
            note += f"  accuracy {percent(record['oracle']['accuracy'])} % (oracle)"
        else:
            note += f"  round-trip error {percent(record['target_head_source_error'])} %"
        if self.live:
            self.bar.update(self.job, note=note)
        elif record["epoch"] % max(1, self.epochs // 5) == 0 or record["epoch"] == self.epochs:
            print(f"{self.label}  {note}", file=sys.stderr, flush=True)
