"""Everything that a run needs before its first step, made from a task and its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cst.config import Config, Settings, resolve
from cst.data.augmentations import Augmentation, of_each_domain
from cst.data.cached import through_frozen
from cst.data.loading import worker_count
from cst.data.samples import Samples
from cst.data.task import EncodedTask, Task, counts_aside, set_aside, subsample
from cst.data.views import StrongViews, drawn, view_bank
from cst.engine.evaluation import Evaluation
from cst.engine.feed import Feed
from cst.engine.memory import Memory
from cst.engine.objective import Objective
from cst.engine.optimisation import make_optimizer
from cst.grammar import make, parse_method
from cst.kinds import KINDS, only_for
from cst.methods import Method
from cst.models.backbones import is_pretrained
from cst.models.batch_norm import in_common
from cst.models.frozen import Frozen
from cst.models.model import Model, Standardize
from cst.models.pretrained import is_image_backbone
from cst.models.spec import ModelSpec
from cst.ranks import group
from cst.ranks.rows import average_gradients, take_over
from cst.sampling.rules import Uniform
from cst.terms import TERMS
from cst.terms.contract import Term
from cst.updates.contract import Update

GATHERED = 1024
"""Samples of each domain whose features are kept for selecting alpha."""
WATCHED = 10_000
"""Target samples that the oracle looks at after each epoch; of the finished model it looks at all."""


@dataclass
class Training:
    """The parts of a run in progress.

    Attributes:
        settings: complete.
        task: the data as the trained layers see them.
        watched: the same, with as many target samples as the oracle looks at after each epoch.
        encoded: the data as the model takes them.
        columns: names of the inputs, where they come from a table.
        model: what is trained, in place.
        objective: the model and the terms.
        module: the same, as the device and its precision run it.
        optimizer: takes the steps.
        update: how a step is taken.
        sampler: which samples meet in a step.
        feed: batches by the number of a step.
        memory: features gathered as training goes on.
        views: makes strong views of target samples, for whoever looks at them; None where inputs have none.
        workers: processes that read files.
    """

    settings: Settings
    task: EncodedTask
    watched: EncodedTask
    encoded: EncodedTask
    columns: tuple[str, ...]
    model: Model
    objective: Objective
    module: Any
    optimizer: torch.optim.Optimizer
    update: Update
    sampler: Uniform
    feed: Feed
    memory: Memory
    views: StrongViews | None
    workers: int | None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What must not change while a run is interrupted."""
        return {
            "classes": [str(name) for name in self.encoded.classes],
            "columns": list(self.columns),
            "source": len(self.encoded.source),
            "target": len(self.encoded.target),
            "content": self.encoded.identity,
        }

    def evaluation(self) -> Evaluation:
        """Both domains at the present weights, as far as they are watched."""
        return Evaluation(self.model, self.watched, self.workers)


def settle(config: Config, task: Task, method: Method | None = None, custom: bool = False) -> tuple[Settings, Method]:
    """What the run goes by: the user's word, completed for these data; ``custom`` if the backbone is the user's own."""
    kind = KINDS[task.kind]
    method = method or parse_method(config.method)
    quick = not custom and _may_be_quick(config, method)

    def usual(backbone: str) -> dict[str, Any]:
        least_steps = 1 if custom or is_pretrained(backbone) else kind.least_steps
        settings = {"backbone": kind.backbone, **kind.usual(is_pretrained(backbone)), "least_steps": least_steps}
        return {**settings, **kind.quick(backbone)} if quick else settings

    aside = sum(counts_aside(task.labels, config.hold_out)) if config.hold_out else 0
    sizes = (len(task.source) - aside, len(task.target))

    def statistics() -> str:
        shares = kind.explained_by_shares(task.source, task.labels, task.target)
        return "joint" if shares else "per-domain"

    return resolve(config, method, task.kind, usual, only_for(), sizes, statistics)


def _may_be_quick(config: Config, method: Method) -> bool:
    """Whether lower layers can stay as they are, on a CPU, where nobody has said otherwise or needs other inputs."""
    said = [
        config.recipe,
        config.freeze,
        config.augment,
        config.weights,
        *map(method.defaults.get, ("freeze", "augment")),
    ]
    if any(word is not None for word in said) or not _on_cpu(config.device):
        return False
    terms = (part.term or TERMS[part.name] for part in method.terms)
    return not any(reads_inputs(term) for term in terms)


def reads_inputs(term: type[Term] | Term) -> bool:
    """Whether a term changes inputs by itself, so that they must not have been through frozen layers."""
    return term.perturbs or term.mixes or (term.augments and "strong" not in term.views)


def _on_cpu(device: str | None) -> bool:
    if device in (None, "auto"):
        return not (torch.cuda.is_available() or torch.backends.mps.is_available())
    return device == "cpu"


def quick_note(config: Config, settings: Settings) -> str:
    """What was chosen for want of an accelerator, or an empty text."""
    if not settings.freeze or config.freeze is not None or config.recipe is not None:
        return ""
    return (
        f"On a CPU the lower {settings.freeze} layers of {settings.backbone} stay as they were pretrained and their "
        f"outputs are computed once, of images that are not augmented, {settings.image_size} pixels wide: freeze=0 and "
        "augment=mild train all of it, many times slower."
    )


def set_up(
    task: Task,
    settings: Settings,
    method: Method,
    module: nn.Module | None = None,
    workers: int | None = None,
    cache: Path | None = None,
) -> Training:
    """Encode the task, build the model, the objective and all that trains it.

    Args:
        task: the data.
        settings: complete.
        method: terms, update rule and sampling rule.
        module: a backbone of the user's own.
        workers: processes that read files; one a core if not given.
        cache: folder in which outputs of frozen layers are kept.
    """
    fabric = fabric_for(settings)
    spec = ModelSpec.of(task, settings, custom=module is not None)
    encoded = set_aside(spec.encode(task), settings.hold_out, settings.seed)
    model = build_model(spec, encoded.source, settings, module)
    objective = Objective(
        method,
        model,
        num_classes=task.num_classes,
        feature_dim=model.spec.feature_dim,
        num_target=len(task.target),
        ramp_epochs=settings.ramp_epochs,
        warmup_epochs=settings.warmup_epochs,
    )
    model.slices = settings.accumulate
    if group.count() > 1:
        in_common(model.backbone)
        take_over(objective)
    _check_inputs(encoded.target.take(torch.tensor([0])), model, objective, settings)
    wrapped, optimizer = fabric.setup(objective, make_optimizer(objective, model, settings))
    sizes = (len(task.target), task.num_classes, settings.batch_size, settings.seed)
    sampler: Uniform = make(method.sampling, encoded.labels, *sizes)
    augmentations = KINDS[task.kind].augmentations
    reached = _after_frozen_layers(encoded, model.prepare, objective, settings, cache, workers)
    strong = drawn(augmentations.strong) if "strong" in objective.views else None
    if strong and reached is not encoded:
        strong = view_bank(encoded.target, model.prepare, augmentations.strong, settings.views, cache, workers)
    feed = Feed(
        reached,
        sampler,
        settings.seed,
        settings.augment,
        augmentations,
        strong,
        worker_count(workers, reached.source, reached.target),
        fabric.to_device,
    )
    return Training(
        settings=settings,
        task=reached,
        watched=subsample(reached, WATCHED),
        encoded=encoded,
        columns=tuple(column.name for column in task.source.columns),
        model=model,
        objective=objective,
        module=wrapped,
        optimizer=optimizer,
        update=make(method.update, optimizer, _averaged(fabric.backward, objective)),
        sampler=sampler,
        feed=feed,
        memory=Memory(GATHERED, settings.batch_size),
        views=strong or _views_to_look_at(encoded, reached, model, augmentations.strong),
        workers=workers,
    )


def fabric_for(settings: Settings) -> Any:
    """What knows this process' device and the precision."""
    from lightning_fabric import Fabric

    several = group.count() > 1 and (settings.device == "cuda" or not _on_cpu(settings.device))
    devices: Any = [group.device()] if several else 1
    try:
        return Fabric(accelerator=settings.device, devices=devices, precision=settings.precision)
    except (RuntimeError, ValueError, ImportError) as error:
        raise ValueError(f"Device '{settings.device}' with precision '{settings.precision}': {error}") from None


def _averaged(backward: Callable[[Tensor], None], objective: Objective) -> Callable[[Tensor], None]:
    """Differentiate a loss, and give each weight the mean of the gradients of all processes."""
    if group.count() == 1:
        return backward

    def call(loss: Tensor) -> None:
        backward(loss)
        average_gradients(objective.parameters())

    return call


def _views_to_look_at(
    encoded: EncodedTask, reached: EncodedTask, model: Model, strong: Augmentation
) -> StrongViews | None:
    """Of inputs in memory that have not been through frozen layers: numbers, or tokens that can be hidden."""
    if encoded.target.decodes or reached is not encoded:
        return None
    numbers = encoded.target.take(torch.tensor([0])).is_floating_point()
    return drawn(strong) if numbers or hasattr(model.backbone, "embed") else None


def build_model(spec: ModelSpec, source: Samples, settings: Settings, module: nn.Module | None = None) -> Model:
    """The model of a description, freshly initialised.

    Inputs of a backbone by name are standardised: with the statistics of its pretraining, or with the source's.
    A module that the user brings gets the inputs as they are. On request each image is standardised by itself.
    """
    example = source.take(torch.arange(2))
    if settings.standardize == "image" and example.ndim != 4:
        raise ValueError("standardize=image is for images, but these inputs are vectors or tokens: leave it out.")
    if module is None and settings.standardize == "dataset":
        _check_scale(source, example, settings.backbone)
    model = spec.build(module, settings.weights, example)
    if isinstance(model.prepare, Standardize) and not is_pretrained(settings.backbone):
        count = min(len(source), 512 if source.decodes else 4096)
        model.prepare.fit(source.take(torch.linspace(0, len(source) - 1, count).long()))
    return model


def _check_scale(source: Samples, example: Tensor, backbone: str) -> None:
    """A pretrained image backbone brings its own standardisation, of values 0..1; files have those anyway."""
    if source.decodes or not example.is_floating_point() or not is_image_backbone(backbone):
        return
    some = source.take(torch.arange(min(len(source), 64)))
    least, most = float(some.min()), float(some.max())
    if least < -1e-3 or most > 1 + 1e-3:
        raise ValueError(
            f"Backbone '{backbone}' takes images with values 0..1, but the source has {least:g} to {most:g}: "
            "give bytes (uint8), or divide by the largest value."
        )


def _check_inputs(example: Tensor, model: Model, objective: Objective, settings: Settings) -> None:
    """Tokens can be hidden and their word vectors perturbed where the backbone is one of ours, never averaged."""
    if "flip" in of_each_domain(settings.augment) and example.ndim != 4:
        raise ValueError("augment=flip mirrors images, but these inputs are vectors or tokens: choose mild or none.")
    if example.is_floating_point():
        return
    embeds = hasattr(model.backbone, "embed")
    refused = [n for n, t in objective.items() if t.mixes or (not embeds and (t.augments or t.perturbs))]
    if settings.augment != "none" and not embeds:
        refused.append("augment")
    if refused:
        raise ValueError(
            f"{' and '.join(refused)} would change the inputs, which are whole numbers (tokens?): "
            "choose a method that works on features, such as cst."
        )


def _after_frozen_layers(
    task: EncodedTask,
    prepare: nn.Module,
    objective: Objective,
    settings: Settings,
    cache: Path | None,
    workers: int | None,
) -> EncodedTask:
    """The task as the trained layers see it, where nothing random happens before them."""
    augmenting = [term for _, term in objective.items() if term.augments]
    random = settings.augment != "none" or any(reads_inputs(term) or not settings.views for term in augmenting)
    if random or not isinstance(prepare, Frozen):
        if settings.views:
            raise ValueError(
                f"views={settings.views} needs frozen layers (freeze=), augment=none and a method that augments by "
                "strong views alone, such as fixmatch: leave it out."
            )
        return task
    return through_frozen(task, prepare, cache, workers)
