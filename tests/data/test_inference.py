import torch
from torch import nn

from cst.data.cached import through_frozen
from cst.data.inference import WORTH, quick
from cst.data.samples import TensorSamples
from cst.data.task import EncodedTask
from cst.models.frozen import Frozen


def network(pool=None):
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), pool or nn.MaxPool2d(3), nn.Flatten())
    with torch.no_grad():
        layers[1].running_mean.normal_()
        layers[1].running_var.uniform_(0.5, 2)
    return layers.eval()


def test_every_size_of_batch_has_the_same_outputs():
    plain, images = network(), torch.randn(40, 3, 9, 9)
    fast = quick(plain, images[:8], WORTH)
    assert fast is not plain
    for count in (1, 7, 40):
        torch.testing.assert_close(fast(images[:count]), plain(images[:count]), atol=1e-5, rtol=1e-5)


def test_a_few_samples_and_other_inputs_than_images_stay_as_they_are():
    plain, vectors = network(), nn.Linear(3, 2).eval()
    assert quick(plain, torch.randn(8, 3, 9, 9), WORTH - 1) is plain
    assert quick(vectors, torch.randn(8, 3), WORTH) is vectors


class OddOrEven(nn.Module):
    def forward(self, images):
        return images.flatten(1)[:, : 1 + len(images) % 2]


def test_networks_that_cannot_be_compiled_or_would_change_stay_as_they_are():
    for plain in (network(nn.AdaptiveAvgPool2d(2)), OddOrEven().eval()):
        assert quick(plain, torch.randn(8, 3, 9, 9), WORTH) is plain


def test_a_domain_through_frozen_layers_has_the_outputs_of_the_layers():
    images = torch.randn(WORTH + 5, 3, 9, 9)
    frozen = Frozen(network(), lambda inputs: inputs.ndim == 2)
    samples = TensorSamples(images)
    task = EncodedTask(samples, torch.arange(len(images)) % 2, samples, (0, 1))
    outputs = through_frozen(task, frozen).source.take(torch.arange(len(images)))
    torch.testing.assert_close(outputs, frozen(images), atol=1e-5, rtol=1e-5)
