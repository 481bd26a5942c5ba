"""A few pictures of both domains side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cst.data.arrays import CHANNELS
from cst.data.collection import Collection

COLUMNS, ROWS, SIDE, GAP, HEADER = 8, 3, 96, 4, 20


def contact_sheet(source: Collection, target: Collection, path: Path, seed: int = 0) -> bool:
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
    sheet.save(path)
    return True


def _pictures(collection: Collection, seed: int) -> list[Any]:
    from PIL import Image

    from cst.data.images import middle, open_picture, upright

    items = collection.items
    places = np.random.default_rng(seed).permutation(len(items))[: COLUMNS * ROWS]
    if collection.kind == "images":
        pictures = []
        for place in sorted(places):
            with open_picture(items[int(place)]) as opened:
                pictures.append(middle(upright(opened), SIDE))
        return pictures
    if collection.kind == "arrays" and np.ndim(items) in (3, 4):
        return [
            Image.fromarray(_as_bytes(items[int(p)])).convert("RGB").resize((SIDE, SIDE), 0) for p in sorted(places)
        ]
    return []


def _as_bytes(image: Sequence[Any]) -> Any:
    """An array image of any scale and layout as bytes [H, W] or [H, W, 3]."""
    values = np.asarray(image, dtype=np.float64)
    if values.ndim == 3 and values.shape[-1] not in CHANNELS:
        values = np.moveaxis(values, 0, -1)
    if values.ndim == 3:
        values = values[..., :3] if values.shape[-1] >= 3 else values[..., 0]
    span = max(float(np.ptp(values)), 1e-12)
    return ((values - values.min()) / span * 255).astype(np.uint8)
