"""DAN and JAN: (joint) maximum mean discrepancy of the domains (Long et al., 2015 and 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.terms.contract import Step, Term

SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)


def squared_distances(samples: Tensor) -> Tensor:
    """``|x_i - x_j|^2`` of samples [N, d]: [N, N].

    >>> squared_distances(torch.tensor([[0.0], [3.0]]))
    tensor([[0., 9.],
            [9., 0.]])
    """
    return torch.cdist(samples, samples, compute_mode="donot_use_mm_for_euclid_dist").square()


def multi_kernel(samples: Tensor, scales: tuple[float, ...] = SCALES) -> Tensor:
    """``sum_m exp(-|x_i - x_j|^2 / (m b))``, ``b`` the mean squared distance of two samples (a constant).

    Args:
        samples: [N, d].
        scales: the multiples m.

    Returns:
        The kernel matrix [N, N]: a sum, as in the authors' code, so that its diagonal counts the kernels. Two samples
        are as far from each other as the mean says, so that a scale of one gives them ``exp(-1)``.

    >>> multi_kernel(torch.tensor([[0.0], [3.0]]), scales=(1.0,))
    tensor([[1.0000, 0.3679],
            [0.3679, 1.0000]])
    >>> multi_kernel(torch.tensor([[0.0], [3.0]])).diagonal()
    tensor([5., 5.])
    """
    distances, count = squared_distances(samples), len(samples)
    bandwidth = (distances.detach().sum() / (count * (count - 1))).clamp_min(1e-12)
    return torch.stack([torch.exp(-distances / (scale * bandwidth)) for scale in scales]).sum(0)


def unbiased_mmd(kernel: Tensor, count: int) -> Tensor:
    """The unbiased estimate of MMD^2.

    Args:
        kernel: the matrix [N, N] of ``count`` source rows and the target rows after them.
        count: at least two, as are the rows after them.

    Returns:
        A scalar: zero where all samples are alike, two for a kernel where the domains have nothing in common.

    >>> unbiased_mmd(torch.ones(5, 5), count=2)
    tensor(0.)
    >>> unbiased_mmd(torch.block_diag(torch.ones(2, 2), torch.ones(3, 3)), count=2)
    tensor(2.)
    """

    def mean_off_diagonal(block: Tensor) -> Tensor:
        n = len(block)
        return (block.sum() - block.diagonal().sum()) / (n * (n - 1))

    within = mean_off_diagonal(kernel[:count, :count]) + mean_off_diagonal(kernel[count:, count:])
    return within - 2 * kernel[:count, count:].mean()


class DAN(Term):
    """``MMD^2`` of the features under five Gaussian kernels.

    The example's domains are near each other: the estimate is small, far below the largest value, ten.

    >>> from cst.terms.example import loss_on_example
    >>> abs(loss_on_example(DAN())) < 1.5
    True
    """

    ramped = True

    def kernel(self, step: Step) -> Tensor:
        """The kernel [N_s + N_t, N_s + N_t] of source and target together.

        >>> from cst.terms.example import example_step
        >>> kernel = DAN().kernel(example_step())
        >>> kernel.shape, bool(torch.allclose(kernel.diagonal(), torch.full((24,), 5.0)))
        (torch.Size([24, 24]), True)
        """
        return multi_kernel(torch.cat([step.source.features, step.target.features]))

    def forward(self, step: Step) -> Tensor:
        """The discrepancy, a scalar."""
        return unbiased_mmd(self.kernel(step), len(step.source.features))


class JAN(DAN):
    """``MMD^2`` of features and predictions jointly: the product of their kernels.

    Args:
        bandwidth: of the one kernel of the predictions, ``exp(-|p_i - p_j|^2 / bandwidth)``; two certain predictions
            of different classes are at a squared distance of two.

    >>> from cst.terms.example import example_step
    >>> step = example_step()
    >>> bool((JAN().kernel(step) <= DAN().kernel(step)).all())  # the second factor is at most one
    True
    >>> bool(torch.allclose(JAN(bandwidth=1e9).kernel(step), DAN().kernel(step)))
    True
    """

    def __init__(self, bandwidth: float = 1.68) -> None:
        super().__init__()
        self.bandwidth = bandwidth

    def kernel(self, step: Step) -> Tensor:
        """Features' kernel times predictions' kernel, [N_s + N_t, N_s + N_t]."""
        probs = torch.cat([step.source.probs, step.target.probs])
        return super().kernel(step) * torch.exp(-squared_distances(probs) / self.bandwidth)
