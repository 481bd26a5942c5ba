"""What two domains look like before anything is trained: counts, classes, sizes, duplicates."""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cst.data.arrays import encode_labels, known_labels, label_array, missing, same_inputs, samples_from
from cst.data.collection import Collection, same_kind, some


def fingerprints(collection: Collection) -> list[str]:
    """What is equal for equal samples: of a file's bytes, of a text without its spaces and capitals, of a row."""
    if collection.kind == "text":
        contents = (" ".join(text.lower().split()).encode("utf-8", "replace") for text in collection.items)
    elif collection.kind == "images":
        contents = (item if isinstance(item, bytes) else Path(item).read_bytes() for item in collection.items)
    else:
        contents = (_same_type(row).tobytes() for row in collection.items)
    return [hashlib.blake2b(content, digest_size=16).hexdigest() for content in contents]


def _same_type(row: Any) -> Any:
    """Numbers of any type as one type; what is no number stays as it is."""
    values = np.asarray(row)
    return values.astype(np.float64) if values.dtype.kind in "biuf" else values


def sizes(collection: Collection) -> tuple[str, list[int]]:
    """What the size of a sample is called, and the size of each."""
    if collection.kind == "text":
        return "words", [len(text.split()) for text in collection.items]
    if collection.kind == "images":
        from cst.data.images import open_picture

        sides = []
        for item in collection.items:
            with open_picture(item) as picture:
                sides.append(min(picture.size))
        return "pixels on the shorter side", sides
    return "values", [int(row.size) for row in collection.items]


def domain_figures(collection: Collection, labels: Sequence[Any] | None, prints: Sequence[str]) -> dict[str, Any]:
    """The figures of one domain, whose samples have these fingerprints."""
    unit, found = sizes(collection)
    counted = Counter(map(str, _as_classes(labels))) if labels is not None else None
    return {
        "samples": len(collection),
        "size_unit": unit,
        "size": {"least": min(found), "median": int(statistics.median(found)), "most": max(found)},
        "classes": dict(sorted(counted.items())) if counted else None,
        "duplicates": len(prints) - len(set(prints)),
        "unreadable": list(collection.unreadable),
        "fault": collection.fault,
    }


def _as_classes(labels: Sequence[Any]) -> Sequence[Any]:
    """Labels as training takes them, those that are there: 1.0 is the class 1."""
    try:
        there = [label for label, gap in zip(labels, missing(labels), strict=True) if not gap]
        return label_array(there, "source").tolist()  # type: ignore[no-any-return]
    except ValueError:  # labels that training refuses
        return labels


def refusals(source: Collection, target: Collection, target_labels: Sequence[Any] | None) -> list[str]:
    """What training would say of these data instead of beginning."""
    found = []
    if source.kind == "arrays":
        try:
            same_inputs(samples_from(source.items, "source"), samples_from(target.items, "target"))
        except ValueError as error:
            found.append(str(error))
    try:
        _, classes = encode_labels(source.labels)
        if target_labels is not None:
            known_labels(target_labels, classes, len(target))
    except ValueError as error:
        found.append(str(error))
    return [f"Training would refuse these data. {sentence}" for sentence in found]


def warnings_of(figures: dict[str, Any]) -> list[str]:
    """What a careful person would want to know before training, one sentence each."""
    found = []
    if figures["shared"]:
        ours, theirs = figures["shared"][0]
        found.append(
            f"{len(figures['shared'])} of the target's samples are in the source too, {theirs} as {ours} first: "
            "a target that leaks into the source makes every figure too good."
        )
    for domain in ("source", "target"):
        own = figures[domain]
        if own["duplicates"]:
            found.append(f"The {domain} holds {own['duplicates']} duplicates.")
        if own["unreadable"]:
            found.append(f"{len(own['unreadable'])} of the {domain}'s {own['fault']}: {some(own['unreadable'])}.")
        counts = list((own["classes"] or {}).values())
        if counts and max(counts) > 10 * min(counts):
            found.append(f"The {domain}'s largest class has {max(counts)} samples, its smallest {min(counts)}.")
    return found


def _of_both(ours: Sequence[str], theirs: Sequence[str]) -> int:
    others = set(theirs)
    return sum(fingerprint in others for fingerprint in ours)


def inspect(source: Collection, target: Collection, target_labels: Sequence[Any] | None = None) -> dict[str, Any]:
    """All figures of both domains, and warnings."""
    same_kind(source.kind, target.kind)
    ours, theirs = fingerprints(source), fingerprints(target)
    known = dict(zip(ours, source.names, strict=True))
    figures: dict[str, Any] = {
        "kind": source.kind,
        "source": {**domain_figures(source, source.labels, ours), "shared": _of_both(ours, theirs)},
        "target": {**domain_figures(target, target_labels, theirs), "shared": _of_both(theirs, ours)},
        "shared": [(known[p], name) for p, name in zip(theirs, target.names, strict=True) if p in known],
    }
    wrong = refusals(source, target, target_labels)
    return {**figures, "warnings": [*wrong, *warnings_of(figures), *source.notes, *target.notes]}
