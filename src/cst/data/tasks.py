"""Tasks by name."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cst.spelling import unknown

if TYPE_CHECKING:
    from cst.data.domains import Task


@dataclass(frozen=True)
class TaskInfo:
    """What a listing says of a task."""

    name: str
    summary: str
    classes: int
    source: str
    target: str


DIGITS = {
    "mnist": "MNIST, 60,000 handwritten digits",
    "usps": "USPS, 7,291 digits from envelopes",
    "svhn": "SVHN, 73,257 house numbers",
}

TASKS = {
    info.name: info
    for info in (
        TaskInfo(
            "synthetic-digits",
            "Digits drawn from fonts to digits written by hand, 8x8; comes with the package.",
            10,
            "4,000 rendered digits",
            "1,797 handwritten digits (scikit-learn)",
        ),
        *(
            TaskInfo(
                f"digits:{source}-{target}",
                f"Digits at 32x32; reads {source.upper()} and {target.upper()} under --data-root.",
                10,
                DIGITS[source],
                DIGITS[target],
            )
            for source, target in (("mnist", "usps"), ("usps", "mnist"), ("svhn", "mnist"))
        ),
    )
}


def check_task(name: str) -> None:
    """Raise a ``ValueError`` if there is no task of that name."""
    if name not in TASKS:
        raise ValueError(unknown("task", name, TASKS))


def load_task(name: str, data_root: Path | None = None) -> Task:
    """The task called ``name``, its files under ``data_root`` or the folder that CST_DATA names."""
    check_task(name)
    if name == "synthetic-digits":
        return _synthetic_digits()
    return _digits(name, data_root)


def _synthetic_digits() -> Task:
    from cst.data.arrays import task_from
    from cst.data.synthetic_digits import handwritten_digits, rendered_digits

    images, labels = handwritten_digits()
    return task_from(rendered_digits(), images, target_labels=labels, name="synthetic-digits")


def _digits(name: str, root: Path | None) -> Task:
    """Train on all of the source and the target's training images; evaluate on the target's test images."""
    from cst.data.arrays import task_from
    from cst.data.benchmarks.digits import READERS
    from cst.data.benchmarks.files import data_root
    from cst.data.domains import Labelled, Oracle, TensorSamples

    folder = data_root(root)
    first, second = name.removeprefix("digits:").split("-")
    source, source_labels = READERS[first][0](folder)
    (target, target_labels), (test, test_labels) = (READERS[second][0](folder, train=part) for part in (True, False))
    channels = max(source.shape[1], target.shape[1])
    source, target, test = (images.expand(-1, channels, -1, -1) for images in (source, target, test))
    task = task_from((source, source_labels), target, target_labels=target_labels, name=name)
    notes = [
        f"{found:,} of the {READERS[part][1]:,} training images of {part.upper()} are there."
        for part, found in ((first, len(source)), (second, len(target)))
        if found != READERS[part][1]
    ]
    oracle = Oracle(task.oracle.target_labels, Labelled(TensorSamples(test), test_labels))
    return dataclasses.replace(task, oracle=oracle, notes=tuple(notes))
