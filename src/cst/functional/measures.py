"""What is measured of predictions: margins, and how far two distributions of labels lie apart."""

from __future__ import annotations

import math

from torch import Tensor


def margin(probs: Tensor) -> Tensor:
    """Largest minus second largest probability of each row (Figure 5, right): [..., K] -> [...].

    >>> import torch
    >>> margin(torch.tensor([[0.5, 0.25, 0.25]]))
    tensor([0.2500])
    """
    if probs.shape[-1] < 2:
        raise ValueError("margin needs probabilities of at least two classes.")
    top = probs.topk(2, dim=-1).values
    return top[..., 0] - top[..., 1]


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """Total variation distance of two distributions, Section 2.1: ``1/2 sum_i |p_i - q_i|``, [..., K] -> [...].

    >>> import torch
    >>> total_variation(torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]))
    tensor(0.5000)
    """
    return 0.5 * (p - q).abs().sum(-1)


def mean_confidence(logits: Tensor, temperature: float = 1.0) -> float:
    """The mean of the largest probability of each row, of logits [N, K] divided by a temperature.

    >>> import torch
    >>> mean_confidence(torch.zeros(3, 4))
    0.25
    """
    return float((logits.double() / temperature).softmax(-1).amax(-1).mean())


def temperature_for(logits: Tensor, confidence: float, lowest: float = 0.05, highest: float = 100.0) -> float:
    """The temperature under which the mean confidence of logits [N, K] is as given, by bisection.

    It falls as the temperature rises. Where no temperature within the bounds gives it, the nearest bound is returned.

    >>> import torch
    >>> round(temperature_for(torch.tensor([[0.0, 4.0]]), confidence=1 / (1 + math.exp(-2))), 4)
    2.0
    """
    low, high = math.log(lowest), math.log(highest)
    for _ in range(40):
        middle = (low + high) / 2
        above = mean_confidence(logits, math.exp(middle)) > confidence
        low, high = (middle, high) if above else (low, middle)
    return math.exp((low + high) / 2)


def calibration_error(probs: Tensor, labels: Tensor, bins: int = 15) -> float:
    """Expected calibration error: ``sum_b n_b / N |accuracy_b - confidence_b|`` over bins of equal width.

    Args:
        probs: [N, K].
        labels: the truth [N].
        bins: of the largest probability, from 0 to 1.

    >>> import torch
    >>> round(calibration_error(torch.tensor([[0.8, 0.2], [0.8, 0.2]]), torch.tensor([0, 1])), 4)
    0.3
    """
    confidence, predicted = probs.double().max(-1)
    right = (predicted == labels).to(confidence.dtype)
    places = (confidence * bins).ceil().long().clamp(1, bins) - 1
    gaps = (right - confidence).new_zeros(bins).index_add(0, places, right - confidence)
    return float(gaps.abs().sum() / max(len(labels), 1))
