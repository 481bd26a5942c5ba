"""Tasks by name."""

from __future__ import annotations

from dataclasses import dataclass
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
    )
}


def check_task(name: str) -> None:
    """Raise a ``ValueError`` if there is no task of that name."""
    if name not in TASKS:
        raise ValueError(unknown("task", name, TASKS))


def load_task(name: str) -> Task:
    """The task called ``name``."""
    check_task(name)
    return _synthetic_digits()


def _synthetic_digits() -> Task:
    from cst.data.arrays import task_from
    from cst.data.synthetic_digits import handwritten_digits, rendered_digits

    images, labels = handwritten_digits()
    return task_from(rendered_digits(), images, target_labels=labels, name="synthetic-digits")
