"""Strong views of the target: drawn anew in every step, or from a few that were made once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from cst.data.augmentations import Augmentation
from cst.data.cached import BATCH, MOST, device_of, example_for, fingerprint
from cst.data.inference import quick
from cst.data.loading import in_order
from cst.data.samples import Samples
from cst.files import write_aside
from cst.ranks.group import from_first
from cst.ranks.rows import divided

StrongViews = Callable[[Tensor, Tensor], Tensor]
"""Inputs of target samples [N, ...] and their places in the domain [N] -> a strong view of each."""


def drawn(augment: Augmentation) -> StrongViews:
    """A new view in every step."""
    return lambda inputs, positions: augment(inputs)


@dataclass(frozen=True)
class ViewBank:
    """Views of every sample after the frozen layers, of which each step takes one at random.

    Attributes:
        views: [M, V, ...], at half precision.
    """

    views: Tensor

    def __call__(self, inputs: Tensor, positions: Tensor) -> Tensor:
        """One view of each sample; its plain input is not looked at."""
        which = torch.randint(self.views.shape[1], (len(positions),))
        return self.views[positions, which].float()


def view_bank(
    samples: Samples,
    frozen: nn.Module,
    augment: Augmentation,
    count: int,
    folder: Path | None = None,
    workers: int | None = None,
) -> ViewBank:
    """Make ``count`` views of each sample and send them through the frozen layers; kept in ``folder`` for other runs.

    They belong to the data as pretrained weights do: runs with other seeds share them.
    """
    width = frozen(samples.take(torch.tensor([0, 0])).to(device_of(frozen)))[0].numel()
    if (needed := 2 * len(samples) * count * width) > MOST:
        raise ValueError(
            f"views={count} of {len(samples):,} images need {needed / 2**30:.1f} GB: choose fewer, or 0 to draw new "
            "ones in every step."
        )
    if folder is None:
        return ViewBank(_made(samples, frozen, augment, count, workers))
    print_of_data = from_first(lambda: fingerprint(samples, frozen, workers))
    name = hashlib.sha256(f"{print_of_data} {count} views".encode()).hexdigest()[:32]
    file = folder / f"{name}.pt"
    if not from_first(file.is_file):
        folder.mkdir(parents=True, exist_ok=True)
        views = _made(samples, frozen, augment, count, workers)
        from_first(lambda: write_aside(file, lambda aside: torch.save(views, aside)))
    return ViewBank(torch.load(file, weights_only=True, mmap=True))


@torch.no_grad()
def _made(samples: Samples, frozen: nn.Module, augment: Augmentation, count: int, workers: int | None) -> Tensor:
    bank, start = torch.empty(0), 0
    with torch.random.fork_rng():
        torch.manual_seed(0)
        passing = quick(frozen, example_for(frozen, samples), len(samples) * count)
        for inputs in in_order(samples, BATCH, workers, f"{count} views through frozen layers"):
            views = [divided(passing, augment(inputs).to(device_of(frozen))).cpu().half() for _ in range(count)]
            if not start:
                bank = torch.empty(len(samples), count, *views[0].shape[1:], dtype=torch.float16)
            bank[start : start + len(inputs)] = torch.stack(views, 1)
            start += len(inputs)
    return bank
