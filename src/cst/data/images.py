"""Images that stay on disk until a batch needs them: decode, resize, crop."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from cst.data.arrays import CHANNELS
from cst.data.samples import some_contents
from cst.stages import told

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MARGIN = 256 / 224
"""The shorter side is brought to this multiple of the crop."""
DRAWS = 5
"""Random numbers that a part of a picture takes."""
LEAST_PART = 0.3
"""A random part is at least this share of the picture."""
FORMATS = ("JPEG", "PNG", "BMP", "WEBP", "GIF", "TIFF", "PPM")
"""What a file may hold, whatever it is called: others, such as PostScript, would start programs."""
AT_ONCE = 64
"""Files that one thread checks in a row."""
SMALL = 20_000
"""Up to so many files every one is decoded when the data are read; of more, the first and last bytes are checked."""


@dataclass(frozen=True)
class ImageFiles:
    """Pictures given by path or as encoded bytes, seen as squares of ``size`` with values 0..1 in three channels."""

    sources: Sequence[Any]
    size: int
    decodes = True

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, indices: Tensor, seed: int | None = None, before: int = 0) -> Tensor:
        """Decode, resize and crop: the middle, or with a seed a random part, mirrored half of the time.

        The parts are drawn in order; ``before`` are the pictures of the batch that another process takes.
        """
        random = None if seed is None else np.random.default_rng(seed)
        if random is not None and before:
            random.bit_generator.advance(DRAWS * before)  # type: ignore[attr-defined]
        return torch.stack([self._one(self.sources[int(i)], random) for i in indices])

    def contents(self) -> Iterator[bytes]:
        """Name and size of files, wherever they lie; some of the pictures where they are not files."""
        if not all(isinstance(source, Path) for source in self.sources):
            yield from some_contents(self)
            return
        for file in self.sources:
            yield os.fsencode(file.name) + f" {file.stat().st_size}\n".encode()

    def _one(self, source: Any, random: np.random.Generator | None) -> Tensor:
        with open_picture(source) as opened:
            try:
                larger = MARGIN if random is None else 1 / math.sqrt(LEAST_PART)
                opened.draft("RGB", (round(self.size * larger),) * 2)
                picture = upright(opened)
            except Exception as error:
                raise ValueError(unreadable(source, error)) from None
        picture = middle(picture, self.size) if random is None else some_part(picture, self.size, random)
        return torch.from_numpy(np.array(picture, dtype=np.uint8)).permute(2, 0, 1).float() / 255


def open_picture(source: Any) -> Picture:
    """The picture in a file or in encoded bytes, not yet decoded."""
    from PIL import Image

    try:
        if not isinstance(source, bytes) and not S_ISREG(os.stat(source).st_mode):
            raise ValueError("not a file")  # a pipe would wait for somebody to write into it
        return Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=FORMATS)
    except FileNotFoundError:
        raise ValueError(f"There is no image at {source}: check the path.") from None
    except Exception as error:
        raise ValueError(unreadable(source, error)) from None


def unreadable(source: Any, error: Exception) -> str:
    """One sentence about a picture that cannot be decoded."""
    name = "An image of the dataset" if isinstance(source, bytes) else str(source)
    reasons = {"truncated": "truncated", "decompression bomb": "too many pixels"}
    reason = next((short for sign, short in reasons.items() if sign in str(error)), type(error).__name__)
    return f"{name} cannot be read as an image ({reason}): remove it; 'cst inspect' lists all such files."


def upright(picture: Picture) -> Picture:
    """Decoded, turned as the camera says, in three channels, transparent parts white."""
    from PIL import Image

    picture = _turned(picture)
    if picture.mode.startswith(("I", "F")):  # 16 bits or more a pixel: Pillow would clip them
        values = np.asarray(picture, dtype=np.float32)
        span = max(float(values.max() - values.min()), 1e-12)
        picture = Image.fromarray(((values - values.min()) / span * 255).astype(np.uint8))
    elif "A" in picture.getbands() or "transparency" in picture.info:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture.convert("RGB")


def _turned(picture: Picture) -> Picture:
    """As the camera says; where its notes are damaged, as it is."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(picture)
    except Exception:
        picture.load()  # what is wrong with the pixels is said here
        return picture


def middle(picture: Picture, size: int) -> Picture:
    """The shorter side to 256/224 of ``size``, then the middle square."""
    from PIL import Image

    width, height = picture.size
    side = min(width, height) / MARGIN
    left, top = (width - side) / 2, (height - side) / 2
    return picture.resize((size, size), Image.Resampling.BILINEAR, (left, top, left + side, top + side))


def some_part(picture: Picture, size: int, random: np.random.Generator) -> Picture:
    """A part of 30 to 100 % of the area, 3:4 to 4:3, mirrored half of the time."""
    from PIL import Image

    width, height = picture.size
    area, ratio = random.uniform(LEAST_PART, 1.0), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
    wide, high = (min(1.0, math.sqrt(area * r)) for r in (ratio * height / width, width / height / ratio))
    wide, high = wide * width, high * height
    left, top = random.uniform(0, width - wide), random.uniform(0, height - high)
    part = picture.resize((size, size), Image.Resampling.BILINEAR, (left, top, left + wide, top + high))
    return part.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else part


def problem(source: Any) -> str:
    """Why a picture cannot be read, or an empty text. Decodes it at a small scale, which is quick for JPEG."""
    try:
        with open_picture(source) as picture:
            picture.draft("RGB", (32, 32))
            upright(picture)
    except ValueError as error:
        return str(error)
    except Exception as error:
        return unreadable(source, error)
    return ""


def cut_short(source: Any) -> str:
    """The same for large collections: what ends as its format does is taken for whole, anything else is decoded."""
    ends = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB\x60\x82"}
    try:
        with open_picture(source) as picture:
            end = ends.get(picture.format or "")
    except ValueError as error:
        return str(error)
    return "" if end and end in last_bytes(source) else problem(source)


def last_bytes(source: Any, count: int = 64) -> bytes:
    """The end of a file or of encoded bytes."""
    if isinstance(source, bytes):
        return source[-count:]
    path = Path(source)
    with path.open("rb") as file:
        file.seek(-min(count, path.stat().st_size), 2)
        return file.read()


def problems(paths: Sequence[Any]) -> list[str]:
    """For each picture why it cannot be read, or an empty text."""
    check = problem if len(paths) <= SMALL else cut_short

    def of_some(start: int) -> list[str]:
        return [check(paths[place]) for place in range(start, min(start + AT_ONCE, len(paths)))]

    with ThreadPoolExecutor() as pool:
        parts = pool.map(of_some, range(0, len(paths), AT_ONCE))
        return [reason for part in told("checking images", parts, len(paths), len) for reason in part]


def as_bytes(image: Any) -> Any:
    """An array image of any scale and layout as bytes [H, W] or [H, W, 3]."""
    values = np.asarray(image, dtype=np.float64)
    if values.ndim == 3 and values.shape[-1] not in CHANNELS:
        values = np.moveaxis(values, 0, -1)
    if values.ndim == 3:
        values = values[..., :3] if values.shape[-1] >= 3 else values[..., 0]
    span = max(float(np.ptp(values)), 1e-12)
    return ((values - values.min()) / span * 255).astype(np.uint8)
