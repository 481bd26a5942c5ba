"""The terms of Theorem 1 for a trained model and its task.

The theorem is read in the space of features: ``f_s`` is the model's head, ``f_t`` the ridge head that is fitted to the
target's pseudo-labels, and a neighbourhood is a ball of features. There ``f_t`` is linear, so where its prediction
changes is known exactly; features that no input has are counted too, which can only raise R. Means over samples stand
for expectations. Features are scaled by their root mean square on the target.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from cst.data.labels import UNKNOWN
from cst.data.samples import Samples
from cst.data.task import EncodedTask
from cst.engine.evaluation import DomainView
from cst.functional import margin, pseudo_labels, ridge_head
from cst.models.model import Model
from cst.theory.bound import cst_objective, robustness_from_confidence, smaller, tau, theorem_1
from cst.theory.expansion import estimate_expansion, neighbours_within
from cst.theory.robustness import boundary_distance, changes_nearby

GAMMA = 0.1
"""Width of the ramp in the margin losses."""
SCALES = (0.5, 1.0, 1.5, 2.0)
"""Radii of the table of expansion, in median distances between nearest neighbours."""
GRID = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
"""Values of q among which the best is taken where epsilon is estimated."""
NEIGHBOURS, PER_CLASS, SEARCHED, AT_ONCE = 1000, 250, 100, 25
"""Samples of a domain for the nearest neighbours, of a domain and class for expansion, of a domain for the search in
input space and of a batch there."""


@dataclass(frozen=True)
class Radius:
    """What holds for neighbourhoods of one size."""

    radius: float
    robustness: float
    expansion: float
    best_q: float | None
    bound: float | None


@dataclass(frozen=True)
class Report:
    """The terms of the bound; those that used target labels are called oracle."""

    cycle_source_error: float
    disagreement: float
    radius: float
    robustness: float
    q: float
    epsilon: float
    bound: float
    neighbour_distance: float
    input_radius: float | None
    input_robustness: float | None
    mean_margin: float
    lipschitz: float
    cycle_margin_loss: float
    target_margin_loss: float
    robustness_by_confidence: float | None
    tau: float | None
    margin_bound: float | None
    radii: list[Radius]
    oracle_error: float | None
    oracle_class_gap: float | None

    @property
    def refuted(self) -> bool:
        """Whether the true error exceeds the bound, so that the assumed expansion cannot hold (oracle)."""
        return self.oracle_error is not None and self.oracle_error > self.bound

    def record(self) -> dict[str, Any]:
        """For JSON; oracle figures under a key of their own."""
        figures = asdict(self)
        oracle = {key.removeprefix("oracle_"): figures.pop(key) for key in ("oracle_error", "oracle_class_gap")}
        return {**figures, "oracle": {key: value for key, value in oracle.items() if value is not None}}


def bound_report(
    model: Model, task: EncodedTask, q: float = 0.05, epsilon: float = 0.05, radius: float | None = None, seed: int = 0
) -> Report:
    """Measure the terms of Theorem 1 and put them together for the expansion constants that are assumed.

    Args:
        model: the trained model.
        task: its data; target labels are used for oracle figures only.
        q: assumed.
        epsilon: assumed.
        radius: of a neighbourhood, in scaled features; half the median distance between nearest neighbours if None.
        seed: of the samples that are drawn where all would be too many.
    """
    smaller(q, epsilon)
    if radius is not None and not radius > 0:
        raise ValueError(f"radius= must be positive, got {radius}.")
    generator = torch.Generator().manual_seed(seed)
    view = DomainView(model, task.target, "target")
    source, target = DomainView(model, task.source, "source").features, view.features
    labels, predictions = task.labels, pseudo_labels(view.logits)
    scale = target.square().mean().sqrt().clamp_min(1e-12)
    source, target = source / scale, target / scale
    head = ridge_head(target, torch.nn.functional.one_hot(predictions, task.num_classes).float(), l2=1e-3)

    near = _median_neighbour(source, target, generator)
    radius = near / 2 if radius is None else radius
    distances = boundary_distance(source, head), boundary_distance(target, head)
    error = _share((source @ head).argmax(-1) != labels)
    disagreement = _share((target @ head).argmax(-1) != predictions)
    robustness = _within(distances, radius)
    scores = (source @ head).clamp(0, 1), (target @ head).clamp(0, 1)
    confidence = (float(margin(scores[0]).mean()) + float(margin(scores[1]).mean())) / 2
    lipschitz = float(head.norm(dim=0).max())
    smooth = 2 * lipschitz * radius < 1
    divisor = tau(lipschitz, radius, q, epsilon) if smooth else None
    parts = cst_objective(scores[0], labels, scores[1], predictions, GAMMA, divisor or 1.0)
    input_radius, input_robustness = _input_space(model, task, head, float(scale), generator)
    graphs = _class_graphs(source, labels, target, predictions, task.num_classes, generator)
    return Report(
        cycle_source_error=error,
        disagreement=disagreement,
        radius=radius,
        robustness=robustness,
        q=q,
        epsilon=epsilon,
        bound=theorem_1(error, disagreement, robustness, q, epsilon),
        neighbour_distance=near,
        input_radius=input_radius,
        input_robustness=input_robustness,
        mean_margin=confidence,
        lipschitz=lipschitz,
        cycle_margin_loss=float(parts.cycle),
        target_margin_loss=float(parts.target),
        robustness_by_confidence=robustness_from_confidence(confidence, lipschitz, radius) if smooth else None,
        tau=divisor,
        margin_bound=float(parts.total) + 2 * q if smooth else None,
        radii=[_at(times * near, error + disagreement, distances, graphs, q) for times in SCALES],
        **_oracle(task, predictions),
    )


def _at(
    radius: float, base: float, distances: tuple[Tensor, Tensor], graphs: list[tuple[Tensor, Tensor]], q: float
) -> Radius:
    """Robustness and estimated expansion for one radius, and the least bound over q with the estimate."""
    robustness = _within(distances, radius)
    linked = [(masses, neighbours_within(points, radius)) for masses, points in graphs]
    values = sorted({*GRID, q})
    classes = [estimate_expansion(masses, near, values) for masses, near in linked]
    epsilons = {value: min(column) for value, column in zip(values, zip(*classes, strict=True), strict=True)}
    bounds = {v: base + theorem_1(0, 0, robustness, v, min(e, 0.999)) for v, e in epsilons.items() if e > 0}
    best = min(bounds, key=lambda value: bounds[value]) if bounds else None
    return Radius(radius, robustness, epsilons[q], best, None if best is None else bounds[best])


def _class_graphs(
    source: Tensor, labels: Tensor, target: Tensor, predictions: Tensor, classes: int, generator: torch.Generator
) -> list[tuple[Tensor, Tensor]]:
    """For each class that both domains have: the masses of (P_i + Q_i) / 2 and the points."""
    graphs = []
    for c in range(classes):
        parts = [
            _some(source[labels == c], PER_CLASS, generator),
            _some(target[predictions == c], PER_CLASS, generator),
        ]
        if all(len(part) for part in parts):
            masses = torch.cat([torch.full((len(part),), 0.5 / len(part), dtype=torch.float64) for part in parts])
            graphs.append((masses, torch.cat(parts)))
    return graphs


def _input_space(
    model: Model, task: EncodedTask, head: Tensor, scale: float, generator: torch.Generator
) -> tuple[float | None, float | None]:
    """A radius and the share of inputs whose prediction a search changed; nothing where inputs are whole numbers."""
    device = next(model.parameters()).device
    domains: list[tuple[str, Samples]] = [("source", task.source), ("target", task.target)]
    taken = []
    for _, samples in domains:
        indices = torch.randperm(len(samples), generator=generator)[:SEARCHED].sort().values
        taken.append(samples.take(indices))
    if not all(isinstance(inputs, Tensor) and inputs.is_floating_point() for inputs in taken):
        return None, None
    radius = _median_neighbour(taken[0].flatten(1), taken[1].flatten(1), generator) / 2
    training = model.training
    model.eval()
    shares = []
    for (name, _), inputs in zip(domains, taken, strict=True):

        def scores(batch: Tensor, name: str = name) -> Tensor:
            return model.features(batch, name).float() / scale @ head.to(device)

        batches = (inputs[start : start + AT_ONCE] for start in range(0, len(inputs), AT_ONCE))
        changed = [changes_nearby(scores, batch.to(device), radius) for batch in batches]
        shares.append(_share(torch.cat(changed)))
    model.train(training)
    return radius, sum(shares) / 2


def _oracle(task: EncodedTask, predictions: Tensor) -> dict[str, float | None]:
    """The error of f_s on the target, and how unequal the class shares are, where the target has labels."""
    truth = task.oracle.target_labels
    if truth is None:
        return {"oracle_error": None, "oracle_class_gap": None}
    known = truth != UNKNOWN
    predictions, truth = predictions[known], truth[known]
    shares = [torch.bincount(y, minlength=task.num_classes) / len(y) for y in (task.labels, truth)]
    return {
        "oracle_error": _share(predictions != truth),
        "oracle_class_gap": float((shares[0] - shares[1]).abs().max()),
    }


def _median_neighbour(first: Tensor, second: Tensor, generator: torch.Generator) -> float:
    """The median distance of a sample to its nearest neighbour, in both domains together."""
    points = torch.cat([_some(part, NEIGHBOURS, generator) for part in (first, second)])
    return float(torch.cdist(points, points).fill_diagonal_(torch.inf).amin(1).median())


def _some(points: Tensor, most: int, generator: torch.Generator) -> Tensor:
    return points[torch.randperm(len(points), generator=generator)[:most]]


def _within(distances: tuple[Tensor, Tensor], radius: float) -> float:
    """R under half of the source and half of the target."""
    return sum(_share(part <= radius) for part in distances) / 2


def _share(events: Tensor) -> float:
    return float(events.double().mean())
