"""One warm-up for several methods: the first run keeps the source model, the others begin with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from cst.engine.setup import Training
from cst.files import reading, write_aside
from cst.ranks.group import from_first

OF_SELECTION = ("scores", "changed_share")
"""What belongs to one run's choice of an epoch."""


class WarmStart:
    """A file with the weights at the end of the warm-up and the records that led there.

    The optimizer begins anew: its moments belong to one method.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def keep(self, training: Training, history: list[dict[str, Any]]) -> None:
        """Write it where the warm-up has just ended and nobody has yet."""
        if training.objective.warm_until == len(history) and not from_first(self.file.is_file):
            state = {
                "model": training.model.state_dict(),
                "history": [{k: v for k, v in record.items() if k not in OF_SELECTION} for record in history],
                "source_loss": training.objective.source_loss,
                "data": training.identity,
            }
            write_aside(self.file, lambda aside: torch.save(state, aside))

    def _load(self) -> dict[str, Any] | None:
        if not self.file.is_file():
            return None
        with reading(self.file):
            state: dict[str, Any] = torch.load(self.file, map_location="cpu", weights_only=True)
            return state

    def begin(self, training: Training) -> list[dict[str, Any]]:
        """Begin with what is kept, and return the records behind it; without it at the beginning."""
        state = from_first(self._load)
        if state is None:
            return []
        if state["data"] != training.identity:
            raise ValueError(f"{self.file} was made of other data: remove it, or resume with those.")
        training.model.load_state_dict(state["model"])
        objective, epochs = training.objective, len(state["history"])
        objective.warm_until, objective.source_loss = float(epochs), state["source_loss"]
        history: list[dict[str, Any]] = state["history"]
        return history
