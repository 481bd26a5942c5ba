"""`cst bench`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from cst.cli.flags import tell
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, print_table, write_json
from cst.files import write_text_aside


@dataclass(frozen=True)
class Bench:
    """Run a suite of methods with several seeds and print the table; it can be interrupted and started again."""

    suite: str = field(metadata={POSITIONAL: "SUITE"})
    """Which suite: demo (all methods), batch-norm, cycle-options, ramp; and of files: battery, digits,
    digits-parts, amazon-reviews, office-caltech10."""
    methods: str | None = None
    """Only these methods of the suite, names with commas between."""
    tasks: str | None = None
    """Only these tasks of the suite, names with commas between."""
    seeds: int = 3
    """How many seeds; a suite may ask for fewer of some runs."""
    jobs: int = 1
    """How many runs at a time, one thread each."""
    show: bool = False
    """Run nothing: print the table of the runs that are finished."""
    data_root: Path | None = None
    """Folder of datasets for suites that read files; CST_DATA if not given."""
    out: Path | None = None
    """Folder for the runs; runs/bench/SUITE if not given."""
    markdown: Path | None = None
    """Write the table to this file as Markdown; if not given, a whole suite's goes to docs/results/SUITE.md where that
    folder is, else OUT/table.md."""
    figure: Path | None = None
    """Draw accuracy and selected alpha over the epochs of the finished runs into this file, a PNG."""
    json: Path | None = None
    """Write one row for each run to this file."""

    def run(self) -> None:
        """Run what is missing and print the table."""
        from cst.bench.suites import find_suite

        suite = find_suite(self.suite, self.methods, self.tasks)
        if self.seeds < 1 or self.jobs < 1:
            raise ValueError("--seeds and --jobs must be at least 1.")
        check_outputs({"json": self.json, "markdown": self.markdown, "figure": self.figure})
        if self.figure and self.figure.suffix.lower() != ".png":
            raise ValueError(f"--figure {self.figure} must end in .png.")

        from cst.bench.runner import histories_of, jobs_of, rows_of, run_suite
        from cst.bench.tables import markdown, tables_of

        out = self.out or Path("runs/bench") / suite.name
        jobs = jobs_of(suite, self.seeds, out)
        if not self.show:
            run_suite(jobs, self.jobs, lambda line: print(line, file=sys.stderr, flush=True), self.data_root)
        rows = rows_of(jobs)
        if not rows:
            what = "leave out --show to run the suite" if self.show else "all are being trained by another process"
            raise ValueError(f"No run in {out} is finished: {what}.")
        tables = tables_of(suite, rows)
        seeds = "one seed," if self.seeds == 1 else f"at most {self.seeds} seeds each, mean and deviation"
        finished = f"{len(rows)} of {len(jobs)} runs, {seeds} in %"
        for heading, columns, lines in tables:
            print_table(f"{suite.title}: {heading}; {finished}", columns, lines)
        if page := self._page(suite.name, out):
            parts = [f"`{self._command()}`: {finished}."]
            parts += [f"## {heading.capitalize()}\n\n{markdown(columns, lines)}" for heading, columns, lines in tables]
            write_text_aside(page, "\n\n".join([f"# {suite.title}", *parts]) + "\n")
            tell(f"Table: {page}")
        if self.figure:
            from cst.analysis.figures import suite_figure

            suite_figure(histories_of(jobs), self.figure)
            tell(f"Figure: {self.figure}")
        write_json(self.json, rows)

    def _command(self) -> str:
        chosen = {"methods": self.methods, "tasks": self.tasks, "seeds": self.seeds}
        return " ".join([f"cst bench {self.suite}", *(f"--{name} {value}" for name, value in chosen.items() if value)])

    def _page(self, suite: str, out: Path) -> Path | None:
        """Where the tables go, so that a part of a suite never replaces the page of the whole."""
        if self.markdown or self.show or self.methods or self.tasks:
            return self.markdown
        results = Path("docs/results")
        return results / f"{suite}.md" if results.is_dir() else out / "table.md"
