"""Whether a run is one of several processes, and how this one becomes part of it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch

from cst.config import Config
from cst.ranks import group

PATIENCE = timedelta(hours=2)
"""For what one process does while the others wait; that one has ended they learn at once."""
LOCAL = ("LOCAL_WORLD_SIZE", "SLURM_NTASKS_PER_NODE")
"""Where torchrun and srun say how many processes a machine has."""


def to_launch(config: Config) -> int:
    """Processes that are to be started for this run; 0 where it needs none beside this one, or they are there."""
    devices, nodes = config.devices or 1, config.num_nodes or 1
    elsewhere = group.started_elsewhere()
    if elsewhere is not None:
        if config.devices is not None and devices * nodes not in (1, elsewhere[1]):
            raise ValueError(
                f"devices={devices} and num_nodes={nodes} make {devices * nodes} processes, but {elsewhere[1]} were "
                "started: leave both out, or let them agree."
            )
        return 0
    if nodes > 1:
        raise ValueError(
            f"num_nodes={nodes} needs something that starts the processes on all machines: torchrun, or srun of Slurm."
        )
    if devices > 1:
        _check(devices, config.device or "auto")
    return devices if devices > 1 else 0


def _check(devices: int, device: str) -> None:
    cuda = torch.cuda.device_count() if device in ("auto", "cuda", "gpu") else 0
    mps = device == "mps" or (device == "auto" and torch.backends.mps.is_available())
    if mps:
        raise ValueError(f"devices={devices}, but with device=mps there is one only: leave it out, or say device=cpu.")
    if (cuda or device in ("cuda", "gpu")) and devices > cuda:
        raise ValueError(f"devices={devices}, but this machine has {cuda} GPUs: choose at most {cuda}, or device=cpu.")


@contextmanager
def joined(config: Config) -> Iterator[None]:
    """Within it this process trains together with those that were started with it, if there are any."""
    elsewhere = group.started_elsewhere()
    if elsewhere is None or group.count() > 1 or (config.devices == 1 and (config.num_nodes or 1) == 1):
        yield
        return
    from lightning_fabric import Fabric
    from lightning_fabric.strategies import DDPStrategy

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    everywhere = elsewhere[1]
    said = [int(os.environ[name]) for name in LOCAL if os.environ.get(name, "").isdigit()]
    here = config.devices or next(iter(said), everywhere // (config.num_nodes or 1))
    try:
        device = config.device or "auto"
        cuda = device in ("auto", "cuda", "gpu") and torch.cuda.is_available()
        strategy = DDPStrategy(timeout=PATIENCE, process_group_backend="cpu:gloo,cuda:nccl" if cuda else "gloo")
        fabric = Fabric(accelerator=device, devices=here, num_nodes=everywhere // here, strategy=strategy)
        fabric.launch()
    except (RuntimeError, ValueError, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"The {everywhere} processes of this run cannot be connected: {reason}") from None
    group.join(fabric.global_rank, fabric.world_size, fabric.local_rank, here)
    try:
        yield
    finally:
        group.leave()
