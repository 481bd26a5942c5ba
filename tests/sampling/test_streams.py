import torch

from cst.sampling.streams import Stream


def test_a_pass_sees_every_sample_once():
    stream = Stream(size=50, batch_size=10, seed=0)
    seen = torch.cat([stream.batch(step) for step in range(5)])
    assert sorted(seen.tolist()) == list(range(50))
    again = torch.cat([stream.batch(step) for step in range(5, 10)])
    assert sorted(again.tolist()) == list(range(50))
    assert seen.tolist() != again.tolist()


def test_a_batch_depends_on_seed_and_step_only():
    first, second = (Stream(size=23, batch_size=5, seed=3) for _ in range(2))
    for step in range(7):
        first.batch(step)
    assert first.batch(9).tolist() == second.batch(9).tolist()
    assert Stream(23, 5, seed=4).batch(9).tolist() != second.batch(9).tolist()
