"""Of the model's answers to other inputs than the samples themselves: another view, a mixture of two."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.selection.outputs import Mixed
from cst.selection.rows import labels_of


def view_agreement(target_logits: Tensor, view_logits: Tensor) -> float:
    """Share of samples that have the same label by both logits [M, K].

    >>> view_agreement(torch.eye(2), torch.tensor([[3.0, 1.0], [2.0, 1.0]]))
    0.5
    """
    labels, others = labels_of(target_logits, "target_logits"), labels_of(view_logits, "view_logits")
    if len(labels) != len(others):
        raise ValueError(f"view_logits has {len(others)} rows, target_logits {len(labels)}: one of each sample.")
    return float((labels == others).double().mean())


def mixval(target_logits: Tensor, mixed: Mixed) -> float:
    """Accuracy of predictions on mixtures, judged by the pseudo-label of the sample with the larger share.

    The mean of two accuracies: of pairs with one pseudo-label, where a mixture probes how dense a class is, and of
    pairs with two, where it probes the boundary between them. Where there are pairs of one sort only, theirs; samples
    mixed with themselves probe nothing and are left out; without any pair the score is zero.

    The authors mix with a share of 0.55. They make the two sorts of pairs apart, in batches of samples in the order of
    their pseudo-labels and in any order, and publish the two accuracies without a rule that joins them in code. Here
    the pairs are those of ``mixed``, told apart by their pseudo-labels, and both sorts weigh the same.

    Args:
        target_logits: [M, K].
        mixed: partners, share and logits of the mixtures.

    >>> logits, partners = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), torch.tensor([1, 2, 0])
    >>> mixval(logits, Mixed(partners, 0.55, torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])))
    0.75
    """
    if not 0.5 < mixed.share <= 1:
        raise ValueError(f"The share of the first sample of a mixture is {mixed.share}: it must be more than a half.")
    labels, partners = labels_of(target_logits, "target_logits"), torch.as_tensor(mixed.partners).long()
    predicted = labels_of(torch.as_tensor(mixed.logits), "mixed.logits")
    if not len(labels) == len(partners) == len(predicted):
        raise ValueError(
            f"There are {len(labels)} target samples, {len(partners)} partners, {len(predicted)} mixtures."
        )
    right, alike = predicted == labels, labels == labels[partners]
    apart = partners != torch.arange(len(partners), device=partners.device)
    accuracies = [right[pairs].double().mean() for pairs in (alike & apart, ~alike) if bool(pairs.any())]
    return float(sum(accuracies) / len(accuracies)) if accuracies else 0.0
