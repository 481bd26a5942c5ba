"""Where predictions change: the closed form for linear heads against a search, and the search against what is known."""

import torch

from cst.theory.robustness import boundary_distance, changes_nearby


def linear(seed, features=6, classes=4, samples=200):
    generator = torch.Generator().manual_seed(seed)
    head = torch.randn(features, classes, generator=generator, dtype=torch.float64)
    return torch.randn(samples, features, generator=generator, dtype=torch.float64), head


def test_a_linear_head_changes_just_beyond_its_distance_and_not_before():
    features, head = linear(0)
    distance = boundary_distance(features, head)
    best = (features @ head).argmax(1)
    rivals = torch.arange(head.shape[1])
    crossed = torch.zeros(len(features), dtype=torch.bool)
    for rival in rivals:
        direction = head[:, rival] - head[:, best].T
        direction = direction / direction.norm(dim=1, keepdim=True).clamp_min(1e-12)
        for factor, may_change in ((0.999, False), (1.001, True)):
            changed = ((features + factor * distance.unsqueeze(1) * direction) @ head).argmax(1) != best
            if may_change:
                crossed |= changed
            else:
                assert not bool(changed.any())
    assert bool(crossed.all())


def test_random_moves_inside_the_distance_change_nothing():
    features, head = linear(1)
    distance = boundary_distance(features, head).unsqueeze(1)
    best = (features @ head).argmax(1)
    generator = torch.Generator().manual_seed(2)
    for _ in range(200):
        move = torch.randn(features.shape, generator=generator, dtype=torch.float64)
        move = 0.999 * distance * move / move.norm(dim=1, keepdim=True)
        assert torch.equal(((features + move) @ head).argmax(1), best)


def test_the_search_finds_nearly_all_and_never_what_is_not_there():
    features, head = linear(3, samples=400)
    distance = boundary_distance(features, head)
    radius = float(distance.median())
    found = changes_nearby(lambda x: x @ head, features, radius)
    assert not bool(found[distance > radius].any())
    near = distance < 0.98 * radius
    assert float(found[near].double().mean()) > 0.95


def test_the_search_takes_inputs_of_any_shape():
    weights = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    inputs = torch.randn(10, 3, 2, 2, generator=torch.Generator().manual_seed(1))
    far = changes_nearby(lambda x: x.flatten(1) @ weights, inputs, 100.0)
    none = changes_nearby(lambda x: x.flatten(1) @ weights, inputs, 1e-6)
    assert bool(far.all())
    assert not bool(none.any())
