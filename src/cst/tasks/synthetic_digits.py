"""The embedded task: digits rendered from fonts (source) and written by hand (target).

The target is scikit-learn's copy of the UCI digits: 32x32 bitmaps of handwritten digits, reduced to
8x8 by counting the ink in blocks of 4x4. The source goes through the same reduction, from digits
that Pillow draws in the fonts that matplotlib ships. Nothing is downloaded.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cst.extras import missing

FONTS = (
    *(f"DejaVuSans{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSansMono{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSerif{style}" for style in ("", "-Bold", "-Italic", "-BoldItalic")),
    *(f"STIXGeneral{style}" for style in ("", "Bol", "Italic", "BolIta")),
    "cmr10",
    "cmb10",
    "cmss10",
    "cmtt10",
)
"""Families and weights that matplotlib ships and that have all ten digits."""

CANVAS, BITMAP, BLOCK = 96, 32, 4


def handwritten_digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The 1,797 handwritten digits [N, 1, 8, 8], ink 0..1, and their labels [N]."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = digits.images.astype(np.float32)[:, None] / BLOCK**2
    return images, digits.target.astype(np.int64)


@lru_cache(maxsize=4)
def rendered_digits(count: int = 4000, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """``count`` rendered digits [N, 1, 8, 8], ink 0..1, and their labels [N]; the ten classes in equal shares."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(count) % 10)
    images = np.stack([_reduce(_render(int(label), random)) for label in labels])
    return images[:, None], labels.astype(np.int64)


def _render(digit: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """One digit as a 32x32 bitmap: random font, stroke width, rotation, slant and size."""
    from PIL import Image, ImageDraw

    image = Image.new("L", (CANVAS, CANVAS))
    stroke = int(random.integers(0, 4))
    ImageDraw.Draw(image).text(
        (CANVAS / 2, CANVAS / 2),
        str(digit),
        fill=255,
        font=_font(str(random.choice(FONTS))),
        anchor="mm",
        stroke_width=stroke,
    )
    angle, slant = math.radians(random.uniform(-15, 15)), random.uniform(-0.3, 0.3)
    image = image.transform(
        image.size, Image.Transform.AFFINE, _rotate_and_slant(angle, slant), Image.Resampling.BILINEAR
    )

    height = int(random.integers(BITMAP - 6, BITMAP + 1))
    ink = image.crop(image.getbbox())
    width = round(ink.width * height / ink.height * random.uniform(0.8, 1.1))
    ink = ink.resize((min(max(width, 4), BITMAP), height), Image.Resampling.BOX)
    bitmap = Image.new("L", (BITMAP, BITMAP))
    bitmap.paste(ink, ((BITMAP - ink.width) // 2, (BITMAP - ink.height) // 2))
    return np.asarray(bitmap) > 127


def _rotate_and_slant(angle: float, slant: float) -> tuple[float, ...]:
    """Coefficients of the affine map about the middle of the canvas, as Pillow takes them."""
    matrix = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    matrix = matrix @ np.array([[1.0, slant], [0.0, 1.0]])
    middle = np.full(2, CANVAS / 2)
    shift = middle - matrix @ middle
    return (*matrix[0], shift[0], *matrix[1], shift[1])


def _reduce(bitmap: NDArray[np.bool_]) -> NDArray[np.float32]:
    """32x32 bitmap -> 8x8 share of ink in each 4x4 block, as the handwritten set was made."""
    side = BITMAP // BLOCK
    shares: NDArray[np.float32] = bitmap.reshape(side, BLOCK, side, BLOCK).mean((1, 3), dtype=np.float32)
    return shares


@lru_cache(maxsize=len(FONTS))
def _font(name: str):  # type: ignore[no-untyped-def]  # Pillow's font types are private
    from PIL import ImageFont

    try:
        import matplotlib
    except ImportError:
        raise missing("matplotlib", "The embedded task, whose digits are drawn in its fonts,") from None

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(folder / f"{name}.ttf", size=CANVAS // 2)
