"""What commands print: tables, and the same figures as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.files import check_place, lies_in, write_text_aside
from cst.kinds.images import SUFFIXES
from cst.spelling import in_one_line, printable

if TYPE_CHECKING:
    from cst.engine.run import Run


def check_outputs(outputs: Mapping[str, Path | None], data: Iterable[Path | str | None] = ()) -> None:
    """Refuse files that cannot be written, or that would change the data, before any work is done.

    Args:
        outputs: files by the option that names each.
        data: what the command reads.
    """
    origins = [Path(origin) for origin in data if isinstance(origin, Path) or (origin and Path(origin).is_file())]
    seen: dict[Path, str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{name}={path} is a folder: name a file in it.")
        for folder in origins:
            if lies_in(path, folder) and path.suffix.lower() in SUFFIXES:
                raise ValueError(f"{name}={path} would become a part of the data in {folder}: choose another place.")
        check_place(path, f"{name}=", [*origins, *_files_of_a_run(path.parent)])
        other = seen.setdefault(path.resolve(), name)
        if other != name:
            raise ValueError(f"{other}= and {name}= name the same file, {path}: choose another place for one of them.")


def _files_of_a_run(folder: Path) -> Iterable[Path]:
    from cst.engine.run import Run

    return Run(folder).files if folder.is_dir() and Run(folder).is_run else ()


def data_of_run(run: Run) -> list[Path | str | None]:
    """What must stay as it is beside a run: its files, and the data that it was trained on."""
    config = run.config
    return [*run.files, config.source, config.target, config.target_labels, config.label]


def write_json(path: Path | None, figures: Any) -> None:
    """Write ``figures`` if a place was asked for."""
    if path is not None:
        write_text_aside(path, json.dumps(figures, indent=2) + "\n")


LONGEST = 300
"""Characters of a cell that are shown."""
MOST_COLUMNS = 30
"""Columns of a table of the user's that are listed."""


def print_columns(figures: list[dict[str, Any]]) -> None:
    """The columns that are inputs, as `cst.analysis.inspection.column_figures` has them."""
    if not figures:
        return
    rows = [
        [f["name"], f["type"], _range(f["source"]), _range(f["target"]), f"{f['distance']:.2f}"]
        for f in figures[:MOST_COLUMNS]
    ]
    title = f"{len(figures)} columns are inputs; apart: 0 for equal distributions, 1 for no overlap"
    print_table(title, ["column", "type", "source", "target", "apart"], rows, left=4)
    if len(figures) > MOST_COLUMNS:
        print(f"... and {len(figures) - MOST_COLUMNS} more columns; 'cst inspect --json FILE' has them all.")


def _range(values: list[Any]) -> str:
    """From the least to the largest number, or the first categories."""
    if values and isinstance(values[0], float):
        return f"{values[0]:.4g} to {values[1]:.4g}"
    return ", ".join(values[:3]) + f" and {len(values) - 3} more" * (len(values) > 3)


def _short(cell: str) -> str:
    return cell if len(cell) <= LONGEST else f"{cell[:LONGEST]}..."


def print_table(
    title: str,
    columns: list[str],
    rows: list[list[str]],
    left: int = 1,
    styles: list[list[str]] | None = None,
) -> None:
    """A table on standard output; the first ``left`` columns are text, the others numbers; cells may have styles."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for place, column in enumerate(columns):
        word = max(map(len, column.split()), default=0)  # no word of a heading is broken
        side = "left" if place < left else "right"
        heading = escape(in_one_line(column))
        table.add_column(heading, justify=side, overflow="fold", no_wrap=place == 0, min_width=word)  # type: ignore[arg-type]
    for number, row in enumerate(rows):
        cells = [escape(in_one_line(_short(cell))) for cell in row]
        if styles:
            cells = [
                f"[{style}]{cell}[/]" if style else cell for cell, style in zip(cells, styles[number], strict=True)
            ]
        table.add_row(*cells)
    console = Console(emoji=False)  # a class may be called :boom:
    if not console.is_terminal:
        console.width = max(console.width, 140)
    console.print(
        f"[italic]{escape(printable(title))}"
    )  # as rich's own title, but not folded to the width of the table
    console.print(table)
