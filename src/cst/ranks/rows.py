"""A batch that several processes share: each takes its rows through the network, and all get the features of all.

The gradient, exactly. Every process has the same batch of N rows, the same weights and draws the same random numbers.
``part_of`` takes its rows, the network maps them to features, ``gathered`` puts the features of all W processes
together. Whatever follows (head, terms, solves) every process computes alike from all features, so that each has the
loss L of the whole batch, and the same gradient ``dL/dz`` of all features ``z``. Then

- a weight behind the gathering has the whole ``dL/dw`` in every process;
- a weight before it has, in process r, the part of r's rows only; the sum over processes is ``dL/dw``. So the gradient
  of ``gathered`` is ``W`` times that of the own rows: the *mean* over processes is ``dL/dw`` for both sorts of
  weights, and `average_gradients` takes it;
- an input that is differentiated itself (a perturbation, word vectors) gets the own rows' ``W dL/dx`` in each process;
  the gradient of ``part_of`` puts those of all processes together, divided by ``W``: the whole ``dL/dx`` in each.

``gathered`` needs no exchange on the way back, ``part_of`` needs one; each is the other's gradient but for the factor.
``total``, a sum over processes between the two, is its own gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed, nn

from cst.ranks.group import connected, count, number

_DIVIDED = [False]
"""Whether a pass of the own rows is under way. No context variable: gradients may be computed by other threads."""


def is_divided() -> bool:
    """Whether the present pass sees some rows of a batch, of which other processes see the rest."""
    return _DIVIDED[0]


def share(total: int, place: int | None = None, parts: int | None = None) -> slice:
    """The rows that are this process' part of so many; all of them where there are fewer than processes.

    >>> [share(7, place, 3) for place in range(3)]
    [slice(0, 3, None), slice(3, 5, None), slice(5, 7, None)]
    >>> share(2, 1, 3)
    slice(0, 2, None)
    """
    place, parts = number() if place is None else place, parts or count()
    if total < parts:
        return slice(0, total)
    least, more = divmod(total, parts)
    start = place * least + min(place, more)
    return slice(start, start + least + (place < more))


def is_shared(total: int) -> bool:
    """Whether so many rows are divided: there are several processes, and a row for each."""
    return 1 < count() <= total


class _Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, whole: Tensor) -> Tensor:
        ctx.total = len(whole)
        return whole[share(len(whole))].clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _Gathered.apply(gradient, ctx.total) / count()  # type: ignore[no-any-return, no-untyped-call]


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, part: Tensor, total: int) -> Tensor:
        return _exchanged(part, total)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Part.apply(gradient) * count(), None  # type: ignore[no-untyped-call]


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        return _summed(part.contiguous().clone())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _Total.apply(gradient)  # type: ignore[no-any-return, no-untyped-call]


def part_of(whole: Tensor) -> Tensor:
    """This process' rows of a batch that all have."""
    return _Part.apply(whole) if is_shared(len(whole)) else whole  # type: ignore[no-untyped-call]


def gathered(part: Tensor, total: int) -> Tensor:
    """The rows of all processes, ``total`` of them, of which ``part`` are this one's."""
    return _Gathered.apply(part, total) if is_shared(total) else part  # type: ignore[no-untyped-call]


def total(part: Tensor) -> Tensor:
    """The sum over all processes, for what is computed while rows are divided."""
    return _Total.apply(part) if count() > 1 else part  # type: ignore[no-untyped-call]


def divided(function: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """``function(inputs)`` of a function that maps rows to rows [N, ...]; each process computes its part.

    >>> divided(lambda rows: 2 * rows, torch.ones(3)).tolist()
    [2.0, 2.0, 2.0]
    """
    if not is_shared(len(inputs)):
        return function(inputs)
    with _noise_of_its_own(inputs.device):
        outputs = rowwise(function)(part_of(inputs))
    return gathered(outputs, len(inputs))


def rowwise(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function, which knows while it runs that others see the other rows."""

    def call(rows: Tensor) -> Tensor:
        before, _DIVIDED[0] = _DIVIDED[0], True
        try:
            return function(rows)
        finally:
            _DIVIDED[0] = before

    return call


@contextmanager
def _noise_of_its_own(device: torch.device) -> Iterator[None]:
    """Within it random numbers (dropout) differ between processes; behind it all draw the same again.

    Where none were drawn, it leaves no trace in what is drawn later.
    """
    devices = [device.index] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        seed = int(torch.randint(2**62, ()))
        torch.manual_seed(seed + number())
        fresh = _states(device)
        yield
        drawn = any(not torch.equal(a, b) for a, b in zip(fresh, _states(device), strict=True))
    if drawn:
        torch.rand(())


def _states(device: torch.device) -> list[Tensor]:
    on_device = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [torch.get_rng_state(), *on_device]


def _exchanged(part: Tensor, rows: int) -> Tensor:
    """The rows of all processes; as bytes, since not every type can be sent."""
    most = share(rows, 0).stop
    padded = part.new_zeros(most, *part.shape[1:])
    padded[: len(part)] = part
    parts = [torch.empty_like(padded) for _ in range(count())]
    with connected():
        distributed.all_gather([_as_bytes(one) for one in parts], _as_bytes(padded))
    sizes = (share(rows, place) for place in range(count()))
    return torch.cat([one[: size.stop - size.start] for one, size in zip(parts, sizes, strict=True)])


def _as_bytes(whole: Tensor) -> Tensor:
    return whole.flatten().view(torch.uint8)


def _summed(whole: Tensor) -> Tensor:
    with connected():
        distributed.all_reduce(whole)
    return whole


def anyone(answer: bool) -> bool:
    """Whether any process says yes; every one must be asked."""
    if count() == 1:
        return answer
    return bool(_summed(torch.tensor([int(answer)])))


@torch.no_grad()
def average_gradients(weights: Iterable[Tensor]) -> None:
    """Replace each gradient by its mean over all processes."""
    if count() == 1:
        return
    for gradients in _of_one_type(weight.grad for weight in weights if weight.grad is not None):
        flat = _summed(torch.cat([gradient.flatten() for gradient in gradients])) / count()
        _write_back(flat, gradients)


@torch.no_grad()
def take_over(module: nn.Module) -> None:
    """Give all weights and buffers the values that they have in the first process."""
    if count() == 1:
        return
    for values in _of_one_type([*module.parameters(), *module.buffers()]):
        flat = torch.cat([value.flatten() for value in values])
        with connected():
            distributed.broadcast(_as_bytes(flat), src=0)
        _write_back(flat, values)


def _of_one_type(values: Iterable[Tensor]) -> list[list[Tensor]]:
    groups: dict[tuple[torch.dtype, torch.device], list[Tensor]] = {}
    for value in values:
        groups.setdefault((value.dtype, value.device), []).append(value)
    return list(groups.values())


def _write_back(flat: Tensor, values: list[Tensor]) -> None:
    for value, part in zip(values, torch.split(flat, [value.numel() for value in values]), strict=True):
        value.copy_(part.view_as(value))
