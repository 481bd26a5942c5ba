"""Whose statistics batch normalisation uses: one domain's, the other's, or both together."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from cst.ranks.rows import is_divided, total


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


class CommonBatchNorm(_BatchNorm):
    """Batch norm by the statistics of a whole batch, of which each process has some rows.

    ``mean`` and ``var`` are sums over all processes, through which the gradient goes: the outcome and the running
    statistics are those of one process with all rows, on any device.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        """Any shape [N, C, ...]."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalise."""
        if not (is_divided() and self.training):
            return super().forward(input)
        with torch.autocast(input.device.type, enabled=False):
            return self._normalised(input if input.dtype == torch.float64 else input.float()).to(input.dtype)

    def _normalised(self, rows: Tensor) -> Tensor:
        over, shape = [0, *range(2, rows.ndim)], [1, -1, *[1] * (rows.ndim - 2)]
        sums = total(torch.cat([rows.sum(over), rows.new_tensor([rows.numel() / rows.shape[1]])]))
        mean, count = sums[:-1] / sums[-1], sums[-1].detach()
        centred = rows - mean.view(shape)
        var = total(centred.square().sum(over)) / count
        self._follow(mean.detach(), var.detach() * count / (count - 1))
        normalised = centred * (var + self.eps).rsqrt().view(shape)
        return normalised if self.weight is None else normalised * self.weight.view(shape) + self.bias.view(shape)

    @torch.no_grad()
    def _follow(self, mean: Tensor, var: Tensor) -> None:
        if self.running_mean is None or self.running_var is None:
            return
        momentum = self.momentum
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            momentum = 1 / float(self.num_batches_tracked) if momentum is None else momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum or 0.0)
        self.running_var.lerp_(var.to(self.running_var.dtype), momentum or 0.0)


def in_common(module: nn.Module) -> None:
    """Let every batch norm in ``module`` go by the whole batch where several processes share it, in place."""
    for part in module.modules():
        if type(part) in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):
            part.__class__ = CommonBatchNorm
