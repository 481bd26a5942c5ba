"""Who watches a run: a base to inherit from, and lines in a log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cst.config import Settings

log = logging.getLogger("cst")


class Callback:
    """Somebody who is told how a run goes; inherit and override what you want to know.

    >>> class Printer(Callback):
    ...     def on_epoch(self, record):
    ...         print(f"epoch {record['epoch']}: loss {record['loss']['total']:.2f}")
    >>> Printer().on_epoch({"epoch": 1, "loss": {"total": 0.5}})
    epoch 1: loss 0.50
    """

    def on_settings(self, settings: Settings) -> None:
        """Before anything else: what the run goes by."""

    def on_start(self, total: int) -> None:
        """Before the first step; ``total`` is how many steps the whole run has."""

    def on_step(self, step: int, total: int) -> None:
        """After step number ``step``, counted from 1."""

    def on_losses(self, losses: dict[str, float]) -> None:
        """Now and then, when losses are read from the device: the means of the epoch so far."""

    def on_epoch(self, record: dict[str, Any]) -> None:
        """After an epoch, with its line in the metrics."""

    def on_remark(self, sentence: str) -> None:
        """When something has happened that the user should know at once."""

    def on_result(self, result: dict[str, Any]) -> None:
        """When a run with a folder is finished: what its ``result.json`` holds."""

    def on_end(self) -> None:
        """After all of it, or when the run stops before its end."""


class Logging(Callback):
    """A line in the log ``cst`` for every epoch, for whoever has switched it on."""

    def on_epoch(self, record: dict[str, Any]) -> None:
        """Say the losses."""
        losses = ", ".join(f"{name} {value:.4f}" for name, value in record["loss"].items())
        log.info("epoch %d: %s", record["epoch"], losses)

    def on_remark(self, sentence: str) -> None:
        """Say it."""
        log.info("%s", sentence)
