"""Flags of commands that read the data of a finished run: where they lie now, and labels that came later."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class MovedData:
    """What may differ from the training."""

    data_root: Path | None = None
    """Folder of datasets for tasks that read files; CST_DATA if not given."""
    source: Path | None = None
    """The source, if it is no longer where the run found it."""
    target: Path | None = None
    """The target, likewise."""
    target_labels: str | None = None
    """Labels of the target, as 'cst train' takes them."""
    label_column: str | None = None
    """Column of the labels in a file that --target-labels names."""
    workers: int | None = None
    """Processes that read images."""

    @property
    def changes(self) -> dict[str, Any]:
        """Those of them that were given, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(MovedData)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def paths(self) -> list[Path | str | None]:
        """Files and folders among them."""
        return [self.source, self.target, self.target_labels]
