"""What a term may see (`Step`, `Epoch`) and what it must be (`Term`).

An objective is a sum of terms. A term reads one step's views and returns a scalar; it never loops,
logs, moves tensors or meets a label of the target: a step has no field for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from torch import Tensor, nn

from cst.tokens import joined


class Network(Protocol):
    """The part of a model that steps and terms use."""

    @property
    def shared_statistics(self) -> bool:
        """Whether source and target go through the network in one concatenated pass."""

    head: nn.Module
    """``g_theta_s``."""

    def through(self, part: nn.Module, inputs: Tensor, domain: str, track: bool = True) -> Tensor:
        """Send ``inputs`` through a part of a network with the statistics of ``domain``."""

    def features(self, inputs: Tensor, domain: str, track: bool = True) -> Tensor:
        """``h_phi``: inputs [N, ...] -> features [N, d]."""

    def continuous(self, inputs: Tensor) -> Tensor:
        """The inputs as real numbers, to which a perturbation can be added; ``features`` takes these too."""

    def classify(self, features: Tensor, domain: str, track: bool = True) -> Tensor:
        """``g_theta_s``: features [N, d] -> logits [N, K]."""

    def without_dropout(self) -> AbstractContextManager[None]:
        """Within it, passes differ in their inputs alone."""


@dataclass(frozen=True)
class Batch:
    """One step's data. The target has inputs and positions in its domain, and no labels."""

    source: Tensor
    labels: Tensor
    target: Tensor
    target_indices: Tensor
    strong: Tensor | None = None
    augment: Callable[[Tensor], Tensor] | None = None
    """Draws further strong augmentations, for terms that need several."""


class _Pass:
    """One forward pass, computed when somebody first asks for its outcome."""

    def __init__(self, network: Network, inputs: Tensor, domain: str, track: bool) -> None:
        self.network, self.inputs, self.domain, self.track = network, inputs, domain, track

    @cached_property
    def features(self) -> Tensor:
        return self.network.features(self.inputs, self.domain, self.track)

    @cached_property
    def logits(self) -> Tensor:
        return self.network.classify(self.features, self.domain, self.track)


class View:
    """A domain's part of a forward pass: ``inputs``, ``features`` [N, d], ``logits`` and ``probs`` [N, K]."""

    def __init__(self, shared: _Pass, rows: slice, indices: Tensor | None = None) -> None:
        self._pass, self._rows, self._indices = shared, rows, indices

    @property
    def inputs(self) -> Tensor:
        """What the network sees."""
        return self._pass.inputs[self._rows]

    @property
    def indices(self) -> Tensor:
        """Positions of the samples in their domain."""
        if self._indices is None:
            raise LookupError("Only the target's view knows the positions of its samples.")
        return self._indices

    @cached_property
    def features(self) -> Tensor:
        """``h_phi(x)``."""
        return self._pass.features[self._rows]

    @cached_property
    def logits(self) -> Tensor:
        """``g_theta_s(h_phi(x))``."""
        return self._pass.logits[self._rows]

    @cached_property
    def probs(self) -> Tensor:
        """Softmax of the logits."""
        return self.logits.softmax(-1)

    def through(self, part: nn.Module, track: bool = True) -> Tensor:
        """What a further head makes of the features, with the batch-norm statistics that the model's own head has.

        Where both domains share one pass, so they do here.

        Args:
            part: features [N, d] -> [N, ...].
            track: whether it may feed running statistics, where the pass does.

        >>> from cst.terms.example import example_step
        >>> view = example_step().target
        >>> view.through(nn.Linear(5, 2)).shape
        torch.Size([12, 2])
        """
        shared = self._pass
        return shared.network.through(part, shared.features, shared.domain, track and shared.track)[self._rows]


class Step:
    """What one step may see. Forward passes are computed once, on demand, and shared by the terms.

    Args:
        network: the model being trained.
        batch: the data.
        views: the views that the objective uses.
        epochs: epochs since the start of training, with its fraction; ramps follow it.
        progress: the share of the run after the warm-up that has passed, 0 to 1; schedules follow it.
        track: whether the passes update running statistics (the second pass of SAM does not, unless it is asked to).
        phase: which part of an alternating update this is; ``"all"`` where there is one part only.

    Attributes:
        source: the view of the source: ``inputs``, ``features`` [N, d], ``logits`` and ``probs`` [N, K].
        labels: of the source [N].
        target: the view of the target, which knows the positions (``indices``) of its samples as well.

    >>> from cst.terms.example import example_step
    >>> step = example_step()
    >>> step.source.logits.shape, step.target.indices[:3].tolist()
    (torch.Size([12, 3]), [0, 1, 2])
    """

    def __init__(
        self,
        network: Network,
        batch: Batch,
        views: Iterable[str] = ("source", "target"),
        epochs: float = 0.0,
        progress: float = 0.0,
        track: bool = True,
        phase: str = "all",
    ) -> None:
        self.phase = phase
        self.network, self.batch, self.views = network, batch, frozenset(views)
        self.epochs, self.progress, self.track = epochs, progress, track
        self.labels = batch.labels
        count = len(batch.source)
        if network.shared_statistics and "target" in self.views:
            joint = _Pass(network, joined(batch.source, batch.target), "source", track)
            self.source = View(joint, slice(0, count))
            self.target = View(joint, slice(count, None), batch.target_indices)
        else:
            # A target that no term reads may feed statistics of its own, never those of the source.
            track_target = track and not network.shared_statistics
            everything = slice(None)
            self.source = View(_Pass(network, batch.source, "source", track), everything)
            self.target = View(_Pass(network, batch.target, "target", track_target), everything, batch.target_indices)

    @cached_property
    def strong(self) -> View:
        """The strongly augmented target. It is normalised by its own batch and leaves no trace in the statistics."""
        return self.strong_view(track=False)

    def strong_view(self, track: bool) -> View:
        """A pass of the strongly augmented target that may feed the running statistics, where the step's passes do."""
        if self.batch.strong is None:
            raise LookupError("No term of this objective asked for strong views: add 'strong' to its views.")
        strong = _Pass(self.network, self.batch.strong, "target", track and self.track)
        return View(strong, slice(None), self.batch.target_indices)

    def again(self, phase: str | None = None, track: bool = False) -> Step:
        """The same step at the present weights, everything computed anew, running statistics left alone by default."""
        return Step(self.network, self.batch, self.views, self.epochs, self.progress, track, phase or self.phase)


class WholeDomain(Protocol):
    """A view of all samples of a domain in their order, in evaluation mode; computed on demand, once."""

    @property
    def features(self) -> Tensor:
        """``h_phi(x)`` [N, d]."""

    @property
    def logits(self) -> Tensor:
        """``g_theta_s(h_phi(x))`` [N, K]."""


@dataclass(frozen=True)
class Epoch:
    """What a term or a sampling rule may see when an epoch starts. What nobody asks for is not computed.

    Attributes:
        number: of the epoch, from 0.
        total: how many epochs the run has.
        network: the model at its present weights.
        source: the view of the whole source at these weights.
        target: the view of the whole target.
        gathered: gives source features, source labels and target features as they were gathered while training went
            on, a thousand of each.
    """

    number: int
    total: int
    network: Network
    source: WholeDomain
    target: WholeDomain
    gathered: Callable[[], tuple[Tensor, Tensor, Tensor]]


@dataclass(frozen=True)
class Problem:
    """What a term may know when it is set up: sizes, the freshly made model, and the other terms."""

    num_classes: int
    feature_dim: int
    num_target: int
    network: Network
    terms: Mapping[str, Term]


class Term(nn.Module):
    """A summand of the objective; it may own parameters and buffers, which are trained and checkpointed.

    A term's options are the arguments of its ``__init__``. What depends on the problem is made in `setup`.

    >>> from cst.terms.example import loss_on_example
    >>> class Length(Term):
    ...     def forward(self, step):
    ...         return step.target.features.square().mean()
    >>> 0 < loss_on_example(Length()) < 1
    True
    """

    views: ClassVar[tuple[str, ...]] = ("source", "target")
    """The views it reads."""
    augments: ClassVar[bool] = False
    """Whether it needs random augmentations of the inputs."""
    perturbs: ClassVar[bool] = False
    """Whether it adds perturbations to the inputs, or to the word vectors of text."""
    mixes: ClassVar[bool] = False
    """Whether it averages inputs, which tokens do not allow."""
    ramped: ClassVar[bool] = False
    """Whether its weight grows from zero over the first epochs."""

    num_classes: int

    def __init__(self) -> None:
        super().__init__()

    def setup(self, problem: Problem) -> None:
        """Called once before training: the place to make parameters, or to copy a part of the model."""
        self.num_classes = problem.num_classes

    def forward(self, step: Step) -> Tensor:
        """The loss of this step, a scalar."""
        raise TypeError(f"{type(self).__name__} does not say what its loss is: give it a forward.")

    def replaces(self, step: Step) -> tuple[str, ...]:
        """Names of other terms that this one stands in for in this step."""
        return ()

    def start_epoch(self, epoch: Epoch) -> None:
        """Called before the first step of every epoch."""

    def after_step(self, network: Network) -> None:
        """Called after every step, at the new weights."""

    def metrics(self) -> dict[str, Any]:
        """What the epoch's record should say of this term, beside its loss."""
        return {}
