"""What a run goes by: every field decided, once, from what the user wrote and what the data are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cst.config.defaults import ALWAYS
from cst.config.options import Config, load_config, name_of_data
from cst.config.recipes import find_recipe
from cst.files import load_yaml, reading, write_text_aside
from cst.grammar import adjusted
from cst.methods import Method

SHORT = 4
"""Epochs below which there is no time for a warm-up of open length."""
FORMAT = 7
"""Of run folders and saved models; earlier formats are read as well."""
OF_THE_DATA = (
    *("task", "source", "target", "text", "label", "target_labels", "label_column"),
    *("columns", "drop", "strict", "resample"),
)
"""Fields that say where the data are; a run keeps them as the user wrote them."""
MOVABLE = ("source", "target", "target_labels", "log")
"""Where data lie, and who is told of a run, may change between its parts."""


@dataclass(frozen=True)
class Settings:
    """A complete configuration. ``weight`` and ``option`` hold what differs from the method's own."""

    data: Mapping[str, Any]
    method: str
    recipe: str
    backbone: str
    weights: str
    freeze: int
    pooling: str
    max_length: int
    image_size: int
    epochs: int
    steps_per_epoch: int
    batch_size: int
    accumulate: int
    clip_gradient: float
    lr: float
    backbone_lr: float
    optimizer: str
    momentum: float
    weight_decay: float
    schedule: str
    ramp_epochs: float
    warmup_epochs: float | str
    guard: float
    batch_norm: str
    feature_norm: bool
    head: str
    bottleneck: int
    standardize: str
    augment: str
    views: int
    select: str
    hold_out: float
    weight: Mapping[str, float]
    option: Mapping[str, Any]
    seed: int
    device: str
    precision: str
    log: tuple[str, ...]

    @property
    def label_of_data(self) -> str:
        """What to call the data."""
        return name_of_data(self.data["task"], self.data["source"], self.data["target"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for YAML or JSON; `cst.config.load_config` reads them again."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "data"}
        values |= {"weight": dict(self.weight), "option": dict(self.option), "recipe": self.recipe or None}
        return {**{name: _plain(value) for name, value in self.data.items()}, **values}

    def save(self, path: Path) -> None:
        """Write them as YAML, and who wrote them."""
        import yaml

        write_text_aside(path, yaml.safe_dump({**versions(), **self.to_dict()}, sort_keys=False))

    @classmethod
    def load(cls, path: Path) -> Settings:
        """The settings that a run keeps, all of them; what an earlier version left open is as usual."""
        names = [item.name for item in dataclasses.fields(cls) if item.name != "data"]
        _check_whole(path, (*OF_THE_DATA, *names))
        config = load_config(path)
        values = {name: _or_usual(name, getattr(config, name)) for name in names}
        return cls(data={name: getattr(config, name) for name in OF_THE_DATA}, **values)

    def differences(self, other: Settings, names: Container[str] | None = None) -> list[str]:
        """Where two runs differ that should be one, a phrase for each field, or for each of those named."""
        ours, theirs = (
            {
                name: value
                for name, value in settings.to_dict().items()
                if name not in MOVABLE and (names is None or name in names)
            }
            for settings in (self, other)
        )
        return [f"{name} was {theirs[name]}, now {ours[name]}" for name in ours if ours[name] != theirs[name]]


def versions() -> dict[str, Any]:
    """What a run folder says of who wrote it."""
    from importlib.metadata import version

    from cst import __version__

    return {"format": FORMAT, "cst": __version__, "torch": version("torch")}


def _check_whole(path: Path, names: Sequence[str]) -> None:
    """Refuse the file of a run that was cut short, or that a later version wrote."""

    if not path.is_file():
        raise ValueError(f"There is no configuration file at {path}.")
    with reading(path):
        values = load_yaml(path.read_text(encoding="utf-8")) or {}
        number = values.get("format", 0)
        absent = [name for name in names if name not in values] if number == FORMAT else []
        later = number > FORMAT
    if later:
        raise ValueError(f"{path} has format {number}, but this cst reads formats up to {FORMAT}: update it.")
    if absent:
        raise ValueError(f"{path} has no '{absent[0]}', so it is not whole: restore it or start a new run.")


def resolve(
    config: Config,
    method: Method,
    kind: str,
    usual: Callable[[str], Mapping[str, Any]],
    only_for: Mapping[str, str],
    sizes: tuple[int, int],
    statistics: Callable[[], str],
) -> tuple[Settings, Method]:
    """Decide what the user left open, and put weights and options into the method.

    What the user wrote comes first, then the recipe, then the method, then the kind of data.

    Args:
        config: what the user wrote.
        method: what its method stands for.
        kind: of the data.
        usual: the usual settings for a backbone; for ``"auto"``, the backbone that stands for it among them; and the
            ``least_steps`` of an epoch, however few samples there are.
        only_for: fields that mean something for one kind of data only.
        sizes: how many samples the source and the target have.
        statistics: what ``batch_norm="auto"`` stands for with these data.
    """
    recipe = {
        name: value
        for name, value in (find_recipe(config.recipe, kind) if config.recipe else {}).items()
        if only_for.get(name, kind) == kind
    }
    candidates = (config.backbone, recipe.pop("backbone", None), usual("auto")["backbone"])
    backbone = next((name for name in candidates if name not in (None, "auto")), "auto")
    usual_values = {**ALWAYS, **usual(backbone), "backbone": backbone}
    least_steps = usual_values.pop("least_steps", 1)
    _refuse_foreign(config, kind, usual_values, only_for)

    weight, option = (
        {**_of_terms(recipe.pop(name, {}), method), **getattr(config, name)} for name in ("weight", "option")
    )
    written = {name: getattr(config, name) for name in (*usual_values, "steps_per_epoch") if name != "backbone"}
    decided = {**method.defaults, **recipe, **{name: value for name, value in written.items() if value is not None}}
    values = {**usual_values, **decided}
    if values["warmup_epochs"] == "auto" and values["epochs"] < SHORT:
        values["warmup_epochs"] = 0.0
    if values["batch_norm"] == "auto":
        values["batch_norm"] = statistics()
    values |= _counts(values, decided.get("batch_size"), sizes, least_steps)
    if values["warmup_epochs"] not in (0, "auto") and values["warmup_epochs"] >= values["epochs"]:
        raise ValueError(
            f"warmup_epochs={values['warmup_epochs']:g} leaves none of the {values['epochs']} epochs to adapt in: "
            "lower it."
        )
    data = {**{name: _from_anywhere(getattr(config, name)) for name in OF_THE_DATA}, "task": config.task_name}
    values["weights"] = _from_anywhere(values["weights"])
    settings = Settings(
        data=data, method=config.method, recipe=config.recipe or "", weight=weight, option=option, **values
    )
    return settings, adjusted(method, weight, option)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


def _from_anywhere(value: Any) -> Any:
    """A path that leads to the same file from any working directory; other values as they are."""
    if isinstance(value, Path):
        return value.absolute()
    return str(Path(value).absolute()) if isinstance(value, str) and _is_file(value) else value


def _is_file(text: str) -> bool:
    """Whether a text names a file; a column may have any name."""
    return bool(Path(text).suffix) and Path(text).is_file()


def _or_usual(name: str, value: Any) -> Any:
    return ALWAYS.get(name, "") if value is None else value


def _refuse_foreign(config: Config, kind: str, usual: Mapping[str, Any], only_for: Mapping[str, str]) -> None:
    for name, needed in only_for.items():
        if kind != needed and getattr(config, name) not in (None, usual[name]):
            raise ValueError(f"{name}= is for {needed}, but the data are {kind}: leave it out.")


def _of_terms(settings: Mapping[str, Any], method: Method) -> dict[str, Any]:
    """A recipe's weights or options for those terms that the method has."""
    terms = {part.name for part in method.terms}
    return {name: value for name, value in settings.items() if name.partition(".")[0] in terms}


def _counts(
    values: Mapping[str, Any], demanded: int | None, sizes: tuple[int, int], least_steps: int
) -> dict[str, int]:
    """Samples in a batch and steps in an epoch, which follow from the sizes of the domains."""
    smaller, larger = sorted(sizes)
    name = "source" if sizes[0] <= sizes[1] else "target"
    if smaller < 2:
        raise ValueError(f"The {name} has one sample only: a batch needs at least two.")
    if demanded is not None and demanded > smaller:
        raise ValueError(
            f"The batch size of {demanded} is larger than the {name} ({smaller} samples): "
            f"choose batch_size= of at most {smaller}."
        )
    batch_size = min(values["batch_size"], smaller)
    steps = values.get("steps_per_epoch", max(least_steps, larger // batch_size))
    return {"batch_size": batch_size, "steps_per_epoch": steps}
