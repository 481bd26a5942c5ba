"""ResNet-50 and ResNet-101, with the parameter names of torchvision, whose ImageNet weights the paper uses."""

from __future__ import annotations

from torch import Tensor, nn

DEPTHS = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3)}
WEIGHTS = {
    "resnet50": "https://download.pytorch.org/models/resnet50-0676ba61.pth",
    "resnet101": "https://download.pytorch.org/models/resnet101-63fe2227.pth",
}
EXPANSION = 4


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut; the 3x3 one has the stride."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        wide = width * EXPANSION
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
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
                blocks.append(Bottleneck(channels, 64 << stage, 2 if stage and not place else 1))
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
