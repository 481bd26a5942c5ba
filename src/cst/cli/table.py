"""`cst table`, and what it shares with `cst bench`: tables on the screen and in files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.cli.flags import tell
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, print_table, write_json
from cst.files import write_text_aside

if TYPE_CHECKING:
    from cst.bench.job import Job
    from cst.bench.suite import Suite
    from cst.bench.tables import Table


@dataclass(frozen=True)
class MakeTable:
    """Print and write the table of runs that are finished, with the paper's numbers beside ours; nothing is trained."""

    runs: str = field(metadata={POSITIONAL: "SUITE|FOLDER"})
    """A suite (its name, or a file that ends in .yaml), or a folder with runs that exist already."""
    methods: str | None = None
    """Only these methods of the suite, names with commas between."""
    tasks: str | None = None
    """Only these tasks of the suite, names with commas between."""
    seeds: int | None = None
    """At most so many seeds. (default: as many as the suite asks for)"""
    oracle: bool = False
    """A second table of the best epoch by the target's labels, marked as such, and one of the samples trained on where
    others were tested."""
    out: Path | None = None
    """Folder of the suite's runs, in which table.md, .csv, .tex and .html are written (default: runs/bench/SUITE); of a
    FOLDER's runs nothing is written unless --out or --to says where."""
    to: Path | None = None
    """Write the table to this file only: .md, .csv, .tex or .html."""
    figure: Path | None = None
    """Draw accuracy and selected alpha over the epochs of the suite's runs into this file, a PNG."""
    json: Path | None = None
    """Write one row for each run to this file."""

    def run(self) -> None:
        """Read, print, write."""
        check_table_files(self.to, self.figure, self.json)
        if self.seeds is not None and self.seeds < 1:
            raise ValueError("--seeds must be at least 1.")
        from cst.bench.suite import suite_names

        if Path(self.runs).is_dir() and self.runs not in suite_names():
            self._of_folder(Path(self.runs))
            return
        from cst.bench.job import jobs_of
        from cst.bench.suite import with_seeds
        from cst.bench.suite_file import find_suite

        suite = with_seeds(find_suite(self.runs, self.methods, self.tasks), self.seeds)
        out = self.out or default_place(suite)
        jobs = jobs_of(suite, out)
        if not any(job.is_done for job in jobs):
            raise ValueError(f"No run in {out} is finished: 'cst bench {self.runs}' makes them.")
        show_suite(suite, jobs, out, self)

    def _of_folder(self, folder: Path) -> None:
        from cst.bench.facts import facts_of
        from cst.bench.rows import rows_below
        from cst.bench.suite import Suite
        from cst.bench.tables import tables_of

        if self.methods or self.tasks or self.seeds or self.figure:
            raise ValueError("A folder of runs is shown as it is: leave out --methods, --tasks, --seeds and --figure.")
        rows, runs = rows_below(folder)
        suite = Suite(folder.name, f"Runs in {folder.name or folder.resolve().name}", ())
        facts = facts_of(None, [run.settings for run in runs], rows)
        show_tables(suite.title, tables_of(suite, rows, facts, self.oracle), self.out, self.to)
        write_json(self.json, rows)


def default_place(suite: Suite) -> Path:
    """Where a suite's runs lie if nothing else is said."""
    return Path("runs/bench") / suite.name


def check_table_files(to: Path | None, figure: Path | None, json: Path | None) -> None:
    """Refuse files of a wrong kind before any work."""
    from cst.bench.writers import WRITERS

    check_outputs({"json": json, "to": to, "figure": figure})
    if figure and figure.suffix.lower() != ".png":
        raise ValueError(f"--figure {figure} must end in .png.")
    if to and to.suffix.lower().lstrip(".") not in WRITERS:
        raise ValueError(f"--to {to} must end in {', '.join('.' + ending for ending in WRITERS)}.")


def show_suite(suite: Suite, jobs: list[Job], out: Path, words: Any) -> None:
    """The tables of those jobs that are finished, with the failures of others."""
    from cst.bench.facts import facts_of
    from cst.bench.rows import histories_of, rows_of
    from cst.bench.tables import tables_of

    rows = rows_of(jobs)
    done = [job for job in jobs if job.is_done]
    facts = [f"{len(done)} of {len(jobs)} runs are finished."] if len(done) < len(jobs) else []
    facts += facts_of(suite, [job.run.settings for job in done], rows)
    facts += [f"{job.label} failed: {job.failure}" for job in jobs if not job.is_done and job.failure]
    if changed := dict.fromkeys(phrase for job in done for phrase in job.changed):
        facts.append(f"Runs were made with other settings than the suite has: {', '.join(changed)}.")
    notes = dict.fromkeys((v.line, v.note) for v in suite.variants if v.note)
    facts += [f"{line}: {note}" for line, note in notes]
    show_tables(suite.title, tables_of(suite, rows, facts, words.oracle), out, words.to)
    if words.figure:
        from cst.analysis.figures import suite_figure

        suite_figure(histories_of(jobs), words.figure)
        tell(f"Figure: {words.figure}")
    write_json(words.json, rows)


def show_tables(title: str, tables: list[Table], out: Path | None, to: Path | None) -> None:
    """Print them, and write them in every form into a folder, or in the one form that was asked for."""
    from cst.bench.writers import WRITERS

    for table in tables:
        heading = f"{title}: {table.heading}" if table.heading else title
        styles: Mapping[int, str] = {0: "", 1: "bold", 2: "underline"}
        print_table(
            heading,
            list(table.columns),
            [[line.label if line.ours else f"  {line.label}", *(c.text for c in line.cells)] for line in table.lines],
            styles=[["", *(styles[cell.place] for cell in line.cells)] for line in table.lines],
        )
    for fact in dict.fromkeys(fact for table in tables for fact in table.facts):
        tell(fact)
    places = [to] if to else [out / f"table.{ending}" for ending in WRITERS] if out else []
    for place in places:
        write_text_aside(place, WRITERS[place.suffix.lower().lstrip(".")](tables, title))
    if places:
        tell(f"Written: {places[0]}{'' if to else ', .csv, .tex, .html'}")
