"""Strong augmentations of photos: colours shaken, then RandAugment with operations drawn for every image.

kornia's own RandAugment draws its operations once for a batch. Here each image draws two of the list, images
that drew the same one are changed together by kornia's functions, each by an amount of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from cst.extras import missing

OPERATIONS = 2
JITTER = 0.4
Operation = Callable[[Any, Tensor, Tensor], Tensor]
"""kornia, images [N, 3, H, W] with values 0..1, amounts [N] in -1..1 -> images."""


def _affine(kornia: Any, images: Tensor, angle: Tensor, move: Tensor, shear: Tensor) -> Tensor:
    height, width = images.shape[-2:]
    middle = images.new_tensor([(width - 1) / 2, (height - 1) / 2]).expand(len(images), 2)
    scale = torch.ones_like(middle)
    zero = torch.zeros_like(angle)
    matrix = kornia.geometry.transform.get_affine_matrix2d(move, middle, scale, angle, shear, zero)
    moved: Tensor = kornia.geometry.transform.warp_affine(
        images, matrix[:, :2], (height, width), padding_mode="border", align_corners=False
    )
    return moved


def _moved(axis: int) -> Operation:
    def operation(kornia: Any, images: Tensor, amount: Tensor) -> Tensor:
        move = torch.zeros(len(images), 2, device=images.device)
        move[:, axis] = 0.3 * amount * images.shape[-1 - axis]
        zero = torch.zeros_like(amount)
        return _affine(kornia, images, zero, move, zero)

    return operation


def _rotated(kornia: Any, images: Tensor, amount: Tensor) -> Tensor:
    zero = torch.zeros_like(amount)
    return _affine(kornia, images, 30 * amount, torch.zeros(len(images), 2, device=images.device), zero)


def _sheared(kornia: Any, images: Tensor, amount: Tensor) -> Tensor:
    zero = torch.zeros_like(amount)
    return _affine(kornia, images, zero, torch.zeros(len(images), 2, device=images.device), 0.3 * amount)


def _solarized(kornia: Any, images: Tensor, amount: Tensor) -> Tensor:
    threshold = (1 - amount.abs()).view(-1, 1, 1, 1)
    return torch.where(images >= threshold, 1 - images, images)


def _posterized(kornia: Any, images: Tensor, amount: Tensor) -> Tensor:
    levels = 2.0 ** (8 - (4 * amount.abs()).round()).view(-1, 1, 1, 1)
    return (images * (levels - 1)).round() / (levels - 1)


OPERATION_LIST: dict[str, Operation] = {
    "identity": lambda kornia, images, amount: images,
    "brightness": lambda kornia, images, amount: kornia.enhance.adjust_brightness(images, 0.5 * amount),
    "contrast": lambda kornia, images, amount: kornia.enhance.adjust_contrast(images, 1 + 0.8 * amount),
    "saturation": lambda kornia, images, amount: kornia.enhance.adjust_saturation(images, 1 + 0.9 * amount),
    "hue": lambda kornia, images, amount: kornia.enhance.adjust_hue(images, 0.6 * amount),
    "sharpness": lambda kornia, images, amount: kornia.enhance.sharpness(images, amount.abs()),
    "equalize": lambda kornia, images, amount: kornia.enhance.equalize(images.clamp(0, 1)),
    "solarize": _solarized,
    "posterize": _posterized,
    "rotate": _rotated,
    "shear": _sheared,
    "move sideways": _moved(0),
    "move up or down": _moved(1),
}


def _kornia() -> Any:
    try:
        import kornia
    except ImportError:
        raise missing("kornia", "The strong augmentation of photos") from None
    return kornia


def jitter(images: Tensor, amount: float = JITTER) -> Tensor:
    """Brightness, contrast and saturation of each image changed by up to ``amount``."""
    changed: Tensor = _kornia().augmentation.ColorJitter(amount, amount, amount, p=1.0)(images)
    return changed


def randaugment(images: Tensor, count: int = OPERATIONS) -> Tensor:
    """``count`` random operations for each image, one after the other."""
    kornia = _kornia()
    operations = list(OPERATION_LIST.values())
    for _ in range(count):
        drawn = torch.randint(len(operations), (len(images),))
        amounts = (2 * torch.rand(len(images)) - 1).to(images.device)
        changed = images.clone()
        for number in sorted(set(drawn.tolist())):
            places = (drawn == number).nonzero().squeeze(1).to(images.device)
            changed[places] = operations[number](kornia, images[places], amounts[places])
        images = changed.clamp(0, 1)
    return images
