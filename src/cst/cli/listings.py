"""`cst methods` and `cst tasks`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cst.cli.output import check_outputs, print_table, write_json

if TYPE_CHECKING:
    from cst.tasks.catalogue import TaskInfo


@dataclass(frozen=True)
class Methods:
    """List the methods, the terms and the update rules."""

    json: Path | None = None
    """Write the same list to this file."""

    def run(self) -> None:
        """Print the catalogue."""
        from cst.methods import AUTO, CANDIDATES, CATALOGUE, RAMPED
        from cst.sampling import SAMPLINGS
        from cst.terms import TERMS
        from cst.updates import UPDATES

        check_outputs({"json": self.json})
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
        print(f"  of which the weight grows over the first --ramp-epochs after the warm-up: {', '.join(RAMPED)}")
        print(f"Update rules: {', '.join(UPDATES)}")
        print(f"Sampling:     {', '.join(SAMPLINGS)}")
        print(f"auto:         {AUTO.summary} They are {', '.join(CANDIDATES)}.")
        print("Any sum is a method: --method cycle+tsallis, --method 'cycle+tsallis(alpha=1.5)+sam'.")
        names = {"terms": TERMS, "ramped": RAMPED, "updates": UPDATES, "sampling": SAMPLINGS}
        write_json(self.json, {"methods": rows, **{sort: list(values) for sort, values in names.items()}})


@dataclass(frozen=True)
class Tasks:
    """List the tasks that have a name."""

    json: Path | None = None
    """Write the same list to this file."""

    def run(self) -> None:
        """Print the tasks."""
        from cst.tasks.catalogue import TASKS

        check_outputs({"json": self.json})
        print_table(
            "Tasks (train with --task NAME; all but the first read files under --data-root)",
            ["names", "what it is", "domains", "classes"],
            _families(list(TASKS.values())),
            left=3,
        )
        write_json(self.json, [asdict(task) for task in TASKS.values()])


def _families(tasks: list[TaskInfo]) -> list[list[str]]:
    """One line for the pairs of a benchmark: how they are called, and what their domains are."""
    rows = []
    for family in dict.fromkeys((task.name.partition(":")[0], task.summary) for task in tasks):
        members = [task for task in tasks if (task.name.partition(":")[0], task.summary) == family]
        pairs = [task.name.partition(":")[2].split("-") for task in members]
        if len(members) == 1:
            domains = {"source": members[0].source, "target": members[0].target}
        else:
            domains = {pair[0]: task.source for pair, task in zip(pairs, members, strict=True)}
            domains |= {pair[1]: task.target for pair, task in zip(pairs, members, strict=True)}
        listed = "\n".join(short if short == name else f"{short}: {name}" for short, name in domains.items())
        few = (
            "\n".join(task.name for task in members)
            if len(members) <= 3
            else f"{members[0].name}\n... ({len(members)} pairs)"
        )
        rows.append([few, members[0].summary, listed, str(members[0].classes)])
    return rows
