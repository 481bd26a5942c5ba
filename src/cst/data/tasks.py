"""Tasks by name, and tasks of the user's own data."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

from cst.config import OWN_DATA, Config
from cst.spelling import unknown

if TYPE_CHECKING:
    from cst.data.domains import Task


@dataclass(frozen=True)
class TaskInfo:
    """What a listing says of a task, and the kind of its data."""

    name: str
    summary: str
    classes: int
    source: str
    target: str
    kind: str = "arrays"


DIGITS = {
    "mnist": "MNIST, 60,000 handwritten digits",
    "usps": "USPS, 7,291 digits from envelopes",
    "svhn": "SVHN, 73,257 house numbers",
}
OFFICE_31 = {"A": "amazon", "D": "dslr", "W": "webcam"}
OFFICE_HOME = {"Ar": "Art", "Cl": "Clipart", "Pr": "Product", "Rw": "Real World"}
OFFICE_CALTECH = {name: name for name in ("amazon", "caltech10", "dslr", "webcam")}
DOMAINNET = {"R": "real", "C": "clipart", "P": "painting", "S": "sketch"}
REVIEWS = {"B": "books", "D": "dvd", "E": "electronics", "K": "kitchen"}


def _pairs(name: str, summary: str, classes: int, domains: dict[str, str], kind: str) -> list[TaskInfo]:
    return [
        TaskInfo(f"{name}:{a}-{b}", summary, classes, domains[a], domains[b], kind) for a, b in permutations(domains, 2)
    ]


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
            TaskInfo(f"digits:{a}-{b}", "Digits at 32x32.", 10, DIGITS[a], DIGITS[b])
            for a, b in (("mnist", "usps"), ("usps", "mnist"), ("svhn", "mnist"))
        ),
        *_pairs("office-31", "Office-31, photos of office objects.", 31, OFFICE_31, "images"),
        *_pairs("office-home", "Office-Home, everyday objects in four styles.", 65, OFFICE_HOME, "images"),
        *_pairs("office-caltech10", "Office-Caltech10, classes of Office and Caltech.", 10, OFFICE_CALTECH, "images"),
        TaskInfo(
            "visda-2017",
            "VisDA-2017, rendered objects to photos.",
            12,
            "train, 152,397 renderings",
            "validation, 55,388 photos",
            "images",
        ),
        *_pairs("domainnet40", "DomainNet, the 40 classes of COAL.", 40, DOMAINNET, "images"),
        *_pairs("amazon-reviews", "Amazon reviews, negative or positive.", 2, REVIEWS, "text"),
    )
}
"""All but the first read files under --data-root."""


def check_task(name: str) -> None:
    """Raise a ``ValueError`` if there is no task of that name."""
    if name not in TASKS:
        family = [task for task in TASKS if task.partition(":")[0] == name.partition(":")[0]]
        raise ValueError(unknown("task", name, family or TASKS))


def kind_of_task(config: Config) -> str:
    """``arrays``, ``images`` or ``text``, without reading the data."""
    if config.source is not None:
        from cst.data.readers import kind_of

        return kind_of(config.source, config.text)
    if config.task_name == OWN_DATA:
        raise ValueError("This run was trained on data of your own: name them with --source and --target.")
    check_task(config.task_name)
    return TASKS[config.task_name].kind


def load_task(config: Config, columns: tuple[str, ...] = (), tokenizer: Any = None) -> Task:
    """The task that a configuration names, its files under ``data_root`` or the folder that CST_DATA names.

    ``columns`` and ``tokenizer`` are those of an earlier run, if its model is to take the data.
    """
    if config.source is not None:
        from cst.data.own import own_task

        task = own_task(config, columns, tokenizer)
    else:
        kind_of_task(config)
        family = config.task_name.partition(":")[0]
        load = {"synthetic-digits": _synthetic_digits, "digits": _digits, "domainnet40": _domainnet}
        task = _reviews(config, tokenizer) if family == "amazon-reviews" else load.get(family, _folders)(config)
    if config.resample:
        from cst.data.resampling import resampled

        task = resampled(task, config.resample, config.seed)
    return task


def _synthetic_digits(config: Config) -> Task:
    from cst.data.arrays import task_from
    from cst.data.synthetic_digits import handwritten_digits, rendered_digits

    images, labels = handwritten_digits()
    return task_from(rendered_digits(), images, target_labels=labels, name="synthetic-digits")


def _domains(config: Config) -> tuple[str, str]:
    first, second = config.task_name.partition(":")[2].split("-")
    return first, second


def _digits(config: Config) -> Task:
    """Train on all of the source and the target's training images; evaluate on the target's test images."""
    from cst.data.arrays import task_from
    from cst.data.benchmarks.digits import read_digits
    from cst.data.benchmarks.files import data_root
    from cst.data.domains import Labelled, Oracle, TensorSamples

    folder = data_root(config.data_root)
    first, second = _domains(config)
    source, source_labels, of_source = read_digits(folder, first)
    target, target_labels, of_target = read_digits(folder, second)
    test, test_labels, of_test = read_digits(folder, second, train=False)
    channels = max(source.shape[1], target.shape[1])
    source, target, test = (images.expand(-1, channels, -1, -1) for images in (source, target, test))
    task = task_from((source, source_labels), target, target_labels=target_labels, name=config.task_name)
    oracle = Oracle(task.oracle.target_labels, Labelled(TensorSamples(test), test_labels))
    return dataclasses.replace(task, oracle=oracle, notes=(*of_source, *of_target, *of_test))


def _folders(config: Config) -> Task:
    """All images of both domains; the target's labels serve evaluation."""
    from cst.data.benchmarks.files import data_root
    from cst.data.benchmarks.folders import BENCHMARKS
    from cst.data.collection import task_of

    root = data_root(config.data_root)
    name = config.task_name
    benchmark = BENCHMARKS[name.partition(":")[0]]
    first, second = ("train", "validation") if name == "visda-2017" else _domains(config)
    (source, short), (target, shorter) = (benchmark.read(root, part, config.strict) for part in (first, second))
    return task_of(source, target, config, name, target.labels, notes=[*short, *shorter])


def _domainnet(config: Config) -> Task:
    """COAL's training lists of both domains; evaluate on the target's test list."""
    from cst.data.benchmarks.files import data_root
    from cst.data.benchmarks.folders import domainnet40
    from cst.data.collection import task_of

    root = data_root(config.data_root)
    first, second = _domains(config)
    (source, short), (target, shorter), (test, shortest) = (
        domainnet40(root, part, train, config.strict)
        for part, train in ((first, True), (second, True), (second, False))
    )
    return task_of(source, target, config, config.task_name, target.labels, test, [*short, *shorter, *shortest])


def _reviews(config: Config, tokenizer: Any = None) -> Task:
    """All 2,000 reviews of both domains; the target's labels serve evaluation."""
    from cst.data.benchmarks.files import data_root
    from cst.data.benchmarks.reviews import read_reviews
    from cst.data.collection import task_of

    root = data_root(config.data_root)
    (source, short), (target, shorter) = (read_reviews(root, part) for part in _domains(config))
    notes = [*short, *shorter]
    return task_of(source, target, config, config.task_name, target.labels, notes=notes, tokenizer=tokenizer)
