"""Predictions of any number of new inputs: part after part, kept at once, written when all are there."""

from __future__ import annotations

import hashlib
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cst.data.domain import Domain, some
from cst.data.loading import as_they_come, worker_count
from cst.data.stream import Stream
from cst.data.writers import WRITERS, type_of
from cst.engine.adapted import Adapted
from cst.engine.evaluation import EVALUATION_BATCH
from cst.engine.journal import Journal
from cst.files import write_aside
from cst.functional import margin
from cst.kinds.contract import Encoder
from cst.stages import told

FIGURES = ("prediction", "probability", "margin")
SHOWN = 3
"""Names of what is left out that a sentence mentions."""


@dataclass
class Summary:
    """What became of the inputs: how many were predicted as each class, and which were left out."""

    counts: list[int]
    kept: int = 0
    unreadable: int = 0
    first: list[str] = field(default_factory=list)
    reason: str = ""
    types: dict[str, set[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Predictions."""
        return sum(self.counts)

    def add(self, entry: dict[str, Any]) -> None:
        """Count what an entry of the journal holds."""
        for row in entry["rows"]:
            self.counts[row[-3]] += 1
        self.unreadable += len(entry["unreadable"])
        self.first += entry["unreadable"][: max(0, SHOWN - len(self.first))]
        self.reason = self.reason or entry["reason"]
        for name, types in entry["types"].items():
            self.types.setdefault(name, set()).update(types)

    def notes(self, stream: Stream) -> tuple[str, ...]:
        """Sentences on what the reading noticed and left out."""
        count = len(stream.left_out) + self.unreadable
        names = [*stream.left_out[:SHOWN], *(stream.word + name for name in self.first)]
        listed = some([*names[:SHOWN], *[""] * (count - len(names[:SHOWN]))])
        sentence = f"{count} of the input's {stream.fault} and are left out: {listed}."
        return (*stream.notes, *((sentence,) if count else ()))


def predict_to(
    out: Path, adapted: Adapted, stream: Stream, strict: bool = False, tell: Callable[[str], None] = warnings.warn
) -> Summary:
    """Write the predictions for a stream as a table: name, carried columns, prediction, probability, margin.

    What an earlier attempt with the same model and inputs has predicted before it was interrupted is kept: the table
    is the same as without the interruption. Until it is whole, a file that lies at ``out`` stays as it is.

    Args:
        out: a .csv or .parquet file.
        adapted: the model.
        stream: the inputs.
        strict: stop at an input that cannot be read.
        tell: takes sentences that the user should know.
    """
    names = header(adapted.kind.unit, stream.carried)
    work = {"model": digest(adapted), "columns": names, "part": EVALUATION_BATCH}
    with Journal(out, work).opened() as journal:
        if journal.is_of_another:
            tell(f"{out} was begun with another model or other columns: it begins anew.")
        summary = Summary([0] * len(adapted.classes))
        rest = _after_kept(stream, journal, summary, strict)
        if summary.kept:
            tell(f"{summary.kept:,} of {stream.total:,} were predicted before an interruption and are kept.")
        entries = told("predicting", _entries(adapted, rest, stream, strict), stream.total - summary.kept, _size)
        for entry in entries:
            journal.append(entry)
            summary.add(entry)
        if not summary.total:
            journal.remove()
            raise ValueError(summary.reason or "There are no new inputs: give at least one.")
        rows = ((*row[:-3], adapted.classes[row[-3]], *row[-2:]) for e in journal.entries() for row in e["rows"])
        summary.types.update(
            {"prediction": {type_of(label) for label in adapted.classes}, "probability": {"float"}, "margin": {"float"}}
        )
        write = WRITERS[out.suffix.lower()]
        write_aside(out, lambda aside: write(aside, names, rows, summary.types))
        journal.remove()
    return summary


def header(unit: str, carried: tuple[str, ...]) -> list[str]:
    """The names of the columns, each another one."""
    names = [unit, *FIGURES]
    for name in carried:
        while name in names:
            name = f"input_{name}"
        names.insert(-len(FIGURES), name)
    return names


def digest(adapted: Adapted) -> str:
    """What tells a model from others."""
    state = hashlib.sha256(repr((adapted.spec.encoding, adapted.spec.temperature, adapted.classes)).encode())
    for name, values in adapted.model.state_dict().items():
        state.update(name.encode())
        state.update(values.cpu().contiguous().view(-1).view(torch.uint8).numpy().data if values.numel() else b"")
    return state.hexdigest()


def _after_kept(stream: Stream, journal: Journal, summary: Summary, strict: bool) -> Iterator[Domain]:
    """The parts that are not in the journal yet; from one on that has changed since, none is."""
    parts = stream.parts(EVALUATION_BATCH)
    for entry in journal.entries():
        part = next(parts, None)
        refused = strict and entry["unreadable"]
        if part is None or refused or entry["sign"] != _short(stream.sign(part)):
            journal.forget_last()
            return chain([] if part is None else [part], parts)
        summary.add(entry)
        summary.kept += len(part)
    return parts


def _entries(adapted: Adapted, parts: Iterator[Domain], stream: Stream, strict: bool) -> Iterator[dict[str, Any]]:
    """What the journal keeps of each part."""
    ahead = list(islice(parts, 1))
    if not ahead:
        return
    encoder = adapted.spec.encoder
    several = stream.total > EVALUATION_BATCH  # for one part no processes are worth starting
    workers = worker_count(adapted.workers, encoder.encode(_sent(ahead[0]))) if several else 0
    under_way: deque[Domain] = deque()

    def items() -> Iterator[Any]:
        for part in chain(ahead, parts):
            under_way.append(part)
            yield _sent(part)

    for inputs, faults in as_they_come(partial(encoded, encoder), items(), workers):
        part = under_way.popleft()
        if strict and faults:
            raise ValueError(next(iter(faults.values())))
        readable = [place for place in range(len(part)) if place not in faults]
        probs = adapted.of_inputs(inputs) if readable else torch.empty(0, len(adapted.classes))
        figures = zip(probs.argmax(1).tolist(), probs.amax(1).tolist(), margin(probs).tolist(), strict=True)
        cells = [[part.names[i], *(column[i] for column in part.carried.values())] for i in readable]
        types = {name: sorted({type_of(row[i]) for row in cells}) for i, name in enumerate(_leading(adapted, stream))}
        yield {
            "sign": _short(stream.sign(part)),
            "rows": [[*row, *numbers] for row, numbers in zip(cells, figures, strict=True)],
            "unreadable": [part.names[place] for place in faults],
            "reason": next(iter(faults.values()), ""),
            "types": types,
        }


def _leading(adapted: Adapted, stream: Stream) -> list[str]:
    """The columns before the figures."""
    return header(adapted.kind.unit, stream.carried)[: -len(FIGURES)]


def encoded(encoder: Encoder, items: Any) -> tuple[Tensor, dict[int, str]]:
    """Encoded inputs of those items that can be read, and what is wrong with the others."""
    samples = encoder.encode(items)
    try:
        return samples.take(torch.arange(len(samples))), {}
    except ValueError:
        if not samples.decodes:
            raise
    inputs, faults = [], {}
    for place in range(len(samples)):
        try:
            inputs.append(samples.take(torch.tensor([place])))
        except ValueError as error:
            faults[place] = str(error)
    return torch.cat(inputs) if inputs else torch.empty(0), faults


def _sent(part: Domain) -> Any:
    """Items as another process can get them: an array, or a list without what lies behind it."""
    return part.items if hasattr(part.items, "shape") else list(part.items)


def _short(sign: str) -> str:
    return hashlib.sha256(sign.encode("utf-8", "surrogateescape")).hexdigest()


def _size(entry: dict[str, Any]) -> int:
    return len(entry["rows"]) + len(entry["unreadable"])
