"""`cst inspect`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cst.cli.flags import as_flags, tell
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, print_columns, print_table, write_json
from cst.kinds.images import SUFFIXES
from cst.spelling import in_one_line


@dataclass(frozen=True)
class Inspect:
    """Look at two domains before training: counts, classes, sizes, duplicates, unreadable files, a contact sheet."""

    source: Path = field(metadata={POSITIONAL: "SOURCE"})
    """The labelled data, as 'cst train --source' takes them."""
    target: Path = field(metadata={POSITIONAL: "TARGET"})
    """The unlabelled data."""
    text: str | None = None
    """Column of the tables that holds the text."""
    label: str | None = None
    """Column of the source that holds the label."""
    target_labels: str | None = None
    """Labels of the target, if there are any; as 'cst train' takes them."""
    label_column: str | None = None
    """Column of the labels in a file that --target-labels names."""
    columns: tuple[str, ...] | None = None
    """Columns of a table that are inputs, as 'cst train' takes them."""
    drop: tuple[str, ...] | None = None
    """Columns of a table that are no inputs."""
    out: Path = Path("contact-sheet.png")
    """Where to draw the contact sheet of images."""
    json: Path | None = None
    """Write the figures to this file."""

    def run(self) -> None:
        """Print the figures and the warnings, draw the contact sheet."""
        data = [self.source, self.target, self.target_labels, self.label]
        check_outputs({"json": self.json, "out": self.out}, data)
        if self.out.suffix.lower() not in SUFFIXES:
            raise ValueError(f"--out {self.out} must end like an image, .png for instance.")

        from cst.analysis.contact_sheet import contact_sheet
        from cst.analysis.inspection import inspect
        from cst.config import Config
        from cst.engine.progress import shown
        from cst.tasks.own import own_domains

        config = Config(
            source=self.source,
            target=self.target,
            text=self.text,
            label=self.label,
            target_labels=self.target_labels,
            label_column=self.label_column,
            columns=self.columns,
            drop=self.drop,
        )
        with shown("cst inspect", demanded=True):
            source, target, labels = own_domains(config)
            figures = inspect(source, target, labels)
        _print(figures)
        if contact_sheet(source, target, self.out):
            tell(f"Contact sheet: {self.out}")
        write_json(self.json, figures)


def _print(figures: dict[str, Any]) -> None:
    domains = figures["source"], figures["target"]
    size = [f"{d['size']['least']} / {d['size']['median']} / {d['size']['most']}" for d in domains]
    rows = [
        ["samples", *(f"{d['samples']:,}" for d in domains)],
        [f"{domains[0]['size_unit']}, least / median / most", *size],
        ["classes", *(str(len(d["classes"])) if d["classes"] else "not labelled" for d in domains)],
        ["duplicates within", *(str(d["duplicates"]) for d in domains)],
        ["also in the other domain", *(str(d["shared"]) for d in domains)],
        ["left out", *(str(len(d["unreadable"])) for d in domains)],
    ]
    print_table(f"Two domains of {figures['kind']}", ["", "source", "target"], rows)
    print_columns(figures["columns"])
    names = dict.fromkeys(name for d in domains for name in d["classes"] or {})
    shares = [[name, *(_share(d, name) for d in domains)] for name in list(names)[:40]]
    if shares:
        print_table("Samples of each class", ["class", "source", "target"], shares)
    if len(names) > 40:
        print(f"... and {len(names) - 40} more classes; --json has them all.")
    for warning in figures["warnings"]:
        tell(f"Warning: {in_one_line(as_flags(warning))}")


def _share(domain: dict[str, Any], name: str) -> str:
    if not domain["classes"]:
        return ""
    count = domain["classes"].get(name, 0)
    return f"{count:,}  {100 * count / sum(domain['classes'].values()):4.1f} %"
