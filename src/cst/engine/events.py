"""TensorBoard events of a run, where they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cst.config import Config
from cst.engine.run import Run


@contextmanager
def event_writer(config: Config, run: Run | None) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that writes a record's numbers as TensorBoard events, or does nothing."""
    if not (config.tensorboard and run):
        yield lambda record: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ValueError(
            "--tensorboard needs the package tensorboard: pip install 'cycle-self-training[tensorboard]'."
        ) from None
    with SummaryWriter(str(run.folder / "tensorboard")) as writer:

        def write(record: dict[str, Any]) -> None:
            for key, value in record.items():
                for name, number in value.items() if isinstance(value, dict) else [("", value)]:
                    if isinstance(number, int | float):
                        writer.add_scalar(f"{key}/{name}".rstrip("/"), number, record["epoch"])

        yield write
