from types import SimpleNamespace

import torch

from cst.sampling.rules import Aligned, Balanced, Uniform
from cst.terms.contract import Epoch

LABELS = torch.cat([torch.zeros(300), torch.ones(60), torch.full((12,), 2), torch.full((28,), 3)]).long()
TARGET = torch.cat([torch.zeros(30), torch.ones(150), torch.full((120,), 3)]).long()  # nothing is predicted as 2


def sampler(kind, **options):
    made = kind(LABELS, len(TARGET), 4, 32, 0, **options)
    target = SimpleNamespace(features=None, logits=torch.nn.functional.one_hot(TARGET, 4).float())
    made.start_epoch(Epoch(0, 1, SimpleNamespace(), target, target, lambda: None))
    return made


def test_aligned_batches_have_the_same_classes():
    aligned = sampler(Aligned, classes=2)
    seen = set()
    for step in range(40):
        source, target = aligned.batch(step)
        mine, theirs = LABELS[source], TARGET[target]
        assert len(source) == len(target) == 32
        assert len(mine.unique()) == 2
        known = mine != 2
        assert torch.equal(mine[known], theirs[known])
        seen |= set(mine.tolist())
    assert seen == {0, 1, 2, 3}


def test_balanced_draws_every_class_equally_often():
    balanced = sampler(Balanced)
    source, target = (torch.cat(parts) for parts in zip(*(balanced.batch(step) for step in range(200)), strict=True))
    shares = torch.bincount(LABELS[source], minlength=4) / len(source)
    assert (shares - 0.25).abs().max() < 0.03
    predicted = torch.bincount(TARGET[target], minlength=4) / len(target)
    assert (predicted[[0, 1, 3]] - 1 / 3).abs().max() < 0.03


def test_a_batch_depends_on_seed_and_step_only():
    for kind in (Uniform, Balanced, Aligned):
        first, second = sampler(kind), sampler(kind)
        for step in range(5):
            first.batch(step)
        assert all(torch.equal(a, b) for a, b in zip(first.batch(7), second.batch(7), strict=True))
