"""Numbers: vectors and small images in arrays, tensors, data frames, datasets, tables and NumPy files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.config.defaults import PRETRAINED_IMAGES
from cst.data.columns import Choice, Column, choose, encoded, identifiers
from cst.data.domain import Domain, Reading, RowNames
from cst.data.readers import ARRAYS, TABLES, is_saved_dataset, read_labels, read_table
from cst.data.readers.memory import columns_of_frame, is_frame, numbers_of_frame, table_in_memory
from cst.data.readers.tables import LABEL, Table
from cst.kinds.contract import MAYBE, NO, ROWS, Encoder, Kind, Limits, TooLargeError, paths_or_texts
from cst.spelling import opening

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from cst.config import Settings
    from cst.data.augmentations import Augmentations
    from cst.data.samples import Samples

MOST_UNEXPLAINED = 0.37
"""Of the domains' distance, that other shares of the source's classes may leave unexplained."""


@dataclass(frozen=True)
class ArrayEncoder:
    """Numbers of one shape; images as [channels, height, width], bytes as 0..1.

    Attributes:
        shape: of one input.
        bytes_in: whether inputs come as bytes.
        columns: of the table that the inputs come from, if they do.
        raw: hand them over as they are, to a network of the user's own.
    """

    shape: tuple[int, ...]
    bytes_in: bool
    columns: tuple[Column, ...]
    raw: bool

    def encode(self, items: Any, role: str = "new") -> Samples:
        """Checked samples, of the type and shape that the model takes."""
        import torch

        from cst.data.arrays import samples_from

        if is_frame(items) and self.columns:
            items, notes = inputs_of_frame(items, self.columns, role)
            for note in notes:
                warnings.warn(note, stacklevel=4)
        samples, bytes_in = samples_from(items, role, as_images=not self.raw)
        shape = tuple(samples.take(torch.tensor([0])).shape[1:])
        if bytes_in != self.bytes_in:
            raise ValueError(_other_type(self.bytes_in, role))
        if shape != self.shape:
            raise ValueError(_other_shape(shape, self.shape, role))
        return samples

    def save(self, folder: Path) -> None:
        """There is nothing beside the model."""


def _other_type(bytes_in: bool, role: str) -> str:
    if role != "new":
        return "One domain has bytes (uint8), the other has not: bring both to the same type and scale."
    types = ("numbers", "bytes (uint8)")
    return f"The model was trained on {types[bytes_in]}, but the new inputs are {types[not bytes_in]}."


def _other_shape(shape: tuple[int, ...], expected: tuple[int, ...], role: str) -> str:
    if role not in ("new", "source"):
        return f"One source input has shape {expected}, one {role} input {shape}: bring both to the same shape."
    return f"One input has shape {shape}, but the model was trained on inputs of {expected}."


class Arrays(Kind):
    """Numbers in memory."""

    name, size_unit = "arrays", "values"
    asks_for = ROWS
    has_columns = True
    least_steps = 50  # a small table would be passed over before anything is learned

    def usual(self, pretrained: bool) -> Mapping[str, Any]:
        """A pretrained image backbone learns slowly, whatever the images come from."""
        if not pretrained:
            return {}
        return {name: value for name, value in PRETRAINED_IMAGES.items() if name != "image_size"}  # arrays have a size

    def claims_path(self, path: Path, reading: Reading) -> int:
        """A table or a saved dataset, if no column of text is named, and NumPy files."""
        if reading.text is not None:
            return NO
        return MAYBE if path.suffix.lower() in (*TABLES, *ARRAYS) or is_saved_dataset(path) else NO

    def claims_table(self, table: Table, reading: Reading) -> int:
        """Any, if no column of text is named."""
        return MAYBE if reading.text is None else NO

    def claims_items(self, items: Any) -> int:
        """Whatever is not a list of texts or of paths."""
        return NO if paths_or_texts(items) else MAYBE

    def read_path(self, path: Path, reading: Reading) -> Domain:
        """The columns of a table that are inputs, or the inputs of a NumPy file."""
        from cst.data.readers.arrays import read_arrays

        if path.suffix.lower() in ARRAYS:
            if reading.only or reading.drop:
                raise ValueError(f"{path} has no columns with names: leave out columns= and drop=.")
            inputs, labels = read_arrays(path, reading)
            return Domain(self.name, inputs, RowNames(len(inputs)), labels)
        return self.read_table(read_table(path), reading)

    def read_table(self, table: Table, reading: Reading) -> Domain:
        """The columns that are inputs."""
        labels, columns = read_labels(table, reading), table.columns
        apart = table.frame is not None and not reading.labels  # the labels lie elsewhere, whatever a column is called
        chosen = self._chosen(columns, table.where, reading, reading.label or (None if apart else LABEL))
        if table.frame is not None:
            matrix, gaps = inputs_of_frame(table.frame, chosen.columns, reading.role, reading.fill)
        else:
            matrix, gaps = encoded(columns, chosen.columns, table.where, reading.fill)
        inputs = {column.name for column in chosen.columns}
        others = [name for name in columns if reading.carry and name not in inputs]
        carried = {name: columns[name] for name in identifiers(columns, others)}
        notes = (*chosen.notes, *gaps)
        return Domain(
            self.name, matrix, RowNames(len(matrix)), labels, columns=chosen.columns, carried=carried, notes=notes
        )

    def _chosen(self, table: Mapping[str, Any], where: str, reading: Reading, label: str | None = None) -> Choice:
        """The columns that an earlier reading chose, or those of a source."""
        if reading.columns:
            return Choice(reading.columns, ())
        choice = choose(table, where, label, reading.only, reading.drop)
        if not choice.columns:
            reasons = " ".join(choice.notes[:1]) or "There is none beside the label."
            raise ValueError(f"{opening(where)} has no column of numbers or categories to learn from. {reasons}")
        return choice

    def read_items(self, items: Any, reading: Reading) -> Domain:
        """Anything that has a length and holds numbers; the columns of a data frame go by name."""
        from torch.utils.data import Dataset, TensorDataset

        from cst.data.arrays import count_of, no_inputs

        if isinstance(items, TensorDataset):
            items = items.tensors[0]
        if reading.role == "target" and isinstance(items, tuple) and _is_pair(items):
            raise ValueError(
                "target must be inputs alone: labels of the target, for evaluation, go into target_labels=."
            )
        if table := table_in_memory(items, reading.role):
            return self.read_table(table, replace(reading, labels=False))
        if reading.only or reading.drop:
            raise ValueError("columns= and drop= name columns, which arrays do not have: give data frames.")
        if isinstance(items, Dataset):
            count = count_of(items, reading.role)
        else:
            is_array = hasattr(items, "shape") and not hasattr(items, "toarray")  # a sparse matrix has no rows to take
            items = items if is_array else _as_array(items, reading.role)
            count = items.shape[0] if len(items.shape) else 0
        if not count:
            raise ValueError(no_inputs(reading.role))
        return Domain(self.name, items, RowNames(count), columns=reading.columns)

    def encoding(self, domain: Domain, settings: Settings, raw: bool) -> dict[str, Any]:
        """Shape and type as the first sample has them."""
        encoder = _encoder_for(domain, raw)
        columns = [{**asdict(column), "categories": list(column.categories)} for column in encoder.columns]
        return {**asdict(encoder), "shape": list(encoder.shape), "columns": columns}

    def encoder(self, encoding: Mapping[str, Any], backbone: str, home: Path | None) -> ArrayEncoder:
        """Numbers of that shape and type."""
        columns = tuple(map(Column.of, encoding["columns"]))
        return ArrayEncoder(tuple(encoding["shape"]), encoding["bytes_in"], columns, encoding["raw"])

    def received(self, values: Sequence[Any], encoder: Encoder, limits: Limits) -> tuple[Any, tuple[str, ...]]:
        """Rows of a table as objects, whose columns go by name; else rows of numbers."""
        assert isinstance(encoder, ArrayEncoder)
        if encoder.columns:
            return encoded(_table_of_rows(values, encoder.columns, limits), encoder.columns, "rows")
        try:
            numbers = _as_array(values, "new")
        except OverflowError:
            raise ValueError("The rows hold numbers that are too large to compute with.") from None
        if not encoder.bytes_in:
            return numbers, ()
        as_bytes = numbers.astype("uint8") if numbers.dtype.kind in "bif" else numbers
        if as_bytes.dtype.kind != "u" or (as_bytes != numbers).any():
            raise ValueError("The model takes bytes: give whole numbers from 0 to 255.")
        return as_bytes, ()

    def explained(self, encoder: Encoder) -> dict[str, Any]:
        """Numbers as they are; of a table, its columns in their order."""
        assert isinstance(encoder, ArrayEncoder)
        scale = "bytes divided by 255" if encoder.bytes_in else "numbers as they are"
        columns = [asdict(column) for column in encoder.columns]
        order = {"columns": columns, "order": "a number, or 0 and 1 for each category; gaps are filled"}
        return {"values": scale, **(order if columns else {})}

    @property
    def augmentations(self) -> Augmentations:
        """Small affine maps for images, noise for vectors."""
        from cst.data.augmentations import ARRAYS

        return ARRAYS

    def fingerprint(self, item: Any) -> bytes:
        """Numbers of any type as one type; what is no number stays as it is."""
        import numpy as np

        values = np.asarray(item)
        return (values.astype(np.float64) if values.dtype.kind in "biuf" else values).tobytes()

    def size(self, item: Any) -> int:
        """Values."""
        import numpy as np

        return int(np.asarray(item).size)

    def thumbnail(self, item: Any, side: int) -> Picture | None:
        """An image of any scale and layout; nothing for a vector."""
        from PIL import Image

        from cst.data.images import as_bytes

        return None if item.ndim < 2 else Image.fromarray(as_bytes(item)).convert("RGB").resize((side, side), 0)

    def cells(self, domain: Domain, position: int) -> tuple[tuple[str, str], ...]:
        """The columns of a table, or the numbers of a vector, counted from 1."""
        import numpy as np

        row = np.asarray(domain.items[position]).reshape(-1)
        if not domain.columns:
            return tuple((f"value {place}", f"{value:.4g}") for place, value in enumerate(row.tolist(), start=1))
        cells, start = [], 0
        for column in domain.columns:
            values = row[start : start + column.width]
            start += column.width
            present = [name for name, value in zip(column.categories, values, strict=False) if value]
            shown = ", ".join(present) or "another" if column.categories else f"{float(values[0]):.4g}"
            cells.append((column.name, shown))
        return tuple(cells)

    def explained_by_shares(self, source: Domain, labels: Any, target: Domain) -> bool:
        """Whether a mixture of the source's classes explains most of how the inputs' moments differ."""
        from cst.data.shift import unexplained_by_shares

        if not all(hasattr(domain.items, "shape") for domain in (source, target)):
            return False
        shapes = {tuple(domain.items.shape[1:]) for domain in (source, target)}
        try:
            unexplained = unexplained_by_shares(source.items, labels, target.items) if len(shapes) == 1 else 1.0
        except (ValueError, TypeError, RuntimeError):  # what is wrong with the data is said when they are encoded
            return False
        return unexplained < MOST_UNEXPLAINED

    def remarks(self, source: Domain, target: Domain) -> tuple[str, ...]:
        """Of vectors without names: places that only count the samples, that vary in one domain only, or in none."""
        from cst.data.arrays import constant, counting, varying_in_one

        if source.columns or not all(getattr(d.items, "ndim", 0) == 2 for d in (source, target)):
            return ()
        sentences = [
            f"Place {place} of the source's inputs counts its samples: take it out unless that is meant."
            for place in counting(source.items)
        ]
        if places := varying_in_one(source.items, target.items):
            sentences.append(
                f"{len(places)} places of the inputs hold one value in the source and others in the target, "
                f"{places[0]} first: nothing can be learned of them."
            )
        if places := constant(source.items, target.items):
            sentences.append(
                f"{len(places)} places of the inputs hold one value in both domains, {places[0]} first: nothing can be "
                "learned of them."
            )
        return tuple(sentences)

    def refusal(self, source: Domain, target: Domain) -> str:
        """Both must be numbers of the same type and shape."""
        try:
            encoder = _encoder_for(source, raw=False)
            encoder.encode(source.items, "source")
            encoder.encode(target.items, "target")
        except ValueError as error:
            return str(error)
        return ""


def _encoder_for(domain: Domain, raw: bool) -> ArrayEncoder:
    from cst.data.arrays import shape_and_type

    shape, bytes_in = shape_and_type(domain.items, "source", as_images=not raw)
    return ArrayEncoder(shape, bytes_in, domain.columns, raw)


def inputs_of_frame(frame: Any, columns: Sequence[Column], role: str, fill: bool = True) -> tuple[Any, Any]:
    """The inputs that a data frame holds, in the order of training, and what to say of its gaps."""
    from cst.data.arrays import in_columns

    frame = in_columns(frame, tuple(column.name for column in columns), role)
    if not len(frame):
        raise ValueError(f"There are no {role} inputs: give at least one.")
    plain = None if any(column.categories for column in columns) else numbers_of_frame(frame)
    if plain is not None:
        return _as_array(plain, role), ()
    where = "the new data" if role == "new" else f"the {role}"
    return encoded(columns_of_frame(frame), columns, where, fill)


def _table_of_rows(rows: Sequence[Any], columns: Sequence[Column], limits: Limits) -> dict[str, list[Any]]:
    """The columns that the model reads, nothing where a row does not have one; other columns are passed over."""
    names = [column.name for column in columns]
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"Row {number} is no object: give one with {', '.join(names)}.")
        for name in names:
            cell = row.get(name)
            if not isinstance(cell, str | int | float | None):
                raise ValueError(f"Row {number}: '{name}' is neither a number nor a text.")
            if isinstance(cell, str) and len(cell) > limits.characters:
                raise TooLargeError(f"Row {number}: '{name}' has more than {limits.characters:,} characters.")
    if absent := next((name for name in names if not any(name in row for row in rows)), None):
        raise ValueError(f"The rows have no '{absent}': give {', '.join(names)}, and null where a value is not known.")
    return {name: [row.get(name) for row in rows] for name in names}


def _is_pair(items: Any) -> bool:
    """Whether these are inputs and labels rather than rows of inputs."""
    return len({tuple(part.shape)[:2] for part in items if hasattr(part, "shape")}) > 1


def _as_array(items: Any, role: str) -> Any:
    """Nested lists or a data frame as an array of numbers."""
    import numpy as np

    from cst.data.arrays import not_numbers

    try:
        array = np.asarray(items)
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (TypeError, ValueError):
        raise not_numbers(items, role) from None
    if array.ndim == 0:
        raise not_numbers(items, role)
    return array


KIND = Arrays()
