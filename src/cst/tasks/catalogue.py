"""Tasks by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from cst.spelling import unknown
from cst.tasks.names import DIGITS, DOMAINNET, OFFICE_31, OFFICE_CALTECH, OFFICE_HOME, REVIEWS, SMALL_TABLES

if TYPE_CHECKING:
    from cst.data.domain import Domain
    from cst.data.task import Task

SMALL = 2000


@dataclass(frozen=True)
class TaskInfo:
    """What a listing says of a task."""

    name: str
    summary: str
    classes: int
    source: str
    target: str


def _pairs(name: str, summary: str, classes: int, domains: dict[str, str]) -> list[TaskInfo]:
    return [TaskInfo(f"{name}:{a}-{b}", summary, classes, domains[a], domains[b]) for a, b in permutations(domains, 2)]


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
        *_pairs("office-31", "Office-31, photos of office objects.", 31, OFFICE_31),
        *_pairs("office-home", "Office-Home, everyday objects in four styles.", 65, OFFICE_HOME),
        *_pairs("office-caltech10", "Office-Caltech10, classes of Office and Caltech.", 10, OFFICE_CALTECH),
        TaskInfo(
            "visda-2017",
            "VisDA-2017, rendered objects to photos.",
            12,
            "train, 152,397 renderings",
            "validation, 55,388 photos",
        ),
        *_pairs("domainnet40", "DomainNet, the 40 classes of COAL.", 40, DOMAINNET),
        *_pairs("amazon-reviews", "Amazon reviews, negative or positive.", 2, REVIEWS),
        *_pairs("office-home-features", "Office-Home as features of a frozen ResNet-50.", 65, OFFICE_HOME),
        *_pairs("office-31-features", "Office-31 as features of a frozen ResNet-50.", 31, OFFICE_31),
        *_pairs("amazon-features", "Amazon reviews as features of a frozen MiniLM.", 2, REVIEWS),
        *_pairs("amazon-mpnet-features", "Amazon reviews as features of a frozen MPNet, 12 layers.", 2, REVIEWS),
        *_pairs("digits-small", "2,000 training digits of each set, 32x32, grey.", 10, DIGITS),
        *(
            TaskInfo(f"tables:{name}", "Tables of scikit-learn, divided into domains.", classes, "a half", "the other")
            for name, classes in SMALL_TABLES.items()
        ),
    )
}
"""All but the embedded task and the tables read files under a data root."""


def check_task(name: str) -> None:
    """Raise a ``ValueError`` if there is no task of that name."""
    if name not in TASKS:
        family = [task for task in TASKS if task.partition(":")[0] == name.partition(":")[0]]
        raise ValueError(unknown("task", name, family or TASKS))


def reads_files(name: str) -> bool:
    """Whether a task's data lie under a data root; the embedded task and the tables come with packages."""
    return name != "synthetic-digits" and not name.startswith("tables:")


def named_task(name: str, data_root: Path | None = None, strict: bool = False) -> Task:
    """The task called ``name``, its files under ``data_root`` or the folder that CST_DATA names."""
    check_task(name)
    if name == "synthetic-digits":
        return _synthetic_digits()
    if name.startswith("tables:"):
        from cst.tasks.tables import read_table

        return read_table(name.partition(":")[2])
    from cst.tasks.benchmarks.files import find_data_root

    family, _, pair = name.partition(":")
    first, _, second = pair.partition("-")
    loaders: dict[str, Callable[..., Task]] = {
        "digits": _digits,
        "digits-small": _digits_small,
        "domainnet40": _domainnet,
        "amazon-reviews": _reviews,
        "amazon-features": _review_features,
        "amazon-mpnet-features": _review_features,
        "office-home-features": _folder_features,
        "office-31-features": _folder_features,
    }
    return loaders.get(family, _folders)(name, find_data_root(data_root), first, second, strict)


def _synthetic_digits() -> Task:
    from cst.data.domain import Domain, RowNames
    from cst.data.task import make_task
    from cst.tasks.synthetic_digits import handwritten_digits, rendered_digits

    source, labels = rendered_digits()
    images, truth = handwritten_digits()
    return make_task(
        "synthetic-digits",
        Domain("arrays", source, RowNames(len(source)), labels),
        Domain("arrays", images, RowNames(len(images))),
        truth,
    )


def _digits(name: str, root: Path, first: str, second: str, strict: bool) -> Task:
    """Train on all of the source and the target's training images; evaluate on the target's test images."""
    from cst.data.task import make_task
    from cst.tasks.benchmarks.digits import read_digits

    source, of_source = read_digits(root, first)
    target, of_target = read_digits(root, second)
    test, of_test = read_digits(root, second, train=False)
    channels = max(source.items.shape[1], target.items.shape[1])
    source, target, test = (
        replace(domain, items=domain.items.expand(-1, channels, -1, -1)) for domain in (source, target, test)
    )
    return make_task(name, source, target, target.labels, test, [*of_source, *of_target, *of_test])


def _digits_small(name: str, root: Path, first: str, second: str, strict: bool) -> Task:
    """The first 2,000 training images of both sets in grey; the target's labels serve evaluation."""
    from cst.data.task import make_task
    from cst.tasks.benchmarks.digits import read_digits

    def grey(part: str) -> Domain:
        domain = read_digits(root, part)[0].at(range(SMALL))
        return replace(domain, items=domain.items.mean(1, keepdim=True))

    source, target = grey(first), grey(second)
    return make_task(name, source, target, target.labels)


def _folder_features(name: str, root: Path, first: str, second: str, strict: bool) -> Task:
    """Features of all images of both domains, computed once."""
    from cst.data.task import make_task
    from cst.tasks.benchmarks.features import features_of, image_features
    from cst.tasks.benchmarks.folders import BENCHMARKS

    benchmark = name.partition(":")[0].removesuffix("-features")
    network, make = image_features(root)
    source, target = (
        features_of(BENCHMARKS[benchmark].read(root, part, strict)[0], f"{benchmark}-{part}", network, make)
        for part in (first, second)
    )
    return make_task(name, source, target, target.labels)


def _review_features(name: str, root: Path, first: str, second: str, strict: bool) -> Task:
    """Features of all reviews of both domains, computed once."""
    from cst.data.task import make_task
    from cst.hub import MINILM, place_of
    from cst.tasks.benchmarks.features import features_of, text_features
    from cst.tasks.benchmarks.reviews import read_reviews

    network, place = MINILM, place_of(MINILM)
    if name.startswith("amazon-mpnet"):
        network = "all-mpnet-base-v2"
        place = str(root / "weights" / network)
        if not Path(place).is_dir():
            raise ValueError(f"{place} is missing: put the folder of the encoder of that name there.")
    make = text_features(place)
    source, target = (
        features_of(read_reviews(root, part)[0], f"amazon-{part}", network, make) for part in (first, second)
    )
    return make_task(name, source, target, target.labels)


def _folders(name: str, root: Path, first: str, second: str, strict: bool) -> Task:
    """All images of both domains; the target's labels serve evaluation."""
    from cst.data.task import make_task
    from cst.tasks.benchmarks.folders import BENCHMARKS

    benchmark = BENCHMARKS[name.partition(":")[0]]
    parts = (first, second) if first else tuple(benchmark.domains)
    (source, short), (target, shorter) = (benchmark.read(root, part, strict) for part in parts)
    return make_task(name, source, target, target.labels, notes=[*short, *shorter])


def _domainnet(name: str, root: Path, first: str, second: str, strict: bool) -> Task:
    """COAL's training lists of both domains; evaluate on the target's test list."""
    from cst.data.task import make_task
    from cst.tasks.benchmarks.folders import domainnet40

    (source, short), (target, shorter), (test, shortest) = (
        domainnet40(root, part, train, strict) for part, train in ((first, True), (second, True), (second, False))
    )
    return make_task(name, source, target, target.labels, test, [*short, *shorter, *shortest])


def _reviews(name: str, root: Path, first: str, second: str, strict: bool) -> Task:
    """All 2,000 reviews of both domains; the target's labels serve evaluation."""
    from cst.data.task import make_task
    from cst.tasks.benchmarks.reviews import read_reviews

    (source, short), (target, shorter) = (read_reviews(root, part) for part in (first, second))
    return make_task(name, source, target, target.labels, notes=[*short, *shorter])
