"""What two domains look like before anything is trained: counts, classes, sizes, duplicates."""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cst.data.collection import Collection, same_kind


def fingerprints(collection: Collection) -> list[str]:
    """What is equal for equal samples: of a file's bytes, of a text without its spaces and capitals, of a row."""
    if collection.kind == "text":
        contents = (" ".join(text.lower().split()).encode() for text in collection.items)
    elif collection.kind == "images":
        contents = (item if isinstance(item, bytes) else Path(item).read_bytes() for item in collection.items)
    else:
        contents = (np.asarray(row, dtype=np.float32).tobytes() for row in collection.items)
    return [hashlib.blake2b(content, digest_size=16).hexdigest() for content in contents]


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
    counted = Counter(map(str, labels)) if labels is not None else None
    return {
        "samples": len(collection),
        "size_unit": unit,
        "size": {"least": min(found), "median": int(statistics.median(found)), "most": max(found)},
        "classes": dict(sorted(counted.items())) if counted else None,
        "duplicates": len(prints) - len(set(prints)),
        "unreadable": list(collection.unreadable),
    }


def warnings_of(figures: dict[str, Any]) -> list[str]:
    """What a careful person would want to know before training, one sentence each."""
    found = []
    if figures["shared"]:
        found.append(
            f"{len(figures['shared'])} samples are in both domains: a target that leaks into the source makes every "
            "figure too good."
        )
    for domain in ("source", "target"):
        own = figures[domain]
        if own["duplicates"]:
            found.append(f"The {domain} holds {own['duplicates']} duplicates.")
        if own["unreadable"]:
            found.append(
                f"{len(own['unreadable'])} files of the {domain} cannot be read, {own['unreadable'][0]} first."
            )
        counts = list((own["classes"] or {}).values())
        if counts and max(counts) > 10 * min(counts):
            found.append(f"The {domain}'s largest class has {max(counts)} samples, its smallest {min(counts)}.")
    classes = figures["source"]["classes"], figures["target"]["classes"]
    if classes[0] and classes[1] and set(classes[1]) - set(classes[0]):
        strange = ", ".join(sorted(set(classes[1]) - set(classes[0]))[:5])
        found.append(f"The target has classes that the source does not have: {strange}.")
    return found


def inspect(source: Collection, target: Collection, target_labels: Sequence[Any] | None = None) -> dict[str, Any]:
    """All figures of both domains, and warnings."""
    same_kind(source, target)
    ours, theirs = fingerprints(source), fingerprints(target)
    known = dict(zip(ours, source.names, strict=True))
    figures: dict[str, Any] = {
        "kind": source.kind,
        "source": domain_figures(source, source.labels, ours),
        "target": domain_figures(target, target_labels, theirs),
        "shared": [(known[p], name) for p, name in zip(theirs, target.names, strict=True) if p in known],
    }
    return {**figures, "warnings": warnings_of(figures)}
