"""STAR: MCD whose heads are drawn from a distribution (Lu et al., 2020)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cst.terms.contract import Network, Step
from cst.terms.mcd import MCD


def last_layer(head: nn.Module) -> tuple[nn.Module, nn.Linear]:
    """What a head does to features [N, d] first, and its last layer, which must be linear.

    >>> hidden, layer = last_layer(nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3)))
    >>> len(hidden), layer
    (2, Linear(in_features=4, out_features=3, bias=True))
    >>> last_layer(layer)
    (Identity(), Linear(in_features=4, out_features=3, bias=True))
    """
    hidden, layer = (head[:-1], head[-1]) if isinstance(head, nn.Sequential) else (nn.Identity(), head)
    if type(layer) is not nn.Linear:
        raise ValueError("star needs a head whose last layer is linear: leave out head=.")
    return hidden, layer


class STAR(MCD):
    """Stochastic classifiers: weights ``mu + sigma * noise``, ``mu`` the model's last layer, ``sigma`` learned.

    Each pass draws two heads anew, by reparameterisation, so that the gradient reaches mean and
    variance; they share what comes before the last layer. Predictions use the mean.

    At the start the variance is small, and both drawn heads are near the model's own.

    >>> from cst.terms.example import loss_on_example
    >>> from cst.terms.source import Source
    >>> abs(loss_on_example(STAR()) - 2 * loss_on_example(Source())) < 0.5
    True
    >>> 0 < loss_on_example(STAR(), phase="features") < 0.2
    True
    """

    def _add_heads(self, network: Network) -> None:
        """Start with a small variance."""
        self.spread = nn.Parameter(torch.full_like(last_layer(network.head)[1].weight, -3.0))

    def draw(self, network: Network) -> tuple[Tensor, Tensor]:
        """One last layer: a drawn weight [K, d] and the common bias [K].

        >>> from cst.terms.example import ExampleNetwork, loss_on_example
        >>> star = STAR()
        >>> _ = loss_on_example(star)  # sets it up
        >>> weight, bias = star.draw(ExampleNetwork())
        >>> weight.shape, bias.shape
        (torch.Size([3, 5]), torch.Size([3]))
        """
        _, layer = last_layer(network.head)
        return layer.weight + F.softplus(self.spread) * torch.randn_like(layer.weight), layer.bias

    def outputs(self, step: Step, domain: str) -> tuple[Tensor, Tensor]:
        """Logits [N, K] of two drawn heads."""
        hidden, _ = last_layer(step.network.head)
        # The model's own pass through its head feeds the running statistics.
        inputs = (step.source if domain == "source" else step.target).through(hidden, track=False)
        first, second = (F.linear(inputs, *self.draw(step.network)) for _ in range(2))
        return first, second

    def source_loss(self, step: Step) -> Tensor:
        """Cross-entropy of both drawn heads, a scalar."""
        first, second = self.outputs(step, "source")
        return F.cross_entropy(first, step.labels) + F.cross_entropy(second, step.labels)
