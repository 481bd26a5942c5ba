"""ResNet-50 and ResNet-101, with the parameter names of torchvision, whose ImageNet weights the paper uses.

``resnet50-v1`` is the network as it was first published (and as Caffe and Keras have it): where a block halves the
image, the stride belongs to its first convolution. The parameters have the same names and shapes, so that only the name
of the backbone can tell which network a file of weights is for.
"""

from __future__ import annotations

from torch import Tensor, nn

FIRST = "resnet50-v1"
DEPTHS = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3), FIRST: (3, 4, 6, 3)}
WEIGHTS = {
    "resnet50": "https://download.pytorch.org/models/resnet50-0676ba61.pth",
    "resnet101": "https://download.pytorch.org/models/resnet101-63fe2227.pth",
}
EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut; the 3x3 one has the stride, or the ``first``."""

    def __init__(self, channels: int, width: int, stride: int, first: bool = False) -> None:
        super().__init__()
        wide = width * EXPANSION
        strides = (stride, 1) if first else (1, stride)
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, strides[0], bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, strides[1], padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.relu = nn.ReLU()
        self.downsample: nn.Module | None = None
        if stride != 1 or channels != wide:
            self.downsample = nn.Sequential(nn.Conv2d(channels, wide, 1, stride, bias=False), nn.BatchNorm2d(wide))

    def forward(self, inputs: Tensor) -> Tensor:
        """One block."""
        out = self.relu(self.bn1(self.conv1(inputs)))
        out = self.relu(self.bn2(self.conv2(out)))
        shortcut = inputs if self.downsample is None else self.downsample(inputs)
        return self.relu(self.bn3(self.conv3(out)) + shortcut)  # type: ignore[no-any-return]


class ResNet(nn.Module):
    """Stem and four stages of bottleneck blocks; 2048 features after average pooling."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False), nn.BatchNorm2d(64)
        channels = 64
        for stage, depth in enumerate(DEPTHS[name]):
            blocks = []
            for place in range(depth):
                blocks.append(Bottleneck(channels, 64 << stage, 2 if stage and not place else 1, name == FIRST))
                channels = (64 << stage) * EXPANSION
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def steps(self) -> list[nn.Module]:
        """The network as a list: stem, blocks, pooling."""
        stem = nn.Sequential(self.conv1, self.bn1, nn.ReLU(), nn.MaxPool2d(3, 2, padding=1))
        blocks = [block for stage in range(1, 5) for block in self.get_submodule(f"layer{stage}").children()]
        return [stem, *blocks, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())]
