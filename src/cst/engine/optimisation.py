"""The optimizer and how its learning rate falls."""

from __future__ import annotations

import math
from functools import partial

import torch

from cst.config import Settings
from cst.engine.objective import Objective
from cst.models.model import Model
from cst.updates.optimizers import OPTIMIZERS, Groups


def make_optimizer(objective: Objective, model: Model, settings: Settings) -> torch.optim.Optimizer:
    """The backbone learns at its own rate; the head and what terms own learn at the full one."""
    of_terms = [weight for weight in objective.terms.parameters() if weight.requires_grad]
    groups: Groups = [
        {"role": "backbone", "params": list(model.backbone.parameters()), "scale": settings.backbone_lr},
        {"role": "heads", "params": [*model.head.parameters(), *of_terms], "scale": 1.0},
    ]
    groups = [{**group, "weight_decay": settings.weight_decay} for group in groups if group["params"]]
    optimizer = OPTIMIZERS[settings.optimizer](groups, settings)
    if settings.clip_gradient:
        optimizer.register_step_pre_hook(partial(_clip, settings.clip_gradient))
    return optimizer


def _clip(largest: float, optimizer: torch.optim.Optimizer, *_: object) -> None:
    """Shorten the gradient of all weights together to this norm, whatever rule and precision made it."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    torch.nn.utils.clip_grad_norm_(weights, largest)


def set_rate(optimizer: torch.optim.Optimizer, settings: Settings, step: int) -> None:
    """The learning rates of a step."""
    factor = rate(settings.schedule, step, step // settings.steps_per_epoch, settings.epochs)
    for group in optimizer.param_groups:
        group["lr"] = settings.lr * factor * group["scale"]


def rate(schedule: str, step: int, epoch: int, epochs: int) -> float:
    """The factor on the initial learning rate.

    ``step``: a tenth after each third of the run, the paper's 50 of 150 epochs. ``inverse``:
    ``(1 + 0.001 step)^-0.75``, the published code's. ``cosine``: half a wave down to zero, the same within an
    epoch. ``constant``: one.

    >>> [rate("step", 0, epoch, epochs=150) for epoch in (0, 50, 100)]
    [1.0, 0.1, 0.01]
    """
    if schedule == "step":
        return float(round(10.0 ** -(3 * epoch // epochs), 6))
    if schedule == "inverse":
        return float((1 + 0.001 * step) ** -0.75)
    if schedule == "cosine":
        return (1 + math.cos(math.pi * epoch / epochs)) / 2
    return 1.0
