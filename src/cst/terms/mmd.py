"""DAN and JAN: (joint) maximum mean discrepancy of the domains (Long et al., 2015 and 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.terms.contract import Problem, Step, Term

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)


def multi_kernel(samples: Tensor, scales: tuple[float, ...] = SCALES) -> Tensor:
    """Mean of Gaussian kernels [N, N] whose bandwidths are multiples of the mean squared distance (a constant)."""
    distances = torch.cdist(samples, samples, compute_mode="donot_use_mm_for_euclid_dist").square()
    count = len(samples)
    bandwidth = (distances.detach().sum() / (count * (count - 1))).clamp_min(1e-12)
    kernels = [torch.exp(-distances / (2 * scale * bandwidth)) for scale in scales]
    return torch.stack(kernels).mean(0)


def unbiased_mmd(kernel: Tensor, count: int) -> Tensor:
    """The unbiased estimate of MMD^2 from the kernel matrix of ``count`` source rows and the target rows after them."""

    def mean_off_diagonal(block: Tensor) -> Tensor:
        n = len(block)
        return (block.sum() - block.diagonal().sum()) / (n * (n - 1))

    within = mean_off_diagonal(kernel[:count, :count]) + mean_off_diagonal(kernel[count:, count:])
    return within - 2 * kernel[:count, count:].mean()


class DAN(Term):
    """``MMD^2`` of the features under several Gaussian kernels."""

    ramped = True

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)

    def kernel(self, step: Step) -> Tensor:
        """The kernel of source and target together."""
        return multi_kernel(torch.cat([step.source.features, step.target.features]))

    def forward(self, step: Step) -> Tensor:
        """The discrepancy."""
        return unbiased_mmd(self.kernel(step), len(step.source.features))


class JAN(DAN):
    """``MMD^2`` of features and predictions jointly: the product of their kernels."""

    def kernel(self, step: Step) -> Tensor:
        """Features' kernel times predictions' kernel."""
        probs = torch.cat([step.source.probs, step.target.probs])
        return super().kernel(step) * multi_kernel(probs, scales=(1.0,))
