"""Random augmentations of a batch, drawn for each sample: mild for training, strong for consistency."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from cst.tokens import without

Augmentation = Callable[[Tensor], Tensor]
"""Inputs [N, ...] to changed inputs [N, ...]."""


@dataclass(frozen=True)
class Augmentations:
    """The augmentations that suit a kind of data.

    ``mild`` keeps the label beyond doubt, ``strong`` costs effort. With ``crops`` the mild one is drawn where
    the files are read.
    """

    mild: Augmentation
    strong: Augmentation
    crops: bool = False

    def called(self, name: str) -> Augmentation:
        """The augmentation that has this name."""
        return {"none": unchanged, "mild": self.mild, "flip": flip}[name]


def of_each_domain(augment: str) -> tuple[str, str]:
    """The names of the source's and of the target's augmentation.

    >>> of_each_domain("mild/flip"), of_each_domain("mild")
    (('mild', 'flip'), ('mild', 'mild'))
    """
    source, _, target = augment.partition("/")
    return source, target or source


def unchanged(inputs: Tensor) -> Tensor:
    """The inputs themselves."""
    return inputs


def mild(inputs: Tensor) -> Tensor:
    """What keeps the label beyond doubt: a small affine map for images, faint noise for vectors."""
    if inputs.ndim == 4:
        return affine(inputs, degrees=8, shear=0.1, scale=0.15, shift=0.12)
    return inputs + 0.05 * _spread(inputs) * torch.randn_like(inputs)


def flip(images: Tensor) -> Tensor:
    """Each image [N, C, H, W] mirrored half of the time."""
    turned = torch.rand(len(images), 1, 1, 1, device=images.device) < 0.5
    return torch.where(turned, images.flip(-1), images)


def strong(inputs: Tensor) -> Tensor:
    """What costs effort: a larger affine map, contrast and a hidden patch; noise and masks for vectors."""
    if inputs.ndim == 4:
        moved = affine(inputs, degrees=20, shear=0.25, scale=0.2, shift=0.12)
        contrast = torch.empty(len(inputs), 1, 1, 1, device=inputs.device).uniform_(0.6, 1.4)
        return hide_patch(moved * contrast, share=0.3)
    noisy = inputs + 0.25 * _spread(inputs) * torch.randn_like(inputs)
    kept = torch.rand_like(inputs) >= 0.2
    return torch.where(kept, noisy, inputs.mean(0, keepdim=True))


def _spread(inputs: Tensor) -> Tensor:
    """Standard deviation of each feature over the batch."""
    return inputs.std(0, keepdim=True, correction=0)


def affine(images: Tensor, degrees: float, shear: float, scale: float, shift: float) -> Tensor:
    """Rotate, slant, scale and move each image [N, C, H, W] by amounts drawn up to the given ones."""
    count, device = len(images), images.device

    def draw(limit: float) -> Tensor:
        return torch.empty(count, device=device).uniform_(-limit, limit)

    angle, slant = draw(math.radians(degrees)), draw(shear)
    wide, high = 1 + draw(scale), 1 + draw(scale)
    cos, sin = angle.cos(), angle.sin()
    first = torch.stack([wide * cos, wide * (slant * cos - sin), 2 * draw(shift)], 1)
    second = torch.stack([high * sin, high * (slant * sin + cos), 2 * draw(shift)], 1)
    grid = F.affine_grid(torch.stack([first, second], 1), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def hide_patch(images: Tensor, share: float) -> Tensor:
    """Replace a square of ``share`` of the side in each image by the image's mean."""
    count, _, height, width = images.shape
    rows = torch.arange(height, device=images.device).view(1, 1, -1, 1)
    columns = torch.arange(width, device=images.device).view(1, 1, 1, -1)
    top = (torch.rand(count, 1, 1, 1, device=images.device) * height).floor()
    left = (torch.rand(count, 1, 1, 1, device=images.device) * width).floor()
    hidden = (rows >= top) & (rows < top + share * height) & (columns >= left) & (columns < left + share * width)
    return torch.where(hidden, images.mean((1, 2, 3), keepdim=True), images)


def drop_tokens(tokens: Tensor, share: float) -> Tensor:
    """Hide a share of the tokens of each sequence, but never the first."""
    hidden = torch.rand(tokens.shape[:2], device=tokens.device) < share
    hidden[:, 0] = False
    return without(tokens, hidden)


def strong_photos(images: Tensor) -> Tensor:
    """Each photo mirrored half of the time, its colours shaken, then two random changes of geometry or colour."""
    from cst.data.photos import jitter, randaugment

    return randaugment(jitter(flip(images)))


ARRAYS = Augmentations(mild, strong)
PHOTOS = Augmentations(unchanged, strong_photos, crops=True)
TOKENS = Augmentations(lambda tokens: drop_tokens(tokens, 0.05), lambda tokens: drop_tokens(tokens, 0.2))
