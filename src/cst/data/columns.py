"""The columns of a table as inputs: which of them, of what type, and how gaps and categories become numbers."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cst.data.values import is_missing
from cst.spelling import opening

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Cells = Sequence[Any]
"""The values of one column as they were read: text, numbers, nothing."""

ENOUGH = 20
"""Rows from which on it is no accident that a column counts them, or that no value comes twice."""
MOST_CATEGORIES = 50
"""The most frequent categories that become inputs of their own."""
LONGEST = 1000
"""Characters of a category; a longer one is a text."""
LARGEST = 1e18
"""Numbers beyond it have no square in 32 bits, so that no deviation can be computed of them."""

TRUTH = ("false", "true")
TIMES = ("Timedelta", "Period", "timedelta")
KEEP = "name it in columns= to keep it"

_ROW_NUMBERS = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")
"""What pandas calls an index that it wrote beside the columns."""
_IDENTIFIERS = re.compile(r"(.*[\W_])?(?i:id|uuid|guid|index|idx|key|row|nr|no|number|serial)|.*[a-z](Id|ID)")
"""How people call a column that tells rows apart."""


@dataclass(frozen=True)
class Column:
    """One column that is an input.

    Attributes:
        name: in the header.
        categories: each an input of its own, 0 or 1; none for a column of numbers.
        fill: what stands in for a missing value: the source's median, or its most frequent category.
    """

    name: str
    categories: tuple[str, ...] = ()
    fill: Any = None

    @classmethod
    def of(cls, record: Any) -> Column:
        """A column of plain values, as a model keeps it; of a name alone, as earlier versions kept it."""
        if isinstance(record, str):
            return cls(record)
        return cls(record["name"], tuple(record["categories"]), record["fill"])

    @property
    def width(self) -> int:
        """How many inputs it becomes."""
        return len(self.categories) or 1


@dataclass(frozen=True)
class Choice:
    """The columns that are inputs, and what the user should know of the others, one sentence each."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...]


def choose(
    table: Mapping[str, Cells],
    where: str,
    label: str | None,
    only: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> Choice:
    """Which columns of a source are inputs, and of what type.

    Columns that count or identify rows, that hold one value only, or that hold texts are left out with a note, unless
    ``only`` names them.

    Args:
        table: every column.
        where: what to call the table in a message.
        label: the column of labels, which is no input.
        only: the user's choice.
        drop: columns that the user leaves out.
    """
    for name in (*only, *drop):
        if name not in table:
            option = "columns=" if name in only else "drop="
            raise ValueError(f"{opening(where)} has no column '{name}' (it has {', '.join(table)}): mend {option}.")
    if both := next((name for name in only if name in drop), None):
        raise ValueError(f"columns= and drop= both name '{both}': take it out of one of them.")
    if label in only:
        raise ValueError(
            f"{opening(where)}: column '{label}' holds the labels, so it cannot be an input: mend columns=."
        )
    columns, notes = [], []
    for name in only or [name for name in table if name not in (*drop, label)]:
        if not only and _ROW_NUMBERS.fullmatch(name):
            notes.append(f"Column '{name}' of {where} is taken for row numbers and left out.")
            continue
        column, reason = _judged(name, table[name], where, bool(only))
        if reason:
            notes.append(f"Column '{name}' of {where} {reason}.")
        if column:
            columns.append(column)
    return Choice(tuple(columns), tuple(notes))


def _judged(name: str, cells: Cells, where: str, chosen: bool) -> tuple[Column | None, str]:
    """A column as an input, or nothing, and what to say of it."""
    import numpy as np

    if any(hasattr(cell, "isoformat") or type(cell).__name__ in TIMES for cell in cells[:ENOUGH]):
        return None, "holds dates or times and is left out"
    numbers = _numbers(name, cells, where)
    if numbers is None:
        return _category(name, [cell for cell in cells if not is_missing(cell)], chosen)
    values = numbers[~np.isnan(numbers)]
    if not len(values):
        return None, "is empty and left out"
    column = Column(name, fill=float(np.median(values)))
    distinct = len(np.unique(values))
    if distinct == 1 and not chosen and len(cells) > 1:
        return None, f"holds {values[0]:g} in every row and is left out ({KEEP})"
    steps = np.diff(values)
    steady = len(cells) >= ENOUGH and distinct == len(cells) and bool((steps > 0).all() or (steps < 0).all())
    if not (values == np.round(values)).all() or distinct < len(cells):
        asked = f"rises or falls with every row: if it only counts them or tells the time, use drop={name}"
        return column, asked if steady and not chosen else ""
    counts = steady or (len(cells) >= ENOUGH and values.max() - values.min() == len(values) - 1)
    named = bool(_IDENTIFIERS.fullmatch(name))
    if (counts or named) and not chosen:
        return None, f"{'counts' if counts else 'identifies'} the rows and is left out ({KEEP})"
    if len(cells) >= ENOUGH and not chosen:
        return column, f"holds another whole number in every row: if it only identifies them, use drop={name}"
    return column, ""


def _category(name: str, present: Cells, chosen: bool) -> tuple[Column | None, str]:
    """A column of words as inputs 0 or 1, if its values come again."""
    words = [str(cell).strip() for cell in present]
    if not chosen and any(len(word) > LONGEST for word in words):
        return None, f"holds texts and is left out; to learn from them, name it with text={name}"
    frequency: dict[str, int] = {}
    for word in words:
        frequency[word] = frequency.get(word, 0) + 1
    often = sorted(frequency, key=lambda word: (-frequency[word], word))
    column = Column(name, tuple(sorted(often[:MOST_CATEGORIES])), often[0])
    rest = len(often) - len(column.categories)
    rare = f"has {rest} rare values beside its {MOST_CATEGORIES} most frequent" if rest else ""
    if chosen:
        return column, rare
    if len(often) == 1 and len(words) > 1:
        return None, f"holds {reprlib.repr(often[0])} in every row and is left out ({KEEP})"
    few = len(words) < ENOUGH and not _IDENTIFIERS.fullmatch(name)
    if few or (len(often) <= len(words) / 2 and len(often) <= 4 * MOST_CATEGORIES):
        return column, rare
    if sum(len(word.split()) for word in words) > 3 * len(words):
        return None, f"holds texts and is left out; to learn from them, name it with text={name}"
    if len(often) == len(words):
        return None, f"identifies the rows and is left out ({KEEP})"
    return None, f"has {len(often)} different values and is left out ({KEEP})"


def identifiers(table: Mapping[str, Cells], names: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns that are called like an identifier, or that tell rows apart."""
    return tuple(name for name in names if _IDENTIFIERS.fullmatch(name) or telling_rows_apart(table, [name]))


def telling_rows_apart(table: Mapping[str, Cells], names: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns in which no value comes twice and none is missing.

    >>> telling_rows_apart({"id": ["a", "b"], "colour": ["red", "red"]}, ["id", "colour"])
    ('id',)
    """
    return tuple(
        name
        for name in names
        if len(set(map(str, table[name]))) == len(table[name]) and not any(map(is_missing, table[name]))
    )


def _numbers(name: str, cells: Cells, where: str) -> NDArray[np.float64] | None:
    """A column as numbers, NaN for a gap; None for words. A few words among numbers are a mistake in the table."""
    try:
        return as_numbers(name, cells, where, f"mend the cell, or use drop={name}")
    except ValueError:
        kinds = [_is_number(cell) for cell in cells if not is_missing(cell)]
        words = all(isinstance(cell, str) for cell in cells if not is_missing(cell) and not _is_number(cell))
        if words and sum(kinds) <= len(kinds) / 2 and not any(map(_decimal_comma, cells)):
            return None
        raise


def as_numbers(name: str, cells: Cells, where: str, advice: str = "mend the cell") -> NDArray[np.float64]:
    """A column as numbers [N], NaN for a gap."""
    import numpy as np

    try:
        values = _quickly(cells)
        if values is None:
            values = np.array([np.nan if is_missing(cell) else _number(cell) for cell in cells])
    except (TypeError, ValueError, OverflowError):
        row = next(r for r, cell in enumerate(cells) if not is_missing(cell) and not _is_number(cell))
        place = f"{opening(where)}, row {row}: column '{name}'"
        if _decimal_comma(cells[row]):
            advice = "write numbers with a decimal point and without separators of thousands"
        raise ValueError(f"{place} holds {reprlib.repr(cells[row])}, which is no number; {advice}.") from None
    extreme = np.flatnonzero(np.abs(values) > LARGEST)
    if len(extreme):
        row = int(extreme[0])
        place = f"{opening(where)}, row {row}: column '{name}'"
        raise ValueError(
            f"{place} holds {values[row]:g}, too large to compute with; if it marks a "
            "missing value, leave the cell empty."
        )
    return values


def _quickly(cells: Cells) -> NDArray[np.float64] | None:
    """The same for a column in which every gap is one that NumPy knows."""
    import numpy as np

    try:
        values = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return values if values.ndim == 1 else None


def _number(cell: Any) -> float:
    """A number, or a truth value as a table writes it."""
    if isinstance(cell, str) and cell.strip().lower() in TRUTH:
        return float(TRUTH.index(cell.strip().lower()))
    return float(cell)


def _is_number(cell: Any) -> bool:
    try:
        _number(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _decimal_comma(cell: Any) -> bool:
    return bool(re.fullmatch(r"\s*[-+]?\d*(,\d+)+(\.\d*)?\s*", str(cell)))


def encoded(
    table: Mapping[str, Cells], columns: Sequence[Column], where: str, fill: bool = True
) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Inputs [rows, width] of a table, and what to say of its gaps and of categories that training did not know.

    Gaps are filled and categories are spread by scikit-learn's own transformers. Without ``fill`` a gap is refused.
    """
    import numpy as np
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    blocks, notes = [], []
    for column in columns:
        if column.name not in table:
            raise ValueError(
                f"{opening(where)} has no column '{column.name}' (it has {', '.join(table)}): "
                "both domains need the same inputs."
            )
        cells = table[column.name]
        if column.categories:
            values = np.array([[np.nan if is_missing(cell) else _word(cell)] for cell in cells], dtype=object)
            gaps = [row for row, cell in enumerate(cells) if is_missing(cell)]
        else:
            values = as_numbers(column.name, cells, where)[:, None]
            gaps = np.flatnonzero(np.isnan(values)).tolist()
        if gaps and (not fill or column.fill is None):
            raise ValueError(
                f"{opening(where)}, row {gaps[0]}: column '{column.name}' is empty; fill it in, or drop the row."
            )
        if gaps:
            filled = SimpleImputer(strategy="constant", fill_value=column.fill, keep_empty_features=True)
            values = filled.fit_transform(values)
            shown = f"{column.fill:g}" if isinstance(column.fill, float) else column.fill
            notes.append(
                f"Column '{column.name}' of {where} has no value in {len(gaps)} of {len(cells)} rows: {shown}, the "
                f"source's {'most frequent' if column.categories else 'median'}, stands in for it."
            )
        if not column.categories:
            blocks.append(values)
            continue
        known = np.array(column.categories, dtype=object)
        spread = OneHotEncoder(categories=[known], handle_unknown="ignore", sparse_output=False)
        blocks.append(spread.fit(known[:, None]).transform(values))
        strange = sorted(set(values[:, 0].tolist()) - set(column.categories))
        if strange and len(column.categories) < MOST_CATEGORIES:
            notes.append(
                f"Column '{column.name}' of {where} has values that the source does not have, "
                f"{reprlib.repr(strange[0])} first: they count as none of its categories."
            )
    return np.ascontiguousarray(np.hstack(blocks), dtype=np.float32), tuple(notes)


def _word(cell: Any) -> str:
    """A category as text: 2.0 is '2', as the same column has it where it holds whole numbers."""
    return f"{cell:g}" if isinstance(cell, float) else str(cell).strip()
