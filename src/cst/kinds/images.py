"""Images in files: class folders, folders of any layout, lists of paths, saved datasets with an image column."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.config.defaults import PRETRAINED_IMAGES
from cst.data.domain import Domain, Reading, RowNames
from cst.data.readers import is_saved_dataset, read_labels, read_table
from cst.kinds.contract import (
    FILES,
    MAYBE,
    NO,
    SURELY,
    Encoder,
    Kind,
    Limits,
    TooLargeError,
    as_sequence,
    paths_or_texts,
)
from cst.spelling import opening

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from cst.config import Settings
    from cst.data.augmentations import Augmentations
    from cst.data.images import ImageFiles
    from cst.data.readers.folders import FileType
    from cst.data.readers.tables import Table
    from cst.data.stream import Stream

LOWER = {"efficientnet-lite0": 12, "resnet50": 14, "resnet50-v1": 14, "resnet101": 31}
"""Layers below the last stages of each backbone, which hold little of a domain."""
SUFFIXES = (".jpg", ".jpeg", ".jfif", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")


def image_files(strict: bool = False) -> FileType:
    """How image files are told from others, and what is wrong with them."""
    from cst.data.images import problems
    from cst.data.readers.folders import FileType

    return FileType("images", SUFFIXES, problems, strict)


@dataclass(frozen=True)
class ImageEncoder:
    """Pictures as squares of ``image_size`` in three channels, decoded when a batch needs them."""

    image_size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Three channels, height, width."""
        return (3, self.image_size, self.image_size)

    def encode(self, items: Any, role: str = "new") -> ImageFiles:
        """Paths or encoded pictures as samples."""
        from cst.data.images import ImageFiles

        sequence = as_sequence(items)
        if not isinstance(sequence[0], str | os.PathLike | bytes):
            raise ValueError(f"The model takes paths of images, got {type(sequence[0]).__name__}: save them as files.")
        return ImageFiles(sequence, self.image_size)

    def save(self, folder: Path) -> None:
        """There is nothing beside the model."""


class Images(Kind):
    """Pictures that stay on disk until a batch needs them."""

    name, unit, size_unit = "images", "file", "pixels on the shorter side"
    pipeline = "image-classification"
    asks_for = FILES
    backbone = "efficientnet-lite0"
    fields = ("image_size", "views")

    def usual(self, pretrained: bool) -> Mapping[str, Any]:
        """A pretrained backbone learns slowly; files are augmented where they are read."""
        return {**(PRETRAINED_IMAGES if pretrained else {}), "augment": "mild"}

    def quick(self, backbone: str) -> Mapping[str, Any]:
        """Only the upper layers learn, from outputs of the lower ones that are computed once."""
        if backbone not in LOWER:
            return {}
        return {"freeze": LOWER[backbone], "augment": "none", "image_size": 160, "views": 4}

    def claims_path(self, path: Path, reading: Reading) -> int:
        """A folder, a picture, or a saved dataset with an image column, if no column of text is named."""
        if reading.text is not None:
            return NO
        if is_saved_dataset(path):
            return self.claims_table(read_table(path), reading)
        return MAYBE if path.is_dir() or path.suffix.lower() in SUFFIXES else NO

    def claims_table(self, table: Table, reading: Reading) -> int:
        """One with a column of pictures, if no column of text is named."""
        return SURELY if table.pictures is not None and reading.text is None else NO

    def claims_items(self, items: Any) -> int:
        """A list of paths that are all called like pictures."""
        paths = paths_or_texts(items)
        return SURELY if paths and all(Path(path).suffix.lower() in SUFFIXES for path in paths) else NO

    def is_item(self, text: str | os.PathLike[str]) -> bool:
        """Whatever is not a folder."""
        return not os.path.isdir(text)

    def read_path(self, path: Path, reading: Reading) -> Domain:
        """A folder, one picture, or a saved dataset."""
        from cst.data.readers.folders import checked, read_folder

        if is_saved_dataset(path):
            return self.read_table(read_table(path), reading)
        if reading.labels and reading.label is not None:
            raise ValueError(f"label={reading.label}: the labels of {path} are its class folders; leave it out.")
        files = image_files(reading.strict)
        return checked(path.parent, [path], None, files) if path.is_file() else read_folder(path, files, reading.labels)

    def stream(self, path: Path, reading: Reading) -> Stream:
        """The same; each picture is decoded once."""
        from cst.data.stream import Stream

        if path.is_dir() and not is_saved_dataset(path):
            return Stream.of_folder(path, image_files())
        if path.is_file():
            return Stream.of(Domain(self.name, [path], [path.name]), path)
        items = read_table(path).pictures
        assert items is not None
        return Stream.of(Domain(self.name, items, RowNames(len(items))), path, "row ")

    def read_table(self, table: Table, reading: Reading) -> Domain:
        """The first column of pictures; those that cannot be read are left out."""
        from cst.data.images import problems

        items = table.pictures
        assert items is not None
        labels = read_labels(table, reading)
        bad = [row for row, trouble in enumerate(problems(items)) if trouble]
        if bad and (reading.strict or len(bad) == len(items)):
            raise ValueError(f"{opening(table.where)}, row {bad[0]}: the image cannot be read; remove the row.")
        return Domain(self.name, items, RowNames(len(items)), labels).without(bad, "files cannot be read", "row ")

    def read_items(self, items: Any, reading: Reading) -> Domain:
        """Paths; one that cannot be read is an error, since its label would be left over."""
        from cst.data.images import problems

        paths = [Path(item) for item in paths_or_texts(items) or ()]
        if trouble := next(filter(None, problems(paths)), None):
            raise ValueError(trouble)
        return Domain(self.name, paths, [str(path) for path in paths])

    def encoding(self, domain: Domain, settings: Settings, raw: bool) -> dict[str, Any]:
        """The side of the squares."""
        return {"image_size": settings.image_size}

    def encoder(self, encoding: Mapping[str, Any], backbone: str, home: Path | None) -> ImageEncoder:
        """Squares of that side."""
        return ImageEncoder(encoding["image_size"])

    def received(self, values: Sequence[Any], encoder: Encoder, limits: Limits) -> tuple[Any, tuple[str, ...]]:
        """Encoded pictures, of which only the heads have been read; no path is one."""
        from cst.data.images import open_picture

        for number, value in enumerate(values, 1):
            if not isinstance(value, bytes):
                raise ValueError(f"Picture {number} is not the content of a file.")
            try:
                with open_picture(value) as picture:
                    width, height = picture.size
            except ValueError as error:
                if "too many pixels" in str(error):
                    raise TooLargeError(
                        f"Picture {number} has far more pixels than are taken: make it smaller."
                    ) from None
                raise ValueError(f"Picture {number} is not a picture of a known format.") from None
            if width * height > limits.pixels:
                raise TooLargeError(
                    f"Picture {number} has {width:,} x {height:,} pixels, but {limits.pixels:,} are the most that is "
                    "taken: make it smaller."
                )
        return list(values), ()

    def explained(self, encoder: Encoder) -> dict[str, Any]:
        """Decode, crop, resize."""
        from cst.data.images import MARGIN

        return {
            "colours": "RGB, turned as the camera says, transparent parts white",
            "crop": "the square in the middle, this share of the shorter side",
            "share": 1 / MARGIN,
            "resize": "to the side of the inputs, bilinear",
            "values": "bytes divided by 255",
        }

    @property
    def augmentations(self) -> Augmentations:
        """Random parts, mirrored; for the strong one colours and geometry too."""
        from cst.data.augmentations import PHOTOS

        return PHOTOS

    def fingerprint(self, item: Any) -> bytes:
        """The bytes of the file."""
        return item if isinstance(item, bytes) else Path(item).read_bytes()

    def size(self, item: Any) -> int:
        """The shorter side."""
        from cst.data.images import open_picture

        with open_picture(item) as picture:
            return min(picture.size)

    def thumbnail(self, item: Any, side: int) -> Picture | None:
        """The middle of the picture."""
        from cst.data.images import middle, open_picture, upright

        with open_picture(item) as picture:
            return middle(upright(picture), side)


KIND = Images()
