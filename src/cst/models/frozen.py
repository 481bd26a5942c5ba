"""Lower layers that stay as they were pretrained."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from typing import Self


class Frozen(nn.Module):
    """Layers without gradient, dropout or changing statistics.

    Inputs that have been through them before (``ready`` says so) pass unchanged, so that their outputs can be
    computed once for a whole domain and be trained on.
    """

    def __init__(self, layers: nn.Module, ready: Callable[[Tensor], bool]) -> None:
        super().__init__()
        self.layers = layers.requires_grad_(False).eval()
        self.ready = ready

    def train(self, mode: bool = True) -> Self:
        """Stay in evaluation mode."""
        return super().train(False)

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        """The output of the layers."""
        return inputs if self.ready(inputs) else self.layers(inputs)
