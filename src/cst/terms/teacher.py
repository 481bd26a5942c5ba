"""A slow copy of the model."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from cst.terms.contract import Network


class Teacher(nn.Module):
    """An exponential moving average of the model: ``w <- decay w + (1 - decay) w_model`` after every step.

    In the first steps the decay is smaller, ``1 - 1 / (steps + 1)``, so that the start is soon forgotten.
    """

    def __init__(self, network: Network, decay: float) -> None:
        super().__init__()
        assert isinstance(network, nn.Module)
        self.decay = decay
        self.steps: Tensor
        self.register_buffer("steps", torch.tensor(0))
        self.copy: nn.Module = copy.deepcopy(network).requires_grad_(False)

    @torch.no_grad()
    def follow(self, network: Network, decay: float | None = None) -> None:
        """Move towards the model; a decay of 0 jumps there."""
        assert isinstance(network, nn.Module)
        self.steps += 1
        keep = min(self.decay, 1 - 1 / (int(self.steps) + 1)) if decay is None else decay
        ours, theirs = _tensors(self.copy), _tensors(network)
        for name, value in ours.items():
            if value.is_floating_point():
                value.lerp_(theirs[name], 1 - keep)
            else:
                value.copy_(theirs[name])

    @torch.no_grad()
    def probs(self, inputs: Tensor) -> Tensor:
        """Predictions for the target [N, K], in evaluation mode."""
        self.copy.eval()
        logits: Tensor = self.copy(inputs)
        return logits.softmax(-1)


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer once: batch norms of the two domains share theirs."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}
