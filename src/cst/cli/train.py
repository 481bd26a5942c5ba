"""`cst train`."""

from __future__ import annotations

import dataclasses
import os
import re
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cst.cli.evaluate import report
from cst.cli.flags import say
from cst.cli.output import check_outputs, print_columns
from cst.config import Config
from cst.config.options import load_options
from cst.ranks.group import Lost, is_first, is_first_started

FREE = (
    *("resume", "json", "data_root", "workers", "cache", "checkpoint_every", "keep_checkpoint", "devices", "num_nodes"),
    "log",
    *("source", "target", "target_labels", "label_column"),
)
"""What may be said of a run that goes on."""


@dataclass(frozen=True)
class Train(Config):
    """Train a model for one task with one method."""

    config: Path | None = None
    """Read options from this YAML file; flags override it."""
    resume: Path | None = None
    """Continue the run in this folder from its last checkpoint; takes no other training options."""
    json: Path | None = None
    """Write the final figures to this file."""

    @classmethod
    def of(cls, flags: dict[str, Any]) -> Train:
        """The command with these flags, over the options of ``--config`` or of the run to resume."""
        if "resume" not in flags:
            return cls(**{**_options(flags["config"]), **flags}) if "config" in flags else cls(**flags)
        from cst.engine.run import Run

        folder = flags["resume"]
        others = [f"--{name.replace('_', '-')}" for name in flags if name not in FREE]
        if others:
            raise ValueError(
                f"--resume {folder} continues the run as it was configured: leave out {', '.join(others)}."
            )
        run = Run.open(folder)
        _ = run.config  # which refuses a file that is not whole
        return cls(**{**_options(run.config_file), "out": folder, **flags})

    @staticmethod
    def defaults() -> dict[str, str]:
        """The usual settings, where they differ between kinds of data too."""
        from cst.cli.defaults import usual_in_words

        return usual_in_words()

    def run(self) -> None:
        """Train, with progress, and print the figures; of several processes that were started the first prints."""
        if is_first_started() or self.devices == 1:
            self._run()
            return
        with open(os.devnull, "w") as nobody, redirect_stdout(nobody), redirect_stderr(nobody):
            self._run()

    def _run(self) -> None:
        from cst.analysis.inspection import column_figures
        from cst.engine.auto import train_or_choose
        from cst.engine.progress import shown
        from cst.engine.run import Run
        from cst.grammar import adjusted, parse_method
        from cst.tasks import load_task

        method = parse_method(self.method)
        adjusted(method, self.weight, self.option)  # what the method does not know is refused before data are read
        folder = self.out or Path("runs") / re.sub(r"[:/ ]+", "-", self.name)
        data = [self.source, self.target, self.target_labels, self.label, self.weights, self.config]
        check_outputs({"json": self.json}, [*data, folder, *Run(folder).files])
        if self.resume is None:
            Run(folder).check_place([self.source, self.target])
        try:
            with shown(self.title, demanded=True) as showing:
                task = load_task(self)
                for note in task.notes:
                    say(note)
                print_columns(column_figures(task.source, task.target))
                going_on = self.resume is not None
                adapted = train_or_choose(task, self, method, resume=going_on, out=folder, callbacks=showing, tell=say)
        except Lost as lost:
            hint = f" Continue with 'cst train --resume {folder}', on as many devices as there are."
            raise Lost(f"{lost}{hint if Run(folder).checkpoint_file.is_file() else ''}") from None
        except KeyboardInterrupt as stop:
            begun = Run(folder).config_file.is_file()
            raise KeyboardInterrupt(f"continue with 'cst train --resume {folder}'" if begun else "") from stop
        if is_first():
            report(folder, adapted.settings, Run.open(folder).finished, self.json)

    @property
    def name(self) -> str:
        """What the run folder is called."""
        return f"{self.label_of_data}-{self.method}-seed{self.seed or 0}"

    @property
    def title(self) -> str:
        """What progress calls the run."""
        return f"{self.label_of_data}  {self.method}  seed {self.seed or 0}"


def _options(path: Path) -> dict[str, Any]:
    """The options in a file, of which every one must be known."""
    from cst.spelling import unknown

    values = load_options(path)
    known = [field.name for field in dataclasses.fields(Config)]
    for name in values:
        if name not in known:
            raise ValueError(f"{path}: {unknown('option', str(name), known)}")
    return values
