"""The model of the paper: a feature extractor ``h_phi`` and a source head ``g_theta_s`` on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from cst.models.batch_norm import DomainBatchNorm, has_batch_norm, per_domain, untracked
from cst.models.frozen import Frozen
from cst.ranks.group import count
from cst.ranks.rows import divided, is_divided, rowwise

if TYPE_CHECKING:
    from cst.models.spec import ModelSpec


class Standardize(nn.Module):
    """``(x - mean) / std`` with constants taken from the data before training."""

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    @classmethod
    def open(cls, shape: tuple[int, ...]) -> Standardize:
        """For inputs of a shape, by feature for vectors, by channel for images; the constants come later."""
        constants = (shape[0], 1, 1) if len(shape) == 3 else shape
        return cls(torch.zeros(constants), torch.ones(constants))

    def fit(self, inputs: Tensor) -> None:
        """Take the constants from some inputs [N, ...]; what does not vary is only moved."""
        over = (0, 2, 3) if inputs.ndim == 4 else (0,)
        std = inputs.std(over, keepdim=True, correction=0)[0]
        self.mean = inputs.mean(over, keepdim=True)[0]
        self.std = torch.where(std > 1e-6, std, torch.ones_like(std))

    def forward(self, inputs: Tensor) -> Tensor:
        """Standardize a batch."""
        return (inputs - self.mean) / self.std


class StandardizeEach(nn.Module):
    """``(x - mean) / std`` of each image by its own pixels: neither light nor contrast tells domains apart."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Standardize a batch; an image of one colour becomes zero."""
        return nn.functional.layer_norm(inputs, inputs.shape[1:])


class NormalizedFeatures(nn.Module):
    """A backbone whose features are normalised by batch statistics, without parameters."""

    def __init__(self, backbone: nn.Module, dim: int) -> None:
        super().__init__()
        self.backbone, self.norm = backbone, nn.BatchNorm1d(dim, affine=False)
        if hasattr(backbone, "embed"):
            self.embed = backbone.embed

    def forward(self, inputs: Tensor) -> Tensor:
        """Features with mean 0 and deviation 1."""
        return self.norm(self.backbone(inputs))  # type: ignore[no-any-return]


class Prototypes(nn.Linear):
    """One prototype for each class; logits are similarities ``w_k . z / ||z||`` over a temperature."""

    def __init__(self, feature_dim: int, num_classes: int, temperature: float = 0.05) -> None:
        super().__init__(feature_dim, num_classes, bias=False)
        self.temperature = temperature

    def forward(self, inputs: Tensor) -> Tensor:
        """Similarities."""
        return super().forward(nn.functional.normalize(inputs, dim=-1)) / self.temperature


def head(feature_dim: int, num_classes: int, bottleneck: int = 0, kind: str = "linear") -> nn.Module:
    """A linear classifier (the paper), or one behind a bottleneck with batch norm (the published code)."""
    layer = Prototypes if kind == "prototype" else nn.Linear
    if not bottleneck:
        return layer(feature_dim, num_classes)
    return nn.Sequential(
        nn.Linear(feature_dim, bottleneck),
        nn.BatchNorm1d(bottleneck),
        nn.ReLU(),
        layer(bottleneck, num_classes),
    )


class Model(nn.Module):
    """Backbone and head, with batch-norm statistics ``"joint"`` or ``"per-domain"``.

    Args:
        backbone: maps a batch of inputs to features [N, d].
        source_head: maps features to logits [N, K].
        batch_norm: ``"joint"`` for one set of statistics over both domains in one concatenated pass,
            ``"per-domain"`` for a set each.
        prepare: what happens to encoded inputs first.
    """

    spec: ModelSpec
    """What it is made of, where `ModelSpec.build` made it."""

    def __init__(
        self,
        backbone: nn.Module,
        source_head: nn.Module,
        batch_norm: str = "per-domain",
        prepare: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.prepare = prepare or nn.Identity()
        self.backbone, self.head, self.slices = backbone, source_head, 1
        self.separate = batch_norm == "per-domain" and (has_batch_norm(backbone) or has_batch_norm(source_head))
        if self.separate:
            self.backbone, self.head = per_domain(backbone), per_domain(source_head)

    @property
    def temperature(self) -> float:
        """By which logits are divided before they become probabilities for users; training knows of none."""
        return self.spec.temperature if hasattr(self, "spec") else 1.0

    @property
    def shared_statistics(self) -> bool:
        """Whether one concatenated pass serves both domains."""
        return not self.separate

    def features(self, inputs: Tensor, domain: str = "target", track: bool = True) -> Tensor:
        """``h_phi``: inputs [N, ...] -> features [N, d]; of several processes each computes its part."""
        slices = min(self.slices, len(inputs) // count()) if torch.is_grad_enabled() else 1

        def passed(rows: Tensor) -> Tensor:
            return self.features_of_rows(rows, domain, track)

        def in_slices(rows: Tensor) -> Tensor:
            parts = (sliced(passed, self.backbone, part) for part in rows.tensor_split(slices))
            return torch.cat(list(parts))

        return divided(in_slices if slices > 1 else passed, inputs)

    def features_of_rows(self, rows: Tensor, domain: str = "target", track: bool = True) -> Tensor:
        """The same of rows that only this process has."""
        if rows.dtype == torch.float32 and next(self.head.parameters()).dtype == torch.float64:
            rows = rows.double()
        return _precise(self.through(nn.Sequential(self.prepare, self.backbone), rows, domain, track))

    def continuous(self, inputs: Tensor) -> Tensor:
        """The inputs as real numbers, to which a perturbation can be added: tokens become their word vectors."""
        return divided(self._continuous, inputs)

    def _continuous(self, inputs: Tensor) -> Tensor:
        inputs = self.prepare(inputs) if isinstance(self.prepare, Frozen) else inputs
        embed = getattr(self.backbone, "embed", None)
        return embed(inputs) if embed is not None else inputs

    def classify(self, features: Tensor, domain: str = "target", track: bool = True) -> Tensor:
        """``g_theta_s``: features [N, d] -> logits [N, K]."""
        return _precise(self.through(self.head, features, domain, track))

    def forward(self, inputs: Tensor, domain: str = "target") -> Tensor:
        """Logits [N, K]."""
        return self.classify(self.features(inputs, domain), domain)

    @contextmanager
    def without_dropout(self) -> Iterator[None]:
        """What passes differ in is their inputs alone; batch norm goes by the batch as before."""
        noisy = [
            part
            for half in (self.backbone, self.head)
            for part in half.modules()
            if part.training and not isinstance(part, _BatchNorm)
        ]
        for part in noisy:
            part.training = False
        try:
            yield
        finally:
            for part in noisy:
                part.training = True

    def through(self, part: nn.Module, inputs: Tensor, domain: str = "target", track: bool = True) -> Tensor:
        """Send ``inputs`` through a part of a network with the batch-norm statistics of ``domain``."""
        for module in part.modules():
            if isinstance(module, DomainBatchNorm):
                module.domain = domain
        with nullcontext() if track or not self.training else untracked(part):
            return part(inputs)  # type: ignore[no-any-return]


def _precise(outputs: Tensor) -> Tensor:
    """In float32 at least, whatever autocast made of them: entropies and solves follow."""
    return outputs.to(torch.promote_types(outputs.dtype, torch.float32))


def sliced(function: Callable[[Tensor], Tensor], network: nn.Module, rows: Tensor) -> Tensor:
    """The features of some rows, whose activations are computed again when their gradient is.

    Only one slice's activations are kept at a time, and the loss still sees all features. The second pass draws what
    the first drew, and leaves running statistics alone.
    """
    from torch.utils.checkpoint import checkpoint

    passed = rowwise(function) if is_divided() else function
    contexts = partial(_first_and_again, network)
    outcome: Tensor = checkpoint(passed, rows, use_reentrant=False, context_fn=contexts)
    return outcome


def _first_and_again(network: nn.Module) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    return nullcontext(), untracked(network)


@torch.no_grad()
def feature_dim(backbone: nn.Module, example: Tensor) -> int:
    """The length of a feature vector, found by trying two inputs."""
    training = backbone.training
    try:
        features = backbone.eval()(example)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"The backbone cannot take inputs of shape {tuple(example.shape)}: {reason}") from None
    backbone.train(training)
    if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != len(example):
        shape = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ValueError(
            f"The backbone must map a batch [N, ...] to features [N, d], but {tuple(example.shape)} became {shape}: "
            "flatten its output."
        )
    return features.shape[1]
