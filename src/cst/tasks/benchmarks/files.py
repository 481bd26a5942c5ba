"""Finding a publisher's files, and saying which are missing and where they come from."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "CST_DATA"


def find_data_root(folder: Path | None) -> Path:
    """The folder with the datasets: this one, or the one that the environment names."""
    named = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is None:
        raise ValueError(f"This task reads files: name the folder of your datasets with data_root= or {VARIABLE}.")
    if not named.is_dir():
        raise ValueError(f"There is no folder {named} of datasets: correct data_root= or {VARIABLE}.")
    return named


def find(root: Path, *places: str, origin: str) -> Path:
    """The first of the places that is a file; each may also be there with or without its compression."""
    for place in places:
        for name in (place, place.removesuffix(".gz"), place.removesuffix(".bz2")):
            if (root / name).is_file():
                return root / name
    raise ValueError(f"{root / places[0]} is missing: get it from {origin}.")
