"""How many processes train together, which of them this one is, and what the first tells the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

Answer = TypeVar("Answer")

FAILED = "cst/failed"
"""Key of the store that counts who has something to say of a failure."""


class Lost(RuntimeError):  # noqa: N818  (it is the others that are lost)
    """Another process of the run has ended."""


@dataclass
class _World:
    """What this process knows of the others; alone until it joins them."""

    number: int = 0
    count: int = 1
    device: int = 0
    beside: int = 1
    store: Any = None


_WORLD = _World()


def count() -> int:
    """Processes that train together.

    >>> count(), number(), is_first()
    (1, 0, True)
    """
    return _WORLD.count


def number() -> int:
    """Of this process, from 0."""
    return _WORLD.number


def is_first() -> bool:
    """Whether this process writes, prints and is watched."""
    return _WORLD.number == 0


def device() -> int:
    """The place of this process' device on its machine."""
    return _WORLD.device


def beside() -> int:
    """Processes of this run on this machine, which share its cores."""
    return _WORLD.beside


def started_elsewhere() -> tuple[int, int] | None:
    """Number and count of processes that torchrun, or srun, has started; None where nobody has started several."""
    names = ("RANK", "WORLD_SIZE") if "TORCHELASTIC_RUN_ID" in os.environ else ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    here, everywhere = (int(os.environ.get(name) or 0) for name in names)
    return (here, everywhere) if everywhere > 1 else None


def is_first_started() -> bool:
    """Whether this process speaks to the user, also before the processes know of each other."""
    elsewhere = started_elsewhere()
    return elsewhere is None or elsewhere[0] == 0


def join(here: int, everywhere: int, place: int = 0, beside: int = 1) -> None:
    """Be process number ``here`` of so many, ``beside`` on this machine; their process group is there already."""
    from torch.distributed import distributed_c10d

    _WORLD.number, _WORLD.count, _WORLD.device, _WORLD.beside = here, everywhere, place, beside
    _WORLD.store = distributed_c10d._get_default_store()


def leave() -> None:
    """Train alone again; the number stays, and with it who writes. The connection waits for another run."""
    _WORLD.count = _WORLD.beside = 1


@contextmanager
def alone() -> Iterator[None]:
    """Within it this process does everything by itself: the others wait for what it will tell them."""
    everywhere, _WORLD.count = _WORLD.count, 1
    try:
        yield
    finally:
        _WORLD.count = everywhere


@contextmanager
def connected() -> Iterator[None]:
    """Around an exchange: that one of the others does not answer is an error of its own."""
    try:
        yield
    except RuntimeError as error:
        raise Lost("Another process of this run ended without a word.") from error


def from_first(function: Callable[[], Answer]) -> Answer:
    """What a function returns, or raises, in the first process; the others only learn of it.

    >>> from_first(lambda: 3)
    3
    """
    if count() == 1:
        return function()
    from torch import distributed

    told: list[Any] = [None]
    if is_first():
        try:
            with alone():
                told = [(True, function())]
        except Exception as error:
            told = [(False, error)]
    with connected():
        distributed.broadcast_object_list(told, src=0)
    succeeded, answer = told[0]
    if not succeeded:
        raise answer
    return answer  # type: ignore[no-any-return]


def speaks_first() -> bool:
    """Whether this process is the first to say why all of them end."""
    if _WORLD.store is None:
        return is_first_started()
    try:
        return bool(_WORLD.store.add(FAILED, 1) == 1)
    except RuntimeError:  # who kept the store has ended
        return True
