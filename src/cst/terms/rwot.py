"""RWOT: reliable weighted optimal transport (Xu et al., 2020)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.functional import ridge_head
from cst.terms.contract import Epoch, Problem, Step, Term


def transport_plan(cost: Tensor) -> Tensor:
    """The plan [N, M] of least cost [N, M] between two uniform distributions.

    >>> transport_plan(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    import ot

    n, m = cost.shape
    plan = ot.emd(torch.full((n,), 1 / n).double().numpy(), torch.full((m,), 1 / m).double().numpy(), _numpy(cost))
    return torch.as_tensor(plan, dtype=cost.dtype, device=cost.device)


def _numpy(cost: Tensor):  # type: ignore[no-untyped-def]
    return cost.detach().double().cpu().numpy()


def separability(source: Tensor, target: Tensor) -> float:
    """``2 (1 - 2 error)`` of a linear classifier that tells source [N, d] from target [M, d]: 0 alike, 2 apart.

    >>> samples = torch.tensor([[0.0], [1.0]])
    >>> separability(samples, samples + 9), separability(samples, samples)
    (2.0, 0.0)
    """
    features = F.pad(torch.cat([source, target]), (0, 1), value=1.0)
    sides = torch.cat([torch.ones(len(source)), -torch.ones(len(target))]).to(features).unsqueeze(1)
    scores = features @ ridge_head(features, sides, l2=1.0)
    error = float((scores.sign() != sides).float().mean())
    return min(2.0, max(0.0, 2 * (1 - 2 * error)))


class RWOT(Term):
    """Transport between source samples and target samples that are reliably of the same class.

    The reliability ``Q`` [M, K] that target sample j is of class k mixes the similarity to the
    source's class centre and the prediction, in proportions that follow how far apart the domains are in that
    class. The plan minimises ``|z_i - z_j|^2 (1 - Q_j,y_i)``; along it, features approach each other and
    target predictions the labels of their partners. A second part gathers samples around their
    class centres and keeps the centres apart. Distances are divided by the length of the features.

    Args:
        transport: weight of the transport.
        centres: weight of the centres' part.
        temperature: of the predictions in Q.
        apart: the squared distance below which centres repel each other.

    >>> from cst.terms.example import loss_on_example
    >>> both, first, second = (loss_on_example(RWOT(t, c)) for t, c in ((0.5, 0.1), (0.5, 0.0), (0.0, 0.1)))
    >>> first > 0, second > 0, abs(both - (first + second)) < 1e-5
    (True, True, True)
    """

    ramped = True

    def __init__(
        self, transport: float = 0.5, centres: float = 0.1, temperature: float = 1.0, apart: float = 2.0
    ) -> None:
        super().__init__()
        self.transport, self.centres, self.temperature, self.apart = transport, centres, temperature, apart

    def setup(self, problem: Problem) -> None:
        """Make room for the distance of the domains in each class [K]."""
        super().setup(problem)
        self.distance: Tensor
        self.register_buffer("distance", torch.ones(problem.num_classes))

    @torch.no_grad()
    def start_epoch(self, epoch: Epoch) -> None:
        """Measure, class by class, how far apart the domains are; the model's head labels the gathered features."""
        source, labels, target = epoch.gathered()
        predicted = epoch.network.classify(target, "target", False).argmax(-1)
        for c in range(self.num_classes):
            source_of_class, target_of_class = source[labels == c], target[predicted == c]
            if len(source_of_class) and len(target_of_class):
                self.distance[c] = separability(source_of_class, target_of_class)

    def reliability(self, features: Tensor, logits: Tensor, centres: Tensor, within: float) -> Tensor:
        """Q [M, K] of target samples, rows summing to one.

        Args:
            features: of the target [M, d].
            logits: of the target [M, K].
            centres: of the source's classes [K, d].
            within: the squared spread of a class.

        Where the domains are not apart at all, the predictions decide alone.

        >>> from cst.terms.example import loss_on_example
        >>> rwot = RWOT()
        >>> _ = loss_on_example(rwot)  # sets it up for 5 features and 3 classes
        >>> _ = rwot.distance.fill_(0.0)
        >>> logits = torch.tensor([[0.1, 0.2, 0.7]]).log()
        >>> rwot.reliability(torch.zeros(1, 5), logits, torch.eye(3, 5), within=1.0)
        tensor([[0.1000, 0.2000, 0.7000]])
        """
        by_centre = (-torch.cdist(features, centres).square() / within).softmax(-1)
        by_prediction = (logits / self.temperature).softmax(-1)
        mixed = self.distance * by_centre + (2 - self.distance) * by_prediction
        return mixed / mixed.sum(-1, keepdim=True)

    def forward(self, step: Step) -> Tensor:
        """Transport and centres, a scalar of source features [N, d] and target features [M, d]."""
        z_s, z_t, labels, width = step.source.features, step.target.features, step.labels, step.source.features.shape[1]
        onehot = F.one_hot(labels, self.num_classes).to(z_s.dtype)
        counts = onehot.sum(0)
        centres = onehot.T @ z_s / counts.clamp_min(1).unsqueeze(1)
        spread = (z_s - centres[labels]).square().sum(1).mean()
        within = float(spread.detach().clamp_min(1e-6))
        reliable = self.reliability(z_t.detach(), step.target.logits.detach(), centres.detach(), within)

        apart = torch.cdist(z_s, z_t).square() / width
        plan = transport_plan(apart * (1 - reliable[:, labels].T))
        disagreement = -step.target.logits.log_softmax(-1)[:, labels].T
        transport = (plan * (apart + disagreement)).sum()

        present = counts > 0
        to_centres = torch.cdist(z_t, centres).square() / width
        gather = spread / width + (reliable * to_centres * present).sum(1).mean()
        between = torch.cdist(centres[present], centres[present]).square() / width
        repel = F.relu(self.apart - between).triu(1).sum() / max(1, int(present.sum()) - 1)
        return self.transport * transport + self.centres * (gather + repel)
