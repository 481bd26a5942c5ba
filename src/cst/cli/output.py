"""What commands print: tables, and the same figures as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cst.files import write_text_aside
from cst.kinds.images import SUFFIXES


def check_file(path: Path | None, flag: str = "--json", data: Iterable[Path] = ()) -> None:
    """Refuse a place that cannot be written, or that would change the data, before any work is done."""
    if path is None:
        return
    if path.is_dir():
        raise ValueError(f"{flag} {path} is a folder: name a file in it.")
    for origin in data:
        place, folder = path.resolve(), origin.resolve()
        if place == folder or (folder in place.parents and place.suffix.lower() in SUFFIXES):
            raise ValueError(f"{flag} {path} would become a part of the data in {origin}: choose another place.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ValueError(f"{flag} {path} lies below a file: choose another place.") from None


def write_json(path: Path | None, figures: Any) -> None:
    """Write ``figures`` if a place was asked for."""
    if path is not None:
        write_text_aside(path, json.dumps(figures, indent=2) + "\n")


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
