"""Whose statistics batch normalisation uses: one domain's, the other's, or both together."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


class DomainBatchNorm(nn.Module):
    """Batch normalisation with statistics of its own for each domain and one pair of affine parameters.

    ``domain`` says whose turn it is. In training each domain is normalised by its own batch, at
    evaluation by its own running statistics.
    """

    def __init__(self, norm: _BatchNorm) -> None:
        super().__init__()
        self.source = norm
        self.target = copy.deepcopy(norm)
        self.target.weight, self.target.bias = norm.weight, norm.bias
        self.domain = "source"

    def forward(self, inputs: Tensor) -> Tensor:
        """Normalise by the statistics of the present domain."""
        norm: nn.Module = self.target if self.domain == "target" else self.source
        return norm(inputs)  # type: ignore[no-any-return]


def has_batch_norm(module: nn.Module) -> bool:
    """Whether any part normalises by batch statistics."""
    return any(isinstance(part, _BatchNorm) for part in module.modules())


def per_domain(module: nn.Module) -> nn.Module:
    """``module`` with every batch norm in it replaced by a :class:`DomainBatchNorm`."""
    if isinstance(module, _BatchNorm):
        return DomainBatchNorm(module)
    for name, part in module.named_children():
        if not isinstance(part, DomainBatchNorm):
            setattr(module, name, per_domain(part))
    return module


@contextmanager
def untracked(module: nn.Module) -> Iterator[None]:
    """Normalise by the batch, as in training, but leave the running statistics alone."""
    norms = [part for part in module.modules() if isinstance(part, _BatchNorm)]
    before = [(norm.momentum, norm.num_batches_tracked) for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
        norm.num_batches_tracked = None
    try:
        yield
    finally:
        for norm, (momentum, count) in zip(norms, before, strict=True):
            norm.momentum, norm.num_batches_tracked = momentum, count
