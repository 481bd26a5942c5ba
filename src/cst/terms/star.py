"""STAR: MCD whose heads are drawn from a distribution (Lu et al., 2020)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cst.terms.contract import Network, Step
from cst.terms.mcd import MCD


class STAR(MCD):
    """Stochastic classifiers: weights ``mu + sigma * noise``, ``mu`` the model's last layer, ``sigma`` learned.

    Each pass draws two heads anew, by reparameterisation, so that the gradient reaches mean and
    variance. Predictions use the mean.
    """

    def attach(self, network: Network) -> None:
        """Start with a small variance."""
        layer = network.head
        if type(layer) is not nn.Linear:
            raise ValueError("star needs a linear head: leave out --bottleneck and --head.")
        self.spread = nn.Parameter(torch.full_like(layer.weight, -3.0))

    def draw(self, network: Network) -> tuple[Tensor, Tensor]:
        """One head: a drawn weight and the common bias."""
        layer = network.head
        assert isinstance(layer, nn.Linear)
        return layer.weight + F.softplus(self.spread) * torch.randn_like(layer.weight), layer.bias

    def outputs(self, step: Step, domain: str) -> tuple[Tensor, Tensor]:
        """Logits of two drawn heads."""
        features = (step.source if domain == "source" else step.target).features
        first, second = (F.linear(features, *self.draw(step.network)) for _ in range(2))
        return first, second

    def source_loss(self, step: Step) -> Tensor:
        """Cross-entropy of both drawn heads."""
        first, second = self.outputs(step, "source")
        return F.cross_entropy(first, step.labels) + F.cross_entropy(second, step.labels)
