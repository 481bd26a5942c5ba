import torch

from cst.data.augmentations import mild, of_each_domain, strong


def test_views_are_drawn_for_each_sample_and_strong_ones_are_stronger():
    torch.manual_seed(0)
    ramp = torch.linspace(-1, 1, 16)
    stroke = torch.exp(-8 * (ramp.view(1, -1) - 0.5 * ramp.view(-1, 1)).square())
    for inputs, times in ((stroke.expand(64, 1, 16, 16), 1.2), (torch.rand(64, 12), 2)):
        gentle, harsh = mild(inputs), strong(inputs)
        assert gentle.shape == harsh.shape == inputs.shape
        assert len(torch.unique(harsh.flatten(1), dim=0)) == 64
        assert (harsh - inputs).square().mean() > times * (gentle - inputs).square().mean()


def test_a_view_for_both_domains_or_one_for_each():
    assert of_each_domain("mild") == ("mild", "mild")
    assert of_each_domain("mild/flip") == ("mild", "flip")
