"""`cst bench`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from cst.cli.options import POSITIONAL
from cst.cli.output import check_file, print_table, write_json


@dataclass(frozen=True)
class Bench:
    """Run a suite of methods with several seeds and print the table; it can be interrupted and started again."""

    suite: str = field(metadata={POSITIONAL: "SUITE"})
    """Which suite: demo (all methods), batch-norm, cycle-options, ramp; digits, amazon-reviews, office-caltech10, which
    read files under CST_DATA."""
    seeds: int = 3
    """How many seeds."""
    jobs: int = 1
    """How many runs at a time, one thread each."""
    out: Path | None = None
    """Folder for the runs; runs/bench/SUITE if not given."""
    markdown: Path | None = None
    """Write the table to this file as Markdown; docs/results/SUITE.md where that folder is, else OUT/table.md."""
    json: Path | None = None
    """Write one row for each run to this file."""

    def run(self) -> None:
        """Run what is missing and print the table."""
        from cst.bench.suites import find_suite

        suite = find_suite(self.suite)
        if self.seeds < 1 or self.jobs < 1:
            raise ValueError("--seeds and --jobs must be at least 1.")
        check_file(self.json)
        check_file(self.markdown, "--markdown")

        from cst.bench.runner import jobs_of, rows_of, run_suite
        from cst.bench.tables import by_task, markdown, summary

        out = self.out or Path("runs/bench") / suite.name
        jobs = jobs_of(suite, self.seeds, out)
        run_suite(jobs, self.jobs, lambda line: print(line, file=sys.stderr, flush=True))
        rows = rows_of(jobs)
        notes = {variant.name: variant.note for variant in suite.variants}
        columns, lines = by_task(rows) if suite.by_task else summary(rows, notes)
        counted = f"mean and deviation of {self.seeds} seeds, last epoch, in %"
        print_table(f"{suite.title}, {counted}", columns, lines)
        command = f"`cst bench {suite.name} --seeds {self.seeds}`"
        text = f"# {suite.title}\n\n{command}: {counted}.\n\n{markdown(columns, lines)}\n"
        results = Path("docs/results")
        page = self.markdown or (results / f"{suite.name}.md" if results.is_dir() else out / "table.md")
        page.write_text(text, encoding="utf-8")
        print(f"Table: {page}")
        write_json(self.json, rows)
