"""A slow copy of the model."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from cst.terms.contract import Network


class Teacher(AveragedModel):
    """An exponential moving average of the model: ``w <- decay w + (1 - decay) w_model`` after every step.

    In the first steps the decay is smaller, ``1 - 1 / (steps + 1)``, so that the start is soon forgotten. Running
    statistics are averaged like parameters; counters are copied.

    Args:
        network: the model, of which ``module`` becomes a copy.
        decay: what the copy keeps of itself in a step.

    The first step goes half the way.

    >>> from cst.terms.example import ExampleNetwork
    >>> network = ExampleNetwork()
    >>> teacher = Teacher(network, decay=0.99)
    >>> _ = nn.init.constant_(teacher.module.head.bias, 0.0), nn.init.constant_(network.head.bias, 1.0)
    >>> teacher.follow(network)
    >>> teacher.module.head.bias
    Parameter containing:
    tensor([0.5000, 0.5000, 0.5000])
    """

    def __init__(self, network: Network, decay: float) -> None:
        assert isinstance(network, nn.Module)
        super().__init__(network, multi_avg_fn=partial(_approach, decay), use_buffers=True)
        self.module.requires_grad_(False)
        # At zero the first step would copy the model. The number of the step to come also sets the decay.
        self.n_averaged.fill_(1)

    def follow(self, network: Network) -> None:
        """Move towards the model."""
        assert isinstance(network, nn.Module)
        self.update_parameters(network)

    def jump(self, network: Network) -> None:
        """Become the model as it is; this counts as a step.

        >>> from cst.terms.example import ExampleNetwork
        >>> teacher, network = Teacher(ExampleNetwork(), decay=0.99), ExampleNetwork()
        >>> teacher.jump(network)
        >>> bool((teacher.module.head.weight == network.head.weight).all())
        True
        """
        step = int(self.n_averaged)
        self.n_averaged.zero_()
        self.follow(network)
        self.n_averaged.fill_(step + 1)

    @torch.no_grad()
    def probs(self, inputs: Tensor) -> Tensor:
        """Predictions [N, K] for inputs [N, ...] of the target, in evaluation mode.

        >>> from cst.terms.example import ExampleNetwork
        >>> probs = Teacher(ExampleNetwork(), decay=0.99).probs(torch.zeros(2, 4))
        >>> probs.shape, bool(torch.allclose(probs.sum(-1), torch.ones(2)))
        (torch.Size([2, 3]), True)
        """
        self.module.eval()
        logits: Tensor = self.module(inputs)
        return logits.softmax(-1)


@torch.no_grad()
def _approach(decay: float, averages: list[Tensor], values: list[Tensor], step: Tensor | int) -> None:
    """Move the averages towards the values, in place, in step number ``step``."""
    keep = min(decay, 1 - 1 / (int(step) + 1))
    for average, value in zip(averages, values, strict=True):
        if average.is_floating_point():
            average.lerp_(value, 1 - keep)
        else:
            average.copy_(value)
