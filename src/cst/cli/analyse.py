"""`cst analyse`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cst.cli.flags import as_flags, say, tell
from cst.cli.moved import MovedData
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, data_of_run

if TYPE_CHECKING:
    from cst.analysis.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Analyse(MovedData):
    """Draw the paper's figures of one or several runs."""

    run_folders: tuple[Path, ...] = field(metadata={POSITIONAL: "RUN"})
    """The run folders; several are compared."""
    out: Path = Path("figures")
    """Folder for the figures, and for figures.json with their numbers and words."""
    only: tuple[str, ...] | None = None
    """Figures to draw, names with commas between or with the flag again: classes, variation, roc, tsallis, round-trip,
    margins, alpha, accuracy, embedding. (default: all)"""

    def run(self) -> None:
        """Draw what can be drawn and say what is missing."""
        from cst.analysis.album import check_album, files_of, remarks, write_album
        from cst.analysis.plates import plates
        from cst.analysis.subject import subjects
        from cst.config.options import as_names
        from cst.engine.progress import shown

        names = as_names("only", self.only)
        runs = subjects(self.run_folders, self.changes)
        check_places(self.paths, runs, files_of(self.out))
        check_album(self.out)
        with shown("cst analyse", demanded=True):
            made = plates(runs, names)
        say_troubles(runs)
        written = write_album(made, [run.name for run in runs], self.out)
        for sentence in remarks(made):
            tell(as_flags(sentence))
        tell(f"{len(written)} figures: {self.out}")


def check_places(data: list[Path | str | None], runs: list[Subject], files: list[Path]) -> None:
    """Refuse files that would take the place of data, or of a run's own."""
    kept = [*data, *(origin for run in runs for origin in data_of_run(run.run))]
    for file in files:
        check_outputs({"out": file}, kept)


def say_troubles(runs: list[Subject]) -> None:
    """Say of which runs the data are gone, and why."""
    for run in runs:
        if run.trouble:
            say(f"{run.run.folder}: its data are not read, so figures come from what the run kept. {run.trouble}")
