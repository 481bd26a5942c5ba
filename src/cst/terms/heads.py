"""A further head like the model's own, with a start of its own."""

from __future__ import annotations

import copy

from torch import nn

from cst.terms.contract import Network


def twin_head(network: Network) -> nn.Module:
    """A head of the same architecture as the model's, features [N, d] -> logits [N, K], freshly initialised.

    >>> from cst.terms.example import ExampleNetwork
    >>> network = ExampleNetwork()
    >>> twin = twin_head(network)
    >>> twin, bool((twin.weight == network.head.weight).all())
    (Linear(in_features=5, out_features=3, bias=True), False)
    """
    twin = copy.deepcopy(network.head)
    for part in twin.modules():
        reset = getattr(part, "reset_parameters", None)
        if callable(reset):
            reset()
    return twin
