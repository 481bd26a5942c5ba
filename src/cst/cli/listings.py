"""`cst methods` and `cst tasks`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from cst.cli.output import check_file, print_table, write_json


@dataclass(frozen=True)
class Methods:
    """List the methods, the terms and the update rules."""

    json: Path | None = None
    """Write the same list to this file."""

    def run(self) -> None:
        """Print the catalogue."""
        from cst.data import SAMPLERS
        from cst.methods import CATALOGUE
        from cst.terms import TERMS
        from cst.updates import UPDATES

        check_file(self.json)
        fields = ("name", "formula", "summary", "tables", "data", "reference")
        rows = [{field: getattr(method, field) for field in fields} for method in CATALOGUE.values()]
        print_table(
            "Methods (train with --method NAME)",
            ["name", "sum of terms", "what it is", "in the paper", "data"],
            [
                [r["name"], r["formula"], f"{r['summary']}\n{r['reference']}".strip(), r["tables"], r["data"]]
                for r in rows
            ],
            left=5,
        )
        print(f"Terms:        {', '.join(TERMS)}")
        print(f"Update rules: {', '.join(UPDATES)}")
        print(f"Sampling:     {', '.join(SAMPLERS)}")
        print("Any sum is a method: --method cycle+tsallis, --method 'cycle+tsallis(alpha=1.5)+sam'.")
        write_json(
            self.json, {"methods": rows, "terms": list(TERMS), "updates": list(UPDATES), "sampling": list(SAMPLERS)}
        )


@dataclass(frozen=True)
class Tasks:
    """List the tasks that have a name."""

    json: Path | None = None
    """Write the same list to this file."""

    def run(self) -> None:
        """Print the tasks."""
        from cst.data.tasks import TASKS

        check_file(self.json)
        print_table(
            "Tasks (train with --task NAME; all but the first read files under --data-root)",
            ["name", "what it is", "source", "target", "classes"],
            [[t.name, t.summary, t.source, t.target, str(t.classes)] for t in TASKS.values()],
            left=4,
        )
        write_json(self.json, [asdict(task) for task in TASKS.values()])
