"""A folder of figures: a picture each, and figures.json with all that is drawn and said in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cst.analysis.drawing import png
from cst.analysis.plates import PLATES, Absent, Plate
from cst.files import write_aside, write_text_aside

INDEX = "figures.json"
WRITER = "cst analyse"


def files_of(folder: Path) -> list[Path]:
    """All that may be written into a folder."""
    return [folder / INDEX, *(folder / f"{name}.png" for name in PLATES)]


def check_album(folder: Path) -> None:
    """Refuse a folder that has files of these names which somebody else wrote."""
    others = [file for file in files_of(folder) if file.exists()]
    if others and not _is_ours(folder / INDEX):
        raise ValueError(
            f"out={folder} has a file {others[0].name} but no figures of cst, which would replace it: choose another "
            "folder."
        )


def _is_ours(index: Path) -> bool:
    try:
        values = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(values, dict) and values.get("written_by") == WRITER


def write_album(made: Sequence[Plate | Absent], runs: Sequence[str], folder: Path) -> list[Path]:
    """Draw what can be drawn; the files, in the order of the figures."""
    drawn = [plate for plate in made if isinstance(plate, Plate)]
    index: dict[str, Any] = {"written_by": WRITER, "runs": list(runs), "figures": {}, "missing": {}}
    written = []
    for plate in drawn:
        path = folder / f"{plate.name}.png"
        picture = png(plate.draw)
        write_aside(path, lambda aside, picture=picture: _write(aside, picture))  # type: ignore[misc]
        written.append(path)
        index["figures"][plate.name] = {
            "file": path.name,
            "title": plate.title,
            "paper": plate.paper,
            "meaning": plate.meaning,
            "text": plate.text,
            "notes": list(plate.notes),
            "numbers": plate.numbers,
        }
    index["missing"] = {absent.name: absent.reason for absent in made if isinstance(absent, Absent)}
    write_text_aside(folder / INDEX, json.dumps(index, indent=1) + "\n")
    return written


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def remarks(made: Sequence[Plate | Absent]) -> list[str]:
    """What is missing and why, one sentence each."""
    sentences: list[str] = []
    for plate in made:
        if isinstance(plate, Absent):
            sentences.append(f"Not drawn, {plate.title.lower()}: {plate.reason}")
        else:
            sentences += plate.notes
    return sentences
