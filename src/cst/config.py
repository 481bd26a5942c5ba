"""One dataclass for the command line, the configuration file, the Python API and the run folder.

A field that is ``None`` is decided when training starts: by the method, by the data, or by
`DEFAULTS`. The run folder holds the configuration with every such field filled in.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

from cst.spelling import unknown
from cst.types import described, fits, plain

Schedule = Literal["step", "inverse", "constant"]
BatchNorm = Literal["joint", "per-domain"]
Augment = Literal["none", "mild"]
Head = Literal["linear", "prototype"]
Precision = Literal["32-true", "64-true", "16-mixed", "bf16-mixed"]

DEFAULTS: dict[str, Any] = {
    "lr": 0.02,
    "schedule": "step",
    "head": "linear",
    "bottleneck": 0,
    "batch_norm": "per-domain",
    "batch_size": 64,
}


@dataclass(frozen=True)
class Config:
    """Everything that determines a training run."""

    task: str = "synthetic-digits"
    """What to adapt; `cst tasks` lists the names."""
    method: str = "cst"
    """A name from `cst methods`, or a sum of terms such as cycle+tsallis or source+cycle+tsallis(alpha=1.5)."""
    backbone: str = "auto"
    """Feature extractor: cnn, mlp, dtn, lenet, or auto for cnn or mlp by the input's shape."""
    epochs: int = 20
    """How many epochs; one epoch sees every sample of the larger domain once."""
    steps_per_epoch: int | None = None
    """Steps in an epoch, if it should not be one pass over the larger domain."""
    batch_size: int | None = None
    """Samples of each domain in a step: 64, or the size of a smaller domain."""
    lr: float | None = None
    """Initial learning rate."""
    backbone_lr: float = 1.0
    """Factor on the learning rate of the backbone; 0.1 suits a pretrained one."""
    momentum: float = 0.9
    """Momentum of SGD."""
    weight_decay: float = 1e-3
    """Weight decay of SGD."""
    schedule: Schedule | None = None
    """Decay of the learning rate: step (a tenth at each third of the run, the paper's), inverse (the published
    code's) or constant."""
    ramp_epochs: float = 2.0
    """Epochs over which the weight of entropy terms grows from zero; 0 switches the ramp off."""
    batch_norm: BatchNorm | None = None
    """Whose statistics batch norm uses: per-domain, each its own (default), or joint, of one concatenated pass."""
    head: Head | None = None
    """Last layer of the source head: linear, or prototype for similarities to one prototype a class."""
    bottleneck: int | None = None
    """Width of a hidden layer in the source head; 0 for a linear head."""
    augment: Augment = "none"
    """Random views of both domains in training."""
    weight: tuple[str, ...] = ()
    """Weight of a term, for instance cycle=2; several with commas, or with the flag again."""
    option: tuple[str, ...] = ()
    """Option of a term or an update rule, for instance cycle.normalize=true or sam.rho=0.1; several likewise."""
    seed: int = 0
    """Seed of everything random in the run."""
    device: str = "auto"
    """Accelerator, as Lightning Fabric names it: auto, cpu, cuda, mps."""
    precision: Precision = "32-true"
    """Precision, as Lightning Fabric names it."""
    tensorboard: bool = False
    """Write TensorBoard events into the run folder as well."""
    data_root: Path | None = None
    """Folder of datasets for tasks that read files; CST_DATA if not given."""
    out: Path | None = None
    """The run folder."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _as_settings(self.weight))
        object.__setattr__(self, "option", _as_settings(self.option))
        for name in ("out", "data_root"):
            if isinstance(getattr(self, name), str | os.PathLike):
                object.__setattr__(self, name, Path(getattr(self, name)))
        self._check()

    def _check(self) -> None:
        hints = get_type_hints(Config)
        for field in dataclasses.fields(Config):
            value = plain(getattr(self, field.name), hints[field.name])
            object.__setattr__(self, field.name, value)
            if not fits(value, hints[field.name]):
                raise ValueError(f"{field.name} must be {described(hints[field.name])}, got {value!r}.")
        for name, least in (("epochs", 1), ("steps_per_epoch", 1), ("batch_size", 2), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and not least <= value < 2**31:
                raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
        for name in ("lr", "backbone_lr", "momentum", "weight_decay", "ramp_epochs", "bottleneck"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} must be at least 0, got {value!r}.")

    def filled(self, **values: Any) -> Config:
        """A copy in which the given values stand where this one has ``None``."""
        return dataclasses.replace(self, **{k: v for k, v in values.items() if getattr(self, k) is None})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for YAML or JSON. The folders are left out: a run can be moved."""
        plain = dataclasses.asdict(self)
        del plain["out"], plain["data_root"]
        return {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}


def config_from(values: dict[str, Any], where: str = "options") -> Config:
    """A configuration of plain values; ``where`` names their origin in an error."""
    known = [field.name for field in dataclasses.fields(Config)]
    for name in values:
        if name not in known:
            raise ValueError(f"{where}: {unknown('option', str(name), known)}")
    try:
        return Config(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}.") from None


def load_config(path: Path) -> Config:
    """The configuration in a YAML file."""
    import yaml

    if not path.is_file():
        raise ValueError(f"There is no configuration file at {path}.")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not valid YAML: {' '.join(str(error).split())}.") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise ValueError(f"{path} must hold one option a line, such as 'epochs: 20', not a {type(values).__name__}.")
    return config_from(values, where=str(path))


def save_config(config: Config, path: Path) -> None:
    """Write the configuration as YAML."""
    import yaml

    path.write_text(yaml.safe_dump(config.to_dict(), sort_keys=False), encoding="utf-8")


def _as_settings(values: Any) -> tuple[str, ...]:
    """``{"cycle": 2}``, ``["cycle=2"]`` and ``"cycle=2"`` all mean the same; commas separate several."""
    if isinstance(values, dict):
        values = [f"{key}={value}" for key, value in values.items()]
    elif isinstance(values, str):
        values = [values]
    return tuple(item.strip() for value in values or () for item in str(value).split(",") if item.strip())
