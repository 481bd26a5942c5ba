"""Mixed precision: methods train (all of them in `make acceptance`), and solves are in float32 or better."""

import pytest
import torch
import work

from cst.functional import reverse_loss, ridge_head, select_alpha
from cst.terms.rwot import separability

SOME = ("cst", "dan", "rwot", "star", "mixmatch")


@pytest.fixture
def features():
    """Of both domains, and labels; numbers that half precision holds, so that only sums can lose any."""
    torch.manual_seed(0)
    source, target = (torch.randn(40, 12).bfloat16().float() for _ in range(2))
    return source, torch.arange(40) % 3, target


@pytest.mark.parametrize("samples", [torch.float32, torch.bfloat16])
def test_solves_do_not_follow_autocast(features, samples):
    source, labels, target = features
    solves = {
        "ridge": lambda s, t: ridge_head(t, torch.eye(3)[labels].to(t.dtype), 0.1),
        "reverse loss": lambda s, t: reverse_loss(s, labels, t, labels, 3, 0.1, normalize=True, bias=True),
        "alpha": lambda s, t: select_alpha(s, labels, t, 3, l2=0.1, normalize=True, bias=True).losses,
        "separability": lambda s, t: torch.tensor(separability(s.float(), t.float())),
    }
    for name, solve in solves.items():
        plain = solve(source, target)
        with torch.autocast("cpu", torch.bfloat16):
            mixed = solve(source.to(samples), target.to(samples))
        assert mixed.dtype in (torch.float32, torch.float64), name
        torch.testing.assert_close(mixed, plain, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("method", SOME)
def test_methods_train_in_mixed_precision(method):
    work.trains_in_mixed_precision(method)


def test_gradients_are_clipped_by_the_norm_of_all_weights():
    free, clipped = (work.taught("cst+sam", work.network(), clip_gradient=norm) for norm in (0.0, 0.01))

    def norms(kept):
        return [float(torch.cat([part.flatten() for part in step]).norm()) for step in kept["gradients"]]

    assert min(norms(free)) > 0.01
    assert norms(clipped) == pytest.approx([0.01] * len(clipped["gradients"]), rel=1e-3)


def test_32_is_32_true():
    assert work.configuration("cst", precision="32").precision == "32-true"
