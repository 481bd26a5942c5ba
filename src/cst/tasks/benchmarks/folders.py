"""Benchmarks of image files: Office-31, Office-Home, Office-Caltech10, VisDA-2017, DomainNet with 40 classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cst.data.domain import Domain
from cst.data.readers.folders import checked, read_folder
from cst.kinds.images import image_files
from cst.tasks.names import DOMAINNET


@dataclass(frozen=True)
class Benchmark:
    """A set of image folders.

    Attributes:
        title: what it is called.
        classes: how many.
        places: where it may lie under the data root, the publisher's own name first.
        domains: abbreviation -> folder of the domain, with the number of images that its publisher has.
        origin: where to get it.
        inside: a folder between the domain and its classes.
    """

    title: str
    classes: int
    places: tuple[str, ...]
    domains: dict[str, tuple[tuple[str, ...], int]]
    origin: str
    inside: str = ""

    def folder(self, root: Path, domain: str) -> Path:
        """The folder of a domain's classes."""
        names, _ = self.domains[domain]
        for place in self.places:
            for name in names:
                folder = root / place / name
                if folder.is_dir():
                    return folder / self.inside if (folder / self.inside).is_dir() else folder
        raise ValueError(f"{root / self.places[0] / names[0] / self.inside} is missing: get it from {self.origin}.")

    def read(self, root: Path, domain: str, strict: bool = False) -> tuple[Domain, list[str]]:
        """The images of a domain, and what is missing of them."""
        folder = self.folder(root, domain)
        images = read_folder(folder, image_files(strict))
        classes = len(set(images.labels))
        if classes != self.classes:
            raise ValueError(
                f"{folder} has {classes} class folders instead of {self.classes}: get {self.title} from {self.origin}."
            )
        return images, short(images, self.domains[domain][1], f"{self.title}, {self.domains[domain][0][0]}")


def short(domain: Domain, expected: int, what: str) -> list[str]:
    """A sentence if the count is not the publisher's."""
    count = len(domain) + len(domain.left_out)
    return [] if count == expected else [f"{count:,} of the {expected:,} images of {what} are there."]


BENCHMARKS = {
    "office-31": Benchmark(
        "Office-31",
        31,
        ("office-31", "office31", "Office31", "."),
        {"A": (("amazon",), 2817), "D": (("dslr",), 498), "W": (("webcam",), 795)},
        "the Office-31 page of K. Saenko (domain_adaptation_images.tar.gz)",
        "images",
    ),
    "office-home": Benchmark(
        "Office-Home",
        65,
        ("OfficeHomeDataset_10072016", "office-home", "OfficeHome"),
        {
            "Ar": (("Art",), 2427),
            "Cl": (("Clipart",), 4365),
            "Pr": (("Product",), 4439),
            "Rw": (("Real World", "Real_World", "RealWorld"), 4357),
        },
        "the Office-Home page of H. Venkateswara (OfficeHomeDataset_10072016.zip)",
    ),
    "office-caltech10": Benchmark(
        "Office-Caltech10",
        10,
        ("office-caltech10", "office_caltech_10", "Office-Caltech10"),
        {
            "amazon": (("amazon",), 958),
            "caltech10": (("caltech10", "caltech"), 1123),
            "dslr": (("dslr",), 157),
            "webcam": (("webcam",), 295),
        },
        "the pages of B. Gong on Office+Caltech, as image folders",
    ),
    "visda-2017": Benchmark(
        "VisDA-2017",
        12,
        ("visda-2017", "VisDA-2017", "visda"),
        {"train": (("train",), 152_397), "validation": (("validation",), 55_388)},
        "the VisDA-2017 classification challenge (train.tar, validation.tar)",
    ),
}

DOMAINNET_CLASSES = 40
DOMAINNET_PLACES = ("domainnet", "DomainNet")
DOMAINNET_LISTS = "the COAL repository (real_train_mini.txt and the like) and the cleaned DomainNet of M3SDA"


def domainnet40(root: Path, domain: str, train: bool, strict: bool = False) -> tuple[Domain, list[str]]:
    """The images that COAL's list of a domain names: lines of a path and a class number, 0 to 39."""
    name = f"{DOMAINNET[domain]}_{'train' if train else 'test'}_mini.txt"
    place = next((root / p for p in DOMAINNET_PLACES if (root / p / name).is_file()), None)
    if place is None:
        raise ValueError(f"{root / DOMAINNET_PLACES[0] / name} is missing: get it from {DOMAINNET_LISTS}.")
    rows = [line.rsplit(maxsplit=1) for line in (place / name).read_text(encoding="utf-8").splitlines() if line.strip()]
    if any(len(row) != 2 or not row[1].isdigit() or "/" not in row[0] for row in rows):
        raise ValueError(f"{place / name} is not a list of paths and class numbers: get it from {DOMAINNET_LISTS}.")
    classes = len({row[1] for row in rows})
    if classes != DOMAINNET_CLASSES:
        raise ValueError(
            f"{place / name} has {classes} classes instead of {DOMAINNET_CLASSES}: get it from {DOMAINNET_LISTS}."
        )
    files = [place / row[0] for row in rows]
    exists = [file.is_file() for file in files]
    if not any(exists):
        raise ValueError(f"{files[0]} is missing: get {DOMAINNET[domain]}.zip from {DOMAINNET_LISTS}.")
    kept = [(file, file.parent.name) for file, present in zip(files, exists, strict=True) if present]
    domain_images = checked(place, [file for file, _ in kept], [label for _, label in kept], image_files(strict))
    return domain_images, short(domain_images, len(rows), f"{name}")
