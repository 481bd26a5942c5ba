"""What the user wrote is completed once, and what comes out is complete."""

import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from cst.api import adapt
from cst.config import Config, Settings, config_from, load_config
from cst.config.recipes import RECIPES
from cst.data.domain import Domain, RowNames
from cst.data.task import Task
from cst.engine.setup import settle

METHODS = ("cst", "cst-official", "source-only", "mdd+ia", "cycle(l2=0.5)+tsallis(alpha=1.5)+sam", "mean-teacher")


def task(kind, source=640, target=700):
    domains = [Domain(kind, range(count), RowNames(count)) for count in (source, target)]
    return Task("some", domains[0], torch.zeros(source), domains[1], ("a",))


def kind_of(recipe):
    return "text" if recipe in ("paper/sentiment", "cst/reviews") else "images"


HERE = Path(__file__).parent
CASES = [(kind_of(recipe), {"recipe": recipe}) for recipe in RECIPES]
CASES += [("arrays", {"recipe": "cst/digits"}), ("arrays", {}), ("images", {"backbone": "cnn"}), ("text", {})]
CASES += [
    ("arrays", {"lr": 0.5, "weight": {"source": 2}, "option": {}, "batch_size": 7, "steps_per_epoch": 3}),
    ("arrays", {"source": HERE / "a.npz", "target": HERE / "b.npz", "label": "y", "weights": "none", "freeze": 0}),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("kind", "written"), CASES, ids=str)
def test_resolving_twice_changes_nothing(kind, written, method, tmp_path):
    once, first = settle(Config(method=method, **written), task(kind))
    twice, second = settle(config_from(once.to_dict()), task(kind))
    assert twice == once
    assert second == first
    assert twice.to_dict() == once.to_dict()
    once.save(tmp_path / "config.yaml")
    assert Settings.load(tmp_path / "config.yaml") == once
    assert settle(load_config(tmp_path / "config.yaml"), task(kind)) == (once, first)
    assert not once.differences(twice)


@pytest.mark.parametrize(("kind", "written"), CASES, ids=str)
def test_nothing_is_left_open(kind, written):
    settings, _ = settle(Config(**written), task(kind))
    values = {item.name: getattr(settings, item.name) for item in dataclasses.fields(settings)}
    assert [name for name, value in values.items() if value is None] == []
    assert settings.steps_per_epoch > 0
    assert settings.backbone != "auto" or kind == "arrays"
    for name, value in written.items():
        assert settings.data.get(name, values.get(name)) == value, "what the user wrote holds"


def test_what_the_user_wrote_is_not_touched():
    config = Config(weight=["cycle=2"], recipe="cst/digits")
    before = dataclasses.asdict(config)
    settings, _ = settle(config, task("arrays"))
    assert dataclasses.asdict(config) == before
    assert (config.lr, settings.lr) == (None, 1e-3)


@pytest.mark.parametrize(
    ("weight", "option"),
    [
        ({"cycle": 2, "tsallis": 0.5}, {"cycle.l2": 0.01, "cycle.normalize": True}),
        (["cycle=2", "tsallis=0.5"], ["cycle.l2=1e-2", "cycle.normalize=true"]),
        (["cycle=2,tsallis=0.5"], "cycle.l2=0.01, cycle.normalize=true"),
        (("cycle=2", "tsallis=.5"), ("cycle.l2=0.01,cycle.normalize=True",)),
    ],
    ids=str,
)
def test_weights_and_options_are_mappings_however_they_are_written(weight, option, tmp_path):
    config = Config(weight=weight, option=option)
    settings, method = settle(config, task("arrays"))
    for found in (config, settings):
        assert isinstance(found.weight, Mapping)
        assert isinstance(found.option, Mapping)
        assert found.weight == {"cycle": 2, "tsallis": 0.5}
        assert found.option == {"cycle.l2": 0.01, "cycle.normalize": True}
    settings.save(tmp_path / "config.yaml")
    kept = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert (kept["weight"], kept["option"]) == (settings.weight, settings.option)
    parts = {part.name: part for part in method.terms}
    assert (parts["cycle"].weight, parts["tsallis"].weight) == (2, 0.5)
    assert parts["cycle"].options == {"l2": 0.01, "normalize": True}


def test_every_option_of_a_run_is_a_setting_or_of_the_machine():
    from cst.config.options import OF_THE_MACHINE
    from cst.config.settings import OF_THE_DATA

    settings = {item.name for item in dataclasses.fields(Settings)} - {"data"}
    assert settings | set(OF_THE_DATA) | set(OF_THE_MACHINE) == {item.name for item in dataclasses.fields(Config)}
    assert not settings & {*OF_THE_DATA, *OF_THE_MACHINE}


@pytest.fixture
def counted(monkeypatch):
    """How often configurations are made, and methods parsed and settings resolved, until the first step is taken."""
    counts = dict.fromkeys(("Config", "Settings", "parse_method", "resolve", "steps"), 0)

    def counting(name, function):
        def call(*arguments, **options):
            counts[name] += not counts["steps"]
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(Config, "__post_init__", counting("Config", Config.__post_init__))
    monkeypatch.setattr(Settings, "__init__", counting("Settings", Settings.__init__))
    for name, home in (("parse_method", "cst.grammar"), ("resolve", "cst.config.settings")):
        original = getattr(__import__(home, fromlist=[name]), name)
        call = counting(name, original)
        for module in list(sys.modules.values()):  # wherever it has been imported to
            if getattr(module, "__name__", "").startswith("cst") and vars(module).get(name) is original:
                monkeypatch.setattr(module, name, call)

    from cst.updates.sgd import Plain

    take = Plain.take

    def first(*arguments):
        counts["steps"] += 1
        return take(*arguments)

    monkeypatch.setattr(Plain, "take", first)
    return counts


ONCE = {"Config": 1, "Settings": 1, "parse_method": 1, "resolve": 1, "steps": 2}
SHORT = {"epochs": 1, "steps_per_epoch": 2, "batch_size": 16}


def test_adapt_makes_one_configuration_and_one_set_of_settings(counted, shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    adapt((source, labels), target, "cycle+tsallis", out=tmp_path / "run", weight=["cycle=2"], **SHORT)
    assert counted == ONCE


def test_adapt_of_paths_does_so_too(counted, shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    np.savez(tmp_path / "source.npz", x=source, y=labels)
    np.save(tmp_path / "target.npy", target)
    adapt(str(tmp_path / "source.npz"), tmp_path / "target.npy", "cycle+tsallis", **SHORT)
    assert counted == ONCE


@pytest.mark.parametrize("file", [False, True], ids=["flags", "file"])
def test_the_command_makes_one_configuration_and_one_set_of_settings(file, counted, cst, tmp_path):
    words = ["--method", "cycle+tsallis", "--epochs", 1, "--weight", "cycle=2", "--option", "cycle.l2=0.01"]
    if file:
        (tmp_path / "mine.yaml").write_text("lr: 0.5\nsteps_per_epoch: 3\nweight: {cycle: 3}\n")
        words += ["--config", tmp_path / "mine.yaml"]
    code, _, err = cst("train", *words, "--steps-per-epoch", 2, "--out", tmp_path / "run")
    assert code == 0, err
    assert counted == ONCE
    assert Settings.load(tmp_path / "run" / "config.yaml").weight == {"cycle": 2}


NAMES = (None, "auto", "cnn")


def test_the_users_backbone_comes_before_the_recipes():
    chosen = [settle(Config(recipe="cst/digits", backbone=name), task("arrays"))[0].backbone for name in NAMES]
    assert chosen == ["dtn", "dtn", "cnn"]


def test_a_run_of_format_6_goes_on_as_it_began(tmp_path):
    """What came later, slices and a bound of the gradient, is as it was then."""
    settings, _ = settle(Config(), task("arrays"))
    settings.save(tmp_path / "config.yaml")
    lines = (tmp_path / "config.yaml").read_text().splitlines()
    earlier = [line for line in lines if not line.startswith(("accumulate", "clip_gradient"))]
    assert len(earlier) == len(lines) - 2
    (tmp_path / "config.yaml").write_text("\n".join(earlier).replace("format: 7", "format: 6"))
    assert Settings.load(tmp_path / "config.yaml") == settings
