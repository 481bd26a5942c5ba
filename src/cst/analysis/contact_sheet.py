"""A few pictures of both domains side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cst.data.domain import Domain
from cst.files import write_aside
from cst.kinds import KINDS

COLUMNS, ROWS, SIDE, GAP, HEADER = 8, 3, 96, 4, 20


def contact_sheet(source: Domain, target: Domain, path: Path, seed: int = 0) -> bool:
    """Draw it for images; say whether there was anything to draw."""
    from PIL import Image, ImageDraw

    domains = [(name, _pictures(c, seed)) for name, c in (("source", source), ("target", target))]
    if not all(pictures for _, pictures in domains):
        return False
    block = HEADER + ROWS * (SIDE + GAP)
    sheet = Image.new("RGB", (COLUMNS * (SIDE + GAP) + GAP, 2 * block + GAP), "white")
    pen = ImageDraw.Draw(sheet)
    for number, (name, pictures) in enumerate(domains):
        top = number * block
        pen.text((GAP, top + 4), f"{name}: {len((source, target)[number]):,} images", fill="black")
        for place, picture in enumerate(pictures):
            row, column = divmod(place, COLUMNS)
            sheet.paste(picture, (GAP + column * (SIDE + GAP), top + HEADER + row * (SIDE + GAP)))
    form = Image.registered_extensions()[path.suffix.lower()]
    write_aside(path, lambda aside: sheet.save(aside, form))
    return True


def _pictures(domain: Domain, seed: int) -> list[Any]:
    """Thumbnails of some samples; none where samples are no pictures."""
    positions = np.random.default_rng(seed).permutation(len(domain))[: COLUMNS * ROWS]
    kind = KINDS[domain.kind]
    pictures = [kind.thumbnail(domain.items[int(position)], SIDE) for position in sorted(positions)]
    return [picture for picture in pictures if picture is not None]
