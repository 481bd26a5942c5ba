"""What the user wrote: on the command line, in a configuration file, in Python, or in the file of a run.

A field that is ``None`` is open. `cst.config.settings.resolve` closes it: by the recipe, by the method, or by the kind
of data.
"""

from __future__ import annotations

import dataclasses
import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_type_hints

from cst.config.recipes import RECIPES
from cst.files import load_yaml
from cst.grammar import parse_setting
from cst.spelling import unknown
from cst.types import described, fits, plain
from cst.updates.optimizers import OPTIMIZERS

Schedule = Literal["step", "inverse", "cosine", "constant"]
BatchNorm = Literal["joint", "per-domain", "auto"]
Augment = Literal["none", "mild", "flip", "mild/flip"]
Head = Literal["linear", "prototype"]
Standardization = Literal["dataset", "image"]
Pooling = Literal["mean", "cls"]
Resample = Literal["iid", "covariate-shift", "label-shift"]
Select = Literal[
    "last",
    "verdict",
    "source-accuracy",
    "cycle",
    "certainty",
    "information-maximisation",
    "bnm",
    "snd",
    "importance-weighting",
    "dev",
    "class-confusion",
    "nearest-source",
    "view-agreement",
    "balance",
    "mixval",
]
"""The last epoch, the verdict, or the validators of `cst.selection`."""
Precision = Literal["32", "32-true", "64-true", "16-mixed", "bf16-mixed"]

DEFAULT_TASK = "synthetic-digits"
OWN_DATA = "own-data"
"""What the task is called when ``source`` and ``target`` name the data."""
ARRAYS, LISTS = IN_MEMORY = ("arrays", "lists")
"""What the task is called when Python was given the data themselves."""

VERSIONS = ("format", "cst", "torch")
"""What the file of a run says of who wrote it."""

OF_OWN_DATA = ("text", "label", "target_labels", "label_column", "columns", "drop")
"""What can be said of data of one's own only."""

TRACKERS = ("tensorboard", "mlflow", "wandb")
"""Who can be told the figures of a run, beside its folder."""

LEAST = {
    **{"epochs": 1, "steps_per_epoch": 1, "batch_size": 2, "seed": 0, "max_length": 2, "image_size": 8},
    **{"checkpoint_every": 1, "devices": 1, "num_nodes": 1, "accumulate": 1},
}
"""Whole numbers and the least that each may be."""

MOST, WIDEST, LARGEST = 2**31 - 1, 2**20, 1e30
"""What whole numbers, a layer's width and other numbers may be at most: more is a slip, or meant to break something."""

NOT_NEGATIVE = (
    *("lr", "backbone_lr", "momentum", "weight_decay", "ramp_epochs", "warmup_epochs", "guard"),
    *("bottleneck", "freeze", "views", "workers", "hold_out", "clip_gradient"),
)
PATHS = ("out", "data_root", "source", "target", "cache")

OF_THE_MACHINE = (
    *("out", "data_root", "workers", "cache", "checkpoint_every", "keep_checkpoint", "devices", "num_nodes"),
)
"""Fields that a run folder leaves out: they belong to the machine, not to the run."""


@dataclass(frozen=True)
class Config:
    """Everything that can be said of a training run; what is ``None`` is left open."""

    task: str | None = None
    """What to adapt, unless --source and --target do; `cst tasks` lists the names. (default: synthetic-digits)"""
    source: Path | None = None
    """Your labelled data: a folder of images in class folders, a table (.csv, .tsv, .jsonl, .parquet), arrays (.npz,
    .npy) or a folder that `datasets` saved."""
    target: Path | None = None
    """Your unlabelled data of the same kind; images may lie anywhere in the folder."""
    text: str | None = None
    """Column of the tables that holds the text; without it their other columns are numbers."""
    label: str | None = None
    """Column of the source that holds the label, or an .npy file of labels. (default: label)"""
    target_labels: str | None = None
    """Labels of the target, for evaluation only: 'folders' for images in class folders, a column of the target, or a
    file (.csv with file and label, .npy)."""
    label_column: str | None = None
    """Column of the labels in a file that --target-labels names. (default: that of --label, or label)"""
    columns: tuple[str, ...] | None = None
    """Columns of a table that are inputs, names with commas between or with the flag again. (default: all that hold
    numbers or categories and do not just count or identify rows)"""
    drop: tuple[str, ...] | None = None
    """Columns of a table that are no inputs."""
    strict: bool = False
    """Stop at a file that cannot be read, a row without text or a missing value, instead of leaving the first two out
    and filling in the third."""
    resample: Resample | None = None
    """Draw the subsets of the paper's Section 2.1 from the data first."""
    method: str = "cst"
    """A name from `cst methods`, or a sum of terms such as cycle+tsallis or source+cycle+tsallis(alpha=1.5)."""
    recipe: str | None = None
    """Settings of an experiment in the paper, such as paper/office-home, or of the published code, such as
    official/visda; other flags override them."""
    backbone: str | None = None
    """Feature extractor: cnn, mlp, dtn, lenet from scratch; efficientnet-lite0, resnet50, resnet50-v1, resnet101,
    minilm, hf:NAME, timm:NAME, torchvision:NAME pretrained; auto chooses by the data."""
    weights: str | None = None
    """File with weights for the backbone to start from, or 'none' to start a pretrained one from scratch."""
    freeze: int | None = None
    """Lower layers of a pretrained backbone that stay as they are; their outputs are computed once where inputs are not
    augmented."""
    pooling: Pooling | None = None
    """How token features become one: mean over the tokens, or cls for the first."""
    max_length: int | None = None
    """Tokens of a text that are read."""
    image_size: int | None = None
    """Side of the images as the network sees them."""
    epochs: int | None = None
    """How many epochs; one epoch sees every sample of the larger domain once."""
    steps_per_epoch: int | None = None
    """Steps in an epoch, if it should not be one pass over the larger domain."""
    batch_size: int | None = None
    """Samples of each domain in a step, of all devices together; at most the size of the smaller domain."""
    accumulate: int | None = None
    """Slices in which a batch goes through the backbone, one after the other: less memory, the same loss, a second
    pass of each slice for its gradient. Batch norm sees the slices."""
    clip_gradient: float | None = None
    """The largest norm of the gradient in a step, of all weights together; 0 leaves it as it is."""
    lr: float | None = None
    """Initial learning rate."""
    backbone_lr: float | None = None
    """Factor on the learning rate of the backbone."""
    optimizer: str | None = None
    """sgd (the paper's), or adamw."""
    momentum: float | None = None
    """Momentum of SGD."""
    weight_decay: float | None = None
    """Weight decay."""
    schedule: Schedule | None = None
    """Decay of the learning rate: step (a tenth at each third of the run, the paper's), inverse (the published
    code's), cosine or constant."""
    ramp_epochs: float | None = None
    """Epochs over which the weights of the terms that `cst methods` lists for it grow from zero; 0 switches the ramp
    off."""
    warmup_epochs: float | Literal["auto"] | None = None
    """Epochs on the source alone before any other term counts; ramps begin after them. auto: until the source's loss
    falls by less than a fifth in an epoch, at most a quarter of the run."""
    guard: float | None = None
    """Least share of the target that must get the same label under the batch-norm statistics of both domains when the
    warm-up ends; where it is less, the run stays with the source and says so. 0 switches it off; cst, cst+sam,
    cst+entropy and cycle have 0.4. Without a warm-up, or with joint statistics, there is nothing to compare."""
    batch_norm: BatchNorm | None = None
    """Whose statistics batch norm uses: per-domain, each its own, joint, of one concatenated pass, or auto: joint where
    other shares of the source's classes explain how the target differs, else per-domain."""
    feature_norm: bool | None = None
    """Batch norm without parameters behind the backbone; per domain, it takes out a shift of the features' mean and
    scale."""
    head: Head | None = None
    """Last layer of the source head: linear, or prototype for similarities to one prototype a class."""
    bottleneck: int | None = None
    """Width of a hidden layer in the source head; 0 for a linear head."""
    standardize: Standardization | None = None
    """What inputs are standardised by: dataset, constants of the source or of the backbone's pretraining, or image,
    each by its own mean and deviation."""
    augment: Augment | None = None
    """Random augmentation of both domains in training: mild, or flip to mirror images half of the time; mild/flip is
    mild for the source, flip for the target."""
    views: int | None = None
    """Strong views of each target image that are made once and drawn from, where lower layers are frozen and inputs are
    not augmented; 0 draws new ones in every step."""
    select: Select | None = None
    """Which epoch's model is kept: last; verdict, the last one unless its signs call it harmed or collapsed, and then
    the source model of the end of the warm-up; or the best epoch by a score. None needs a label of the target."""
    hold_out: float | None = None
    """Share of the source, of every class alike, that is not trained on but judges. Scores that ask whether the model
    is right on the source (source-accuracy, importance-weighting, dev, cycle) mean little on what it has learned by
    heart."""
    weight: Mapping[str, float] = field(default_factory=dict)
    """Weight of a term, for instance cycle=2; several with commas, or with the flag again."""
    option: Mapping[str, Any] = field(default_factory=dict)
    """Option of a term or an update rule, for instance cycle.normalize=true or sam.rho=0.1; several likewise."""
    seed: int | None = None
    """Seed of everything random in the run."""
    device: str | None = None
    """Accelerator, as Lightning Fabric names it: auto, cpu, cuda, mps."""
    precision: Precision | None = None
    """Precision, as Lightning Fabric names it; 32 is 32-true. Ridge heads and the selection of alpha are solved in
    float32 at least."""
    devices: int | None = None
    """Processes that train together on this machine, one a GPU, or on the CPU; the batch is divided between them."""
    num_nodes: int | None = None
    """Machines, where torchrun or srun starts the processes; what they say counts if this is left out."""
    log: tuple[str, ...] | None = None
    """Where else the figures of each epoch go: tensorboard, mlflow, wandb, names with commas or the flag again; into
    the run folder, unless the environment names a server."""
    workers: int | None = None
    """Processes that read images ahead of training. (default: one a core, at most 4)"""
    cache: Path | None = None
    """Folder in which outputs of frozen layers are kept for other runs."""
    data_root: Path | None = None
    """Folder of datasets for tasks that read files; CST_DATA if not given."""
    checkpoint_every: int | None = None
    """Steps after which a checkpoint is written within an epoch too; it changes nothing in the run. (default: one at
    the end of each epoch)"""
    keep_checkpoint: bool = False
    """Keep the whole checkpoint of a finished run, about three times as large as the model."""
    out: Path | None = None
    """The run folder."""

    def __post_init__(self) -> None:
        for name in ("weight", "option"):
            object.__setattr__(self, name, _as_mapping(name, getattr(self, name)))
        for name in ("columns", "drop"):
            object.__setattr__(self, name, as_names(name, getattr(self, name)))
        object.__setattr__(self, "log", as_trackers(self.log))
        for name in PATHS:
            if isinstance(getattr(self, name), str) and not getattr(self, name).strip():
                raise ValueError(f"{name}= is empty: give a path, or leave it out.")
            if isinstance(getattr(self, name), str | os.PathLike):
                object.__setattr__(self, name, Path(getattr(self, name)))
        if self.precision is not None and str(self.precision) == "32":
            object.__setattr__(self, "precision", "32-true")
        self._check()

    def _check(self) -> None:
        hints = get_type_hints(Config)
        for item in dataclasses.fields(Config):
            if item.name in ("weight", "option"):
                continue
            value = plain(getattr(self, item.name), hints[item.name])
            object.__setattr__(self, item.name, value)
            if not fits(value, hints[item.name]):
                raise ValueError(f"{item.name}= must be {described(hints[item.name])}, got {value!r}.")
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= MOST:
                bound = f"at least {least}" if value < least else f"at most {MOST:,}"
                raise ValueError(f"{name}= must be a whole number of {bound}, got {reprlib.repr(value)}.")
        for name in NOT_NEGATIVE:
            value = getattr(self, name)
            if isinstance(value, int | float) and value < 0:
                raise ValueError(f"{name}= must be at least 0, got {value!r}.")
            most = WIDEST if name == "bottleneck" else MOST if isinstance(value, int) else LARGEST
            if isinstance(value, int | float) and value > most:
                raise ValueError(f"{name}= must be at most {most:,}, got {reprlib.repr(value)}.")
        if self.optimizer is not None and self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer=: {unknown('optimizer', self.optimizer, OPTIMIZERS)}")
        if self.recipe is not None and self.recipe not in RECIPES:
            raise ValueError(unknown("recipe", self.recipe, RECIPES))
        if self.lr == 0:
            raise ValueError("lr= must be more than 0: nothing would be learned.")
        if self.momentum is not None and self.momentum >= 1:
            raise ValueError(f"momentum= must be below 1, got {self.momentum:g}.")
        if self.hold_out is not None and self.hold_out > 0.5:
            raise ValueError(f"hold_out= is a share of the source, at most a half, got {self.hold_out:g}.")
        if self.guard is not None and self.guard > 1:
            raise ValueError(f"guard= is a share between 0 and 1, got {self.guard:g}.")
        self._check_data()

    def _check_data(self) -> None:
        if (self.source is None) != (self.target is None):
            present, absent = ("source=", "target=") if self.target is None else ("target=", "source=")
            raise ValueError(f"{present} needs {absent} beside it: adaptation takes a source and a target.")
        if self.source is not None and self.task not in (None, OWN_DATA):
            raise ValueError(f"task={self.task} and source= name two sets of data: leave one of them out.")
        of_files = [name for name in OF_OWN_DATA if getattr(self, name) is not None]
        in_memory = self.task in IN_MEMORY and set(of_files) <= {"columns", "drop", "text", "label"}
        if of_files and self.source is None and self.task != OWN_DATA and not in_memory:
            raise ValueError(f"{of_files[0]}= describes data of your own: give them with source= and target=.")

    @property
    def task_name(self) -> str:
        """What the data are called."""
        if self.task is not None:
            return self.task
        return DEFAULT_TASK if self.source is None else OWN_DATA

    @property
    def label_of_data(self) -> str:
        """What to call the data in progress and file names."""
        return name_of_data(self.task_name, self.source, self.target)


def name_of_data(task: str, source: Path | None, target: Path | None) -> str:
    """What to call data: the name of the task, or those of the user's own files."""
    return task if source is None or target is None else f"{source.stem}-{target.stem}"


def config_from(values: Mapping[str, Any], where: str = "options") -> Config:
    """A configuration of plain values; ``where`` names their origin in an error."""
    known = [item.name for item in dataclasses.fields(Config)]
    for name in values:
        if name not in known:
            raise ValueError(f"{where}: {unknown('option', str(name), known)}")
    try:
        return Config(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}.") from None


def load_config(path: Path) -> Config:
    """The configuration in a YAML file, as somebody wrote it or as a run folder keeps it."""
    return config_from(load_options(path), where=str(path))


def load_options(path: Path) -> dict[str, Any]:
    """The options in a YAML file, not yet checked."""
    if not path.is_file():
        raise ValueError(f"There is no configuration file at {path}.")
    try:
        values = load_yaml(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold one option a line, such as 'epochs: 20', not a {type(values).__name__}.")
    if "tensorboard" in values:  # as it was called up to format 6
        events = ["tensorboard"] if values.pop("tensorboard") else []
        values.setdefault("log", events)
    return {name: value for name, value in values.items() if name not in VERSIONS}


def as_trackers(values: Any) -> tuple[str, ...] | None:
    """Names of trackers, each once; in a text they have commas between.

    >>> as_trackers("mlflow, tensorboard,mlflow")
    ('mlflow', 'tensorboard')
    """
    if values is None:
        return None
    names = values.split(",") if isinstance(values, str) else values
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"log= must be some of {', '.join(TRACKERS)}, got {values!r}.")
    names = [name.strip() for name in names if name.strip()]
    for name in names:
        if name not in TRACKERS:
            raise ValueError(f"log=: {unknown('tracker', name, TRACKERS)}")
    return tuple(dict.fromkeys(names))


def as_names(name: str, values: Any) -> tuple[str, ...] | None:
    """A list of names as it is; in a text they have commas between, and one that holds a comma stands in quotes.

    >>> as_names("drop", 'a,"b, in cm"')
    ('a', 'b, in cm')
    """
    import csv

    if values is None:
        return None
    if isinstance(values, str):
        values = [field.strip() for row in csv.reader([values], skipinitialspace=True) for field in row]
        values = [value for value in values if value]
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name}= must be names of columns, got {values!r}.")
    if not values or len(set(values)) < len(values):
        raise ValueError(f"{name}= names {'a column twice' if values else 'no column'}: mend it, or leave it out.")
    return tuple(values)


def _as_mapping(name: str, values: Any) -> dict[str, Any]:
    """``{"cycle": 2}``, ``["cycle=2"]`` and ``"cycle=2"`` all mean the same; commas separate several."""
    if isinstance(values, Mapping):
        return {str(key): value for key, value in values.items()}
    if isinstance(values, str):
        values = [values]
    elif not isinstance(values, list | tuple | None):
        raise ValueError(f"{name}= must be settings such as 'cycle=2', got {values!r}.")
    items = [item.strip() for value in values or () for item in str(value).split(",") if item.strip()]
    return dict(parse_setting(item, f"{name}=") for item in items)
