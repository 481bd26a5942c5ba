"""Of neighbourhoods: do predictions form dense groups, do they agree with the nearest labelled samples."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.selection.rows import BLOCK, blocks, evenly, finite, labels_of, probabilities


def soft_neighbourhood_density(
    target_logits: Tensor, temperature: float = 0.05, max_samples: int = 8000, block: int = BLOCK
) -> float:
    """Mean entropy of each sample's soft choice of a neighbour: ``1/M sum_i H(softmax_{j != i}(<p_i, p_j> / T))``.

    ``p_i`` is the softmax of a row of logits [M, K], scaled to unit length. Many neighbours that are equally near make
    it large. Its largest value is ``log(M - 1)``: compare models on the same number of samples.

    Args:
        target_logits: [M, K].
        temperature: T.
        max_samples: of more samples, so many at even distances are taken; time and neighbours grow with their number.
        block: rows of similarities at once.

    Three samples with one prediction choose between two neighbours each:

    >>> round(soft_neighbourhood_density(torch.zeros(3, 2)), 4)
    0.6931
    """
    probs = probabilities(target_logits, "target_logits")[evenly(len(target_logits), max_samples)]
    if len(probs) < 2:
        return 0.0
    unit = F.normalize(probs, dim=-1).float()
    total, first = 0.0, 0
    for rows in blocks(unit, block):
        similarity = rows @ unit.mT / temperature
        similarity[torch.arange(len(rows)), torch.arange(first, first + len(rows))] = -torch.inf
        total += float(torch.special.entr(similarity.softmax(-1)).sum(dtype=torch.float64))
        first += len(rows)
    return total / len(unit)


def nearest_source_agreement(
    source_features: Tensor,
    source_labels: Tensor,
    target_features: Tensor,
    target_logits: Tensor,
    neighbours: int = 5,
    max_source: int = 10_000,
    max_target: int = 5_000,
    block: int = BLOCK,
) -> float:
    """Share of target samples whose nearest source samples vote for the predicted class.

    Near is a large cosine of features; of classes with equally many votes, the one with the larger sum of cosines
    wins. Of more samples than ``max_source`` and ``max_target``, so many at even distances are taken.

    Args:
        source_features: [N, d].
        source_labels: integers [N].
        target_features: [M, d].
        target_logits: [M, K].
        neighbours: votes of each sample, or all source samples where there are fewer.
        max_source: see above.
        max_target: see above.
        block: target samples at once.

    >>> features, labels = torch.eye(2), torch.tensor([0, 1])
    >>> nearest_source_agreement(features, labels, features, torch.tensor([[1.0, 0.0], [1.0, 0.0]]), neighbours=1)
    0.5
    """
    near, kept = evenly(len(source_labels), max_source), evenly(len(target_logits), max_target)
    gallery = F.normalize(finite(source_features[near], "source_features"), dim=-1)
    queries = F.normalize(finite(target_features[kept], "target_features"), dim=-1).to(gallery.dtype)
    predicted = labels_of(target_logits, "target_logits")[kept]
    gallery_labels, votes = source_labels[near].long(), min(neighbours, len(near))
    agreeing = 0
    for rows, labels in zip(blocks(queries, block), blocks(predicted, block), strict=True):
        cosine, places = (rows @ gallery.mT).topk(votes, dim=-1)
        # A vote is one and a bit: all bits together are less than half a vote.
        worth = 1 + cosine / (2 * votes + 1)
        ballots = worth.new_zeros(len(rows), target_logits.shape[-1])
        elected = ballots.scatter_add(1, gallery_labels[places], worth).argmax(-1)
        agreeing += int((elected == labels).sum())
    return agreeing / len(predicted)
