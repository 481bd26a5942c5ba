"""`cst report`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cst.cli.analyse import check_places, say_troubles
from cst.cli.flags import as_flags, tell
from cst.cli.moved import MovedData
from cst.cli.options import POSITIONAL

if TYPE_CHECKING:
    from cst.analysis.subject import Subject

SUFFIXES = (".html", ".htm")


@dataclass(frozen=True, kw_only=True)
class Report(MovedData):
    """Write one page on a run: the verdict, the figures, examples to look at; it needs no network."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder."""
    out: Path | None = None
    """The page to write. (default: report.html in the run folder)"""

    def run(self) -> None:
        """Write the page and say how to open it."""
        from cst.analysis.subject import subjects
        from cst.engine.progress import shown

        out = self.out or self.run_folder / "report.html"
        if out.suffix.lower() not in SUFFIXES:
            raise ValueError(f"--out {out} must end in .html: a browser is to open it.")
        (run,) = subjects([self.run_folder], self.changes)
        check_places(self.paths, [run], [out])
        with shown("cst report", demanded=True):
            write_page(run, out)
        say_troubles([run])
        tell(how_to_open(out))


def write_page(run: Subject, out: Path) -> None:
    """The page on a run, with the commands that repeat it."""
    from cst.analysis.report import write_report

    folder = shlex.quote(str(run.run.folder))
    config = shlex.quote(str(run.run.config_file))
    commands = [
        f"cst train --config {config} --out again   # the same run once more",
        f"cst evaluate {folder}",
        f"cst analyse {folder} --out figures",
        f"cst report {folder} --out report.html",
    ]
    write_report(run, out, commands, as_flags)


def how_to_open(page: Path) -> str:
    """One line for people who have never opened a file in a browser."""
    return f"Report: {page}, which any browser opens: {page.resolve().as_uri()}"
