"""Images on disk: decoding, cropping, worker processes, strong views."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from cst.data.augmentations import strong_photos
from cst.data.images import ImageFiles, middle, upright
from cst.data.loading import in_order, prefetch, worker_count
from cst.data.photos import OPERATION_LIST, jitter, randaugment
from cst.data.samples import SomeSamples, TensorSamples


def test_the_middle_is_what_resizing_and_cropping_give():
    gradient = np.linspace(0, 255, 240).astype(np.uint8)
    picture = Image.fromarray(np.stack([np.tile(gradient, (120, 1))] * 3, -1))
    ours = np.asarray(middle(picture, 56), dtype=float)
    resized = picture.resize((128, 64), Image.Resampling.BILINEAR)
    theirs = np.asarray(resized.crop((36, 4, 92, 60)), dtype=float)
    assert np.abs(ours - theirs).max() <= 1  # rounding: one resampling instead of two


def test_modes_become_three_channels(tmp_path):
    values = np.arange(64, dtype=np.uint16).reshape(8, 8) * 1000
    deep = upright(Image.fromarray(values))
    assert deep.mode == "RGB"
    assert np.asarray(deep)[..., 0].min() == 0
    assert np.asarray(deep)[..., 0].max() == 255
    transparent = Image.fromarray(values)
    transparent.info["transparency"] = 63_000
    assert np.asarray(upright(transparent)).tolist() == np.asarray(deep).tolist()
    clear = upright(Image.new("RGBA", (4, 4), (0, 0, 0, 0)))
    assert np.asarray(clear).min() == 255
    turned = Image.new("RGB", (10, 4))
    exif = turned.getexif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.jpg", exif=exif)
    assert upright(Image.open(tmp_path / "turned.jpg")).size == (4, 10)


def test_random_crops_depend_on_the_seed_only(photos):
    samples = ImageFiles(tuple(sorted((photos[0] / "bar").iterdir())), 16)
    places = torch.arange(4)
    plain, first, again, other = (samples.take(places, seed) for seed in (None, 1, 1, 2))
    assert plain.shape == (4, 3, 16, 16)
    assert 0 <= plain.min() <= plain.max() <= 1
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, plain)


def test_workers_bring_the_same_batches_in_the_same_order(photos):
    samples = ImageFiles(tuple(sorted((photos[0] / "bar").iterdir())), 16)
    alone, helped = (torch.cat(list(in_order(samples, 5, workers))) for workers in (0, 2))
    assert len(alone) == 12
    assert torch.equal(alone, helped)


def test_what_workers_need_can_be_sent_to_them(photos):
    import pickle
    from functools import partial

    from cst.engine.feed import read_step
    from cst.sampling.rules import Aligned

    samples = ImageFiles(tuple(sorted((photos[0] / "bar").iterdir())), 16)
    sampler = Aligned(torch.arange(12) % 2, 12, 2, 4, seed=0)
    sampler.start_epoch(SimpleNamespace(target=SimpleNamespace(logits=torch.eye(2)[torch.arange(12) % 2])))
    sampler.batch(0)
    read = partial(read_step, sampler, samples, samples, 3, (True, False))
    sent = pickle.loads(pickle.dumps(read))
    assert all(torch.equal(a, b) for a, b in zip(read(5), sent(5), strict=True))
    first, second, source, target = read(5)
    assert not torch.equal(source, samples.take(first))  # random parts of the source alone
    assert torch.equal(target, samples.take(second))


def test_only_files_are_worth_processes(photos):
    samples = ImageFiles(tuple(sorted((photos[0] / "bar").iterdir())), 16)
    assert worker_count(3, SomeSamples(samples, torch.arange(2))) == 3
    assert worker_count(3, TensorSamples(torch.zeros(4, 2))) == 0


def test_a_file_that_goes_bad_later_names_itself_from_a_worker(photos):
    paths = tuple(sorted((photos[0] / "bar").iterdir()))
    paths[7].write_bytes(b"gone")
    with pytest.raises(ValueError, match=f"{paths[7].name} cannot be read") as error:
        list(in_order(ImageFiles(paths, 16), 3, workers=2))
    assert "Traceback" not in str(error.value)


def test_other_mistakes_in_workers_are_not_hidden():
    def broken(number):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(prefetch(broken, range(4), workers=1))


@pytest.mark.parametrize("name", OPERATION_LIST)
def test_every_operation_takes_an_amount_for_each_image(name):
    import kornia

    torch.manual_seed(0)
    images = torch.rand(1, 3, 24, 24).expand(3, 3, 24, 24).clone()
    changed = OPERATION_LIST[name](kornia, images, torch.tensor([-0.9, 0.1, 0.9]))
    assert changed.shape == images.shape
    assert changed.isfinite().all()
    if name not in ("identity", "equalize"):
        assert not torch.equal(changed[1], changed[2])


@pytest.mark.parametrize(("view", "different"), [(randaugment, 37), (jitter, 48), (strong_photos, 48)])
def test_strong_views_are_drawn_for_every_image(view, different):
    torch.manual_seed(0)
    images = torch.rand(1, 3, 24, 24).expand(48, 3, 24, 24).clone()
    before = images.clone()
    views = view(images)
    assert torch.equal(images, before)
    assert 0 <= views.min() <= views.max() <= 1
    assert len(torch.unique(views.flatten(1), dim=0)) >= different  # kornia's own RandAugment: 1


def test_jitter_changes_brightness_contrast_and_saturation_but_no_hue():
    torch.manual_seed(0)
    colour = torch.tensor([0.5, 0.3, 0.2]).view(1, 3, 1, 1).expand(64, 3, 8, 8)
    red, green, blue = jitter(colour).unbind(1)
    assert (red > green).all()
    assert (green > blue).all()
    # A colour mixed with grey and scaled keeps the ratio of its differences.
    assert torch.allclose((red - green) / (green - blue), torch.tensor(2.0), atol=1e-3)
    assert (red - blue).std() > 0.03


def test_pictures_are_turned_as_the_camera_says(tmp_path):
    from PIL import ImageOps

    values = np.random.default_rng(0).integers(255, size=(6, 9, 3), dtype=np.uint8)
    for way in range(1, 9):
        picture = Image.fromarray(values)
        picture.getexif()[0x0112] = way
        wanted = np.asarray(ImageOps.exif_transpose(picture))
        assert np.array_equal(np.asarray(upright(picture)), wanted)


def test_damaged_notes_of_a_camera_do_not_spoil_a_picture(tmp_path, monkeypatch):
    from cst.data.images import problem

    Image.new("RGB", (9, 6), "navy").save(tmp_path / "a.jpg")
    monkeypatch.setattr(Image.Image, "getexif", lambda self: 1 / 0)
    assert problem(tmp_path / "a.jpg") == ""
    assert upright(Image.open(tmp_path / "a.jpg")).size == (9, 6)


def test_a_photo_is_decoded_large_enough_for_its_smallest_part(tmp_path, monkeypatch):
    import cst.data.images as module

    sides = []
    turn = module.upright
    monkeypatch.setattr(module, "upright", lambda picture: sides.append(picture.size[0]) or turn(picture))
    Image.new("RGB", (1024, 1024)).save(tmp_path / "large.jpg")
    samples = ImageFiles([tmp_path / "large.jpg"], 224)
    samples.take(torch.arange(1))
    samples.take(torch.arange(1), seed=0)
    assert sides == [256, 512]
    assert 512 * math.sqrt(module.LEAST_PART) >= 224


@pytest.mark.parametrize("check", ["problem", "cut_short"])
def test_a_path_may_be_a_string(check, photos):
    import cst.data.images as module

    assert getattr(module, check)(str(photos[0] / "bar" / "1.png")) == ""
