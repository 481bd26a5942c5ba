"""A small step to try a term on: in docstrings, in tests, and for whoever writes one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from cst.terms.contract import Batch, Epoch, Problem, Step, Term


class ExampleNetwork(nn.Module):
    """Four inputs, five features, three classes; the same for both domains."""

    shared_statistics = True

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 5), nn.Tanh())
        self.head: nn.Module = nn.Linear(5, 3)

    def through(self, part: nn.Module, inputs: Tensor, domain: str = "target", track: bool = True) -> Tensor:
        """Send inputs through a part."""
        return part(inputs)  # type: ignore[no-any-return]

    def features(self, inputs: Tensor, domain: str = "target", track: bool = True) -> Tensor:
        """Inputs [N, 4] -> features [N, 5]."""
        return self.through(self.backbone, inputs)

    def continuous(self, inputs: Tensor) -> Tensor:
        """The inputs themselves."""
        return inputs

    def classify(self, features: Tensor, domain: str = "target", track: bool = True) -> Tensor:
        """Features [N, 5] -> logits [N, 3]."""
        return self.through(self.head, features)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits [N, 3]."""
        return self.classify(self.features(inputs))

    def without_dropout(self) -> AbstractContextManager[None]:
        """There is none."""
        return nullcontext()


class _Whole:
    """All samples of the example's target."""

    def __init__(self, network: ExampleNetwork, inputs: Tensor) -> None:
        self.features = network.features(inputs).detach()
        self.logits = network.classify(self.features).detach()


def example_step(seed: int = 0, phase: str = "all") -> Step:
    """Twelve samples of each domain, in the middle of a run; the target is moved by one half.

    >>> step = example_step()
    >>> step.source.features.shape, step.target.logits.shape
    (torch.Size([12, 5]), torch.Size([12, 3]))
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = ExampleNetwork()
        labels = torch.arange(12) % 3
        centres = 2 * torch.randn(3, 4)
        source, target = (centres[labels] + torch.randn(12, 4) for _ in range(2))
    batch = Batch(
        source, labels, target + 0.5, torch.arange(12), strong=target + 0.7, augment=lambda inputs: inputs + 0.2
    )
    return Step(network, batch, ("source", "target", "strong"), epochs=5.0, progress=0.5, phase=phase)


def loss_on_example(term: Term, seed: int = 0, phase: str = "all") -> float:
    """The term's loss on `example_step`, after being set up and after the start of an epoch.

    >>> from cst.terms.source import Source
    >>> 0 < loss_on_example(Source()) < 5
    True
    """
    step = example_step(seed, phase)
    network = step.network
    assert isinstance(network, ExampleNetwork)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        term.setup(Problem(3, 5, len(step.labels), network, {"term": term}))
        whole = [_Whole(network, inputs) for inputs in (step.batch.source, step.batch.target)]
        features, labels, others = whole[0].features, step.labels, whole[1].features
        term.start_epoch(Epoch(9, 10, network, whole[0], whole[1], lambda: (features, labels, others)))
        return float(term(step).detach())
