"""Finite source and target distributions whose expansion is known, and classifiers on them.

Each class lives on a circle of its own; points are neighbours if they are at most ``reach`` steps apart. Arrays are
[classes, points], batches of classifiers [B, classes, points].
"""

from dataclasses import dataclass

import torch

from cst.theory.expansion import exact_expansion


@dataclass
class World:
    shares: torch.Tensor
    source: torch.Tensor
    target: torch.Tensor
    neighbours: torch.Tensor

    @property
    def classes(self):
        return len(self.shares)

    def expansion(self, q):
        """The least constant over classes, by looking at every set."""
        both = (self.source + self.target) / 2
        return min(exact_expansion(masses, self.neighbours, q) for masses in both)

    def truth(self):
        return torch.arange(self.classes).unsqueeze(1)

    def mean(self, events, masses):
        return (events.double() * masses * self.shares.unsqueeze(1)).sum((-2, -1))

    def terms(self, f_s, f_t):
        """Err_Q(f_s), Err_P(f_t), c and R(f_t) of batches of predictions."""
        differs = (f_t.unsqueeze(-1) != f_t.unsqueeze(-2)) & self.neighbours
        return (
            self.mean(f_s != self.truth(), self.target),
            self.mean(f_t != self.truth(), self.source),
            self.mean(f_s != f_t, self.target),
            self.mean(differs.any(-1), (self.source + self.target) / 2),
        )


def circle(points, reach):
    steps = (torch.arange(points).unsqueeze(0) - torch.arange(points).unsqueeze(1)).abs()
    return torch.minimum(steps, points - steps) <= reach


def random_world(seed, points=10, classes=3, reach=2):
    generator = torch.Generator().manual_seed(seed)

    def simplex(*shape, sharpness=1.0):
        draws = torch.rand(*shape, generator=generator, dtype=torch.float64).clamp_min(1e-9).log().neg() ** sharpness
        return draws / draws.sum(-1, keepdim=True)

    return World(
        simplex(classes, sharpness=2.0), simplex(classes, points), simplex(classes, points), circle(points, reach)
    )


def random_arcs(count, world, seed):
    """Predictions [count, classes, points] that are right but for one arc of each class, of random length."""
    generator = torch.Generator().manual_seed(seed)
    points = world.source.shape[1]
    start = torch.randint(0, points, (count, world.classes, 1), generator=generator)
    length = torch.randint(0, points + 1, (count, world.classes, 1), generator=generator)
    keep = torch.rand(count, world.classes, 1, generator=generator) < 0.5
    inside = ((torch.arange(points) - start) % points < length) & keep
    other = (world.truth() + 1) % world.classes
    return torch.where(inside, other, world.truth())
