"""A further head like the model's own, with its own start."""

from __future__ import annotations

import copy

from torch import nn

from cst.terms.contract import Network


def twin_head(network: Network) -> nn.Module:
    """A head of the same architecture as the model's, freshly initialised."""
    twin = copy.deepcopy(network.head)
    for part in twin.modules():
        reset = getattr(part, "reset_parameters", None)
        if callable(reset):
            reset()
    return twin
