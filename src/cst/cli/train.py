"""`cst train`."""

from __future__ import annotations

import dataclasses
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cst.cli.evaluate import report
from cst.cli.output import Watch, check_file
from cst.config import Config, load_config


@dataclass(frozen=True)
class Train(Config):
    """Train a model for one task with one method."""

    config: Path | None = None
    """Read options from this YAML file; flags override it."""
    resume: Path | None = None
    """Continue the run in this folder after its last finished epoch; takes no other training options."""
    json: Path | None = None
    """Write the final figures to this file."""

    @classmethod
    def of(cls, given: dict[str, Any]) -> Train:
        """The command with these flags, over those of ``--config`` or of the run to resume."""
        if "resume" in given:
            return cls._resumed(given)
        if "config" in given:
            given = {**vars(load_config(given["config"])), **given}
        return cls(**given)

    @classmethod
    def _resumed(cls, given: dict[str, Any]) -> Train:
        from cst.engine.run import Run

        folder = given["resume"]
        free = ("resume", "json", "data_root", "workers", "cache", "source", "target", "target_labels")
        others = [f"--{name.replace('_', '-')}" for name in given if name not in free]
        if others:
            raise ValueError(
                f"--resume {folder} continues the run as it was configured: leave out {', '.join(others)}."
            )
        return cls(**{**vars(Run.open(folder).config), "out": folder, **given})

    def run(self) -> None:
        """Train, with progress, and print the figures."""
        check_file(self.json)
        config = self._config()

        from cst.data.tasks import kind_of_task, load_task
        from cst.defaults import with_defaults
        from cst.grammar import adjusted, parse_method

        method = parse_method(config.method)
        config = with_defaults(config, method, kind_of_task(config))
        adjusted(method, config.weight, config.option)

        from cst.engine.run import Run
        from cst.engine.train import train

        assert config.out
        assert config.epochs
        task = load_task(config)
        for note in task.notes:
            print(f"cst: {note}", file=sys.stderr)
        try:
            with Watch(f"{config.label_of_data}  {config.method}  seed {config.seed}", config.epochs) as watch:
                train(task, config, resume=self.resume is not None, listener=watch)
        except KeyboardInterrupt:
            begun = Run(config.out).config_file.is_file()
            raise KeyboardInterrupt(f"continue with 'cst train --resume {config.out}'" if begun else "") from None
        run = Run.open(config.out)
        assert run.result is not None
        report(run.folder, run.config, run.result, self.json)

    def _config(self) -> Config:
        config = Config(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Config)})
        if config.out is None:
            name = re.sub(r"[:/ ]+", "-", f"{config.label_of_data}-{config.method}-seed{config.seed}")
            config = dataclasses.replace(config, out=Path("runs") / name)
        return config
