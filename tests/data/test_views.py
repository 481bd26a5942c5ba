"""Strong views that are made once: what they are, which one a step takes, and what they cannot serve."""

import pytest
import torch
from torch import nn

import cst
from cst.data.augmentations import flip
from cst.data.samples import TensorSamples
from cst.data.views import ViewBank, view_bank
from cst.models.frozen import Frozen


@pytest.fixture
def frozen():
    torch.manual_seed(0)
    return Frozen(nn.Conv2d(3, 4, 1), lambda inputs: inputs.shape[1] == 4)


def noisy(images):
    return images + torch.randn_like(images)


def test_a_bank_holds_other_views_of_each_sample_after_the_frozen_layers(frozen):
    samples = TensorSamples(torch.rand(70, 3, 5, 5))
    bank = view_bank(samples, frozen, flip, 6)
    plain, turned = frozen(samples.inputs), frozen(samples.inputs.flip(-1))
    is_plain = torch.isclose(bank.views.float(), plain.unsqueeze(1), atol=5e-3).flatten(2).all(-1)
    is_turned = torch.isclose(bank.views.float(), turned.unsqueeze(1), atol=5e-3).flatten(2).all(-1)
    assert bool((is_plain ^ is_turned).all())
    assert 0.4 < float(is_plain.float().mean()) < 0.6


def test_a_step_takes_one_of_a_samples_own_views_at_random():
    views = torch.arange(4.0).view(4, 1, 1) * 10 + torch.arange(3.0).view(1, 3, 1)
    bank = ViewBank(views.half())
    positions = torch.tensor([3, 1] * 300)
    taken = bank(torch.zeros(600, 1), positions).squeeze(1)
    assert set(taken[::2].tolist()) == {30.0, 31.0, 32.0}
    assert set(taken[1::2].tolist()) == {10.0, 11.0, 12.0}


def test_a_kept_bank_is_used_again_and_leaves_the_random_state_alone(frozen, tmp_path):
    samples = TensorSamples(torch.rand(40, 3, 5, 5))
    torch.manual_seed(3)
    first = view_bank(samples, frozen, noisy, 2, tmp_path)
    drawn = torch.rand(1)
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    torch.manual_seed(3)
    again = view_bank(samples, frozen, noisy, 2, tmp_path)
    assert torch.equal(first.views, again.views)
    assert file.stat().st_mtime_ns == written
    assert torch.equal(drawn, torch.rand(1))
    view_bank(samples, frozen, noisy, 3, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_bank_without_room_is_refused(frozen, monkeypatch):
    monkeypatch.setattr("cst.data.views.MOST", 1000)
    with pytest.raises(ValueError, match="views=4 of 40 images need"):
        view_bank(TensorSamples(torch.rand(40, 3, 5, 5)), frozen, noisy, 4)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    import numpy as np
    from PIL import Image

    folder, random = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for domain, shade in (("lab", 90), ("field", 160)):
        for number in range(12):
            name = ("disc", "bar")[number % 2]
            place = folder / domain / (name if domain == "lab" else ".")
            place.mkdir(parents=True, exist_ok=True)
            pixels = random.integers(0, shade, (40, 40, 3)).astype("uint8")
            pixels[(slice(10, 30), slice(10, 30)) if name == "disc" else (slice(0, 40), slice(18, 22))] = 250
            Image.fromarray(pixels).save(place / f"{name}{number}.png")
    return folder / "lab", folder / "field"


SHORT = {"epochs": 1, "steps_per_epoch": 2, "batch_size": 4, "image_size": 32, "workers": 0, "warmup_epochs": 0}


def test_photos_with_views_are_adapted_the_quick_way_too(pictures):
    with pytest.warns(UserWarning, match="outputs are computed once"):
        adapted = cst.adapt(*pictures, "cst+fixmatch", **SHORT, device="cpu")
    assert (adapted.settings.freeze, adapted.settings.views) == (12, 4)
    assert {"cycle", "fixmatch"} <= set(adapted.history[-1]["loss"])


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "fixmatch", "freeze": 12, "augment": "mild"},
        {"method": "sentry", "freeze": 12, "augment": "none"},
        {"method": "fixmatch", "freeze": 0, "augment": "none"},
    ],
)
def test_views_that_cannot_be_made_once_are_refused(pictures, settings):
    with pytest.raises(ValueError, match="views=2 needs frozen layers"):
        cst.adapt(*pictures, **settings, **SHORT, views=2)
