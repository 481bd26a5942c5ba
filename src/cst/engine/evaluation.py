"""What a model is worth. Figures that used labels of the target are oracle figures."""

from __future__ import annotations

import torch
from torch import Tensor

from cst.data.domains import UNKNOWN, Oracle, Samples, Task
from cst.data.loading import in_order
from cst.functional import pseudo_labels, ridge_head, total_variation
from cst.models.model import Model

EVALUATION_BATCH = 128


@torch.no_grad()
def predict(
    model: Model, samples: Samples, domain: str = "target", workers: int | None = None
) -> tuple[Tensor, Tensor]:
    """Features [N, d] and logits [N, K] of all samples, in evaluation mode, on the CPU."""
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    features, logits = [], []
    for inputs in in_order(samples, EVALUATION_BATCH, workers):
        batch = model.features(inputs.to(device), domain)
        features.append(batch.float().cpu())
        logits.append(model.classify(batch, domain).float().cpu())
    model.train(training)
    return torch.cat(features), torch.cat(logits)


def distribution(labels: Tensor, num_classes: int) -> Tensor:
    """The share of each class."""
    return torch.bincount(labels, minlength=num_classes).float() / max(len(labels), 1)


def accuracy(predicted: Tensor, truth: Tensor) -> float:
    """The share of correct predictions."""
    return float((predicted == truth).float().mean())


def mean_class_accuracy(predicted: Tensor, truth: Tensor, num_classes: int) -> float:
    """The accuracy of each class that occurs, averaged over classes."""
    shares = [accuracy(predicted[truth == c], truth[truth == c]) for c in range(num_classes) if (truth == c).any()]
    return sum(shares) / len(shares)


def target_head_error(
    source_features: Tensor, source_labels: Tensor, target_features: Tensor, labels: Tensor, num_classes: int
) -> float:
    """Error on the source of the head that was fitted to the target's pseudo-labels (Figure 5, left).

    One definition for all methods, whatever options their cycle term has: raw features at unit scale,
    a ridge of 1e-3.
    """
    scale = target_features.float().square().mean().sqrt().clamp_min(1e-12)
    targets = torch.nn.functional.one_hot(labels, num_classes).to(target_features.dtype)
    head = ridge_head(target_features / scale, targets, l2=1e-3)
    return 1 - accuracy((source_features.to(head.dtype) @ head).argmax(-1), source_labels)


def oracle_metrics(model: Model, task: Task, oracle: Oracle, workers: int | None = None) -> dict[str, float]:
    """Figures that look at the target's labels: accuracies on the test set if there is one, else on the target."""
    found: dict[str, float] = {}
    if oracle.target_labels is not None:
        known = oracle.target_labels != UNKNOWN
        truth = oracle.target_labels[known]
        labels = pseudo_labels(predict(model, task.target, workers=workers)[1])[known]
        shares = (distribution(y, task.num_classes) for y in (labels, truth))
        found["pseudo_label_error"] = 1 - accuracy(labels, truth)
        found["total_variation"] = float(total_variation(*shares))
        found |= _accuracies(labels, truth, task.num_classes)
    if oracle.test is not None:
        labels = pseudo_labels(predict(model, oracle.test.samples, workers=workers)[1])
        found |= _accuracies(labels, oracle.test.labels, task.num_classes)
    return {key: round(value, 6) for key, value in found.items()}


def _accuracies(predicted: Tensor, truth: Tensor, num_classes: int) -> dict[str, float]:
    return {
        "accuracy": accuracy(predicted, truth),
        "mean_class_accuracy": mean_class_accuracy(predicted, truth, num_classes),
    }


def evaluate(model: Model, task: Task, workers: int | None = None) -> dict[str, object]:
    """All figures of a finished model: the round trip, the pseudo-labels, and the oracle's if there are labels."""
    source_features, source_logits = predict(model, task.source.samples, "source", workers)
    target_features, target_logits = predict(model, task.target, workers=workers)
    labels = pseudo_labels(target_logits)
    return {
        "source_error": round(1 - accuracy(pseudo_labels(source_logits), task.source.labels), 6),
        "target_head_source_error": round(
            target_head_error(source_features, task.source.labels, target_features, labels, task.num_classes),
            6,
        ),
        "pseudo_label_distribution": [round(float(p), 6) for p in distribution(labels, task.num_classes)],
        "oracle": oracle_metrics(model, task, task.oracle, workers),
    }
