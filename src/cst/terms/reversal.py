"""Gradient reversal (Ganin et al., 2016): what descends for one part of the network ascends for another."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        return inputs.view_as(inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.scale * gradient, None


def reverse_gradient(inputs: Tensor, scale: float = 1.0) -> Tensor:
    """The inputs [...] themselves, whose gradient will be multiplied by ``-scale``.

    >>> inputs = torch.tensor([3.0], requires_grad=True)
    >>> outputs = reverse_gradient(inputs, scale=0.5)
    >>> outputs.backward()
    >>> outputs.item(), inputs.grad.item()
    (3.0, -0.5)
    """
    return _Reverse.apply(inputs, scale)  # type: ignore[no-any-return, no-untyped-call]


def warm_start(progress: float, steepness: float = 10.0) -> float:
    """The schedule of DANN: ``2 / (1 + exp(-10 p)) - 1``, from 0 at the start to nearly 1 at the end.

    >>> [round(warm_start(progress), 3) for progress in (0.0, 0.1, 1.0)]
    [0.0, 0.462, 1.0]
    """
    return 2 / (1 + math.exp(-steepness * progress)) - 1
