"""`cst export`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cst.cli.flags import tell
from cst.cli.options import POSITIONAL
from cst.cli.output import check_outputs, write_json


@dataclass(frozen=True)
class Export:
    """Write the model of a finished run for programs without cst: ONNX, or PyTorch's own format."""

    run_folder: Path = field(metadata={POSITIONAL: "RUN"})
    """The run folder, or a saved model."""
    format: Literal["onnx", "torch"] = "onnx"
    """onnx for onnxruntime and others, torch for torch.export.load."""
    out: Path | None = None
    """Folder for the model, export.json on how inputs are encoded, and a tokenizer if it needs one. (default:
    RUN/FORMAT)"""
    json: Path | None = None
    """Write the content of export.json to this file as well."""

    def run(self) -> None:
        """Export and say where."""
        import json

        from cst.engine.adapted import load
        from cst.export import PAGE, export

        check_outputs({"json": self.json})
        adapted = load(self.run_folder)
        folder = self.out or self.run_folder / self.format
        file = export(adapted, folder, self.format)
        write_json(self.json, json.loads((folder / PAGE).read_text(encoding="utf-8")))
        tell(f"Model: {file}, {file.stat().st_size / 2**20:.1f} MB\nHow inputs are encoded: {folder / PAGE}")
