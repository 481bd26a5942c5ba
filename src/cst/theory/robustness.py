"""The robustness R(f_t): where does a prediction change within a neighbourhood?"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def boundary_distance(features: Tensor, head: Tensor) -> Tensor:
    """How far a linear head's prediction is from changing, exactly: features [N, d], head [d, K] -> [N].

    ``min_k (theta_y - theta_k) . z / ||theta_y - theta_k||`` over the other classes k. A prediction changes within a
    ball of radius xi in the space of features if and only if this is less than xi (at xi there is a tie).

    >>> boundary_distance(torch.tensor([[3.0, 1.0]]), torch.eye(2))
    tensor([1.4142])
    """
    scores = features @ head
    best = scores.argmax(-1)
    best_scores = scores.gather(-1, best.unsqueeze(-1))
    lengths = torch.cdist(head.mT, head.mT)[best].clamp_min(torch.finfo(head.dtype).tiny)
    distances = (best_scores - scores) / lengths
    return distances.scatter(-1, best.unsqueeze(-1), torch.inf).amin(-1)


def changes_nearby(
    scores: Callable[[Tensor], Tensor], inputs: Tensor, radius: float, steps: int = 10, seed: int = 0
) -> Tensor:
    """Whether a search found an input within ``radius`` (Euclidean) that is predicted otherwise: [N, ...] -> [N].

    Each input starts at a random place in its ball and climbs the gradient of the best other score minus its own. What
    is not found may exist: the share of changes is a lower bound of R.

    The scores are the inputs themselves, whose distances from a tie are 1.41 and 0.07:

    >>> changes_nearby(lambda inputs: inputs, torch.tensor([[3.0, 1.0], [1.1, 1.0]]), radius=1.0)
    tensor([False,  True])
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        labels = scores(inputs).argmax(-1)
    start = torch.randn(inputs.shape, generator=generator, dtype=inputs.dtype).to(inputs.device)
    shift = start / _lengths(start) * radius / 2
    changed = torch.zeros(len(inputs), dtype=torch.bool, device=inputs.device)
    for _ in range(steps + 1):
        shift = shift.detach().requires_grad_()
        moved_scores = scores(inputs + shift)
        changed |= moved_scores.argmax(-1) != labels
        label_scores = moved_scores.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        gap = moved_scores.scatter(-1, labels.unsqueeze(-1), -torch.inf).amax(-1) - label_scores
        (slope,) = torch.autograd.grad(gap.sum(), shift)
        shift = shift + slope / _lengths(slope) * radius / 2
        shift = shift * (radius / _lengths(shift)).clamp_max(1)
    return changed


def _lengths(values: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(values.flatten(1), dim=1).clamp_min(1e-12)
    return lengths.view(-1, *[1] * (values.ndim - 1))
