"""What the user wrote comes first, then the recipe, then the method, then the kind of data."""

import pytest
import torch

from cst.config import Config, config_from
from cst.config.recipes import RECIPES
from cst.data.domain import Domain, RowNames
from cst.data.task import Task
from cst.engine.setup import settle
from cst.grammar import adjusted, parse_method


def task(kind):
    """As many samples of a kind as no recipe's batch is larger than."""
    domain = Domain(kind, range(640), RowNames(640))
    return Task("some", domain, torch.zeros(640), domain, ("a",))


def filled(kind, **values):
    return settle(Config(**values), task(kind))[0]


def test_each_kind_has_its_own_defaults():
    arrays, images, small, text = (
        filled("arrays"),
        filled("images", device="cuda"),
        filled("images", backbone="cnn"),
        filled("text"),
    )
    assert (arrays.backbone, arrays.lr, arrays.epochs, arrays.augment) == ("auto", 0.02, 20, "none")
    assert (images.backbone, images.lr, images.backbone_lr, images.image_size) == ("efficientnet-lite0", 0.01, 0.1, 224)
    assert (small.lr, small.backbone_lr, small.image_size, small.augment) == (0.02, 1.0, 32, "mild")
    assert (text.backbone, text.lr, text.optimizer, text.epochs) == ("minilm", 1e-3, "adamw", 3)


def test_photos_are_adapted_the_quick_way_on_a_cpu_unless_somebody_says_otherwise():
    def way(**values):
        settings = filled("images", **{"device": "cpu", **values})
        return settings.freeze, settings.augment, settings.image_size

    quick, whole = (12, "none", 160), (0, "mild", 224)
    assert way() == quick
    assert way(image_size=96) == (12, "none", 96)
    assert way(backbone="resnet50") == (14, "none", 160)
    assert way(device="cuda") == whole
    assert way(augment="mild") == way(freeze=0) == whole
    assert way(method="sentry") == way(method="vat") == whole  # they change the inputs themselves
    assert way(method="fixmatch") == quick  # from views that are made once
    assert way(backbone="cnn") == (0, "mild", 32)
    assert way(weights="none") == whole
    assert way(recipe="paper/office-home") == whole
    assert settle(Config(device="cpu"), task("images"), custom=True)[0].freeze == 0


def test_precedence():
    settings = filled("images", method="cst-official", recipe="official/visda", lr=0.5, weight={"cycle": 7})
    assert settings.lr == 0.5
    assert (settings.backbone, settings.epochs, settings.steps_per_epoch) == ("resnet101", 12, 1000)
    assert settings.bottleneck == 256
    method = adjusted(parse_method("cst-official"), settings.weight, settings.option)
    weights = {part.name: part.weight for part in method.terms}
    assert weights == {"source": 1.0, "cycle": 7.0, "confusion": pytest.approx(0.96), "fixmatch": 0.5}
    assert filled("images", method="cst-official").bottleneck == 256
    assert filled("images", method="cst", recipe="official/visda").weight == {"cycle": 2}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_makes_a_configuration_and_filling_twice_changes_nothing(name):
    kind = "text" if "sentiment" in name or "reviews" in name else "images"
    for method in ("cst", "cst-official", "source-only"):
        once = filled(kind, recipe=name, method=method)
        assert settle(config_from(once.to_dict()), task(kind))[0] == once
        adjusted(parse_method(method), once.weight, once.option)


def test_the_papers_values():
    home = filled("images", recipe="paper/office-home")
    assert (home.backbone, home.lr, home.epochs, home.schedule) == ("resnet50", 2e-3, 150, "step")
    sentiment = filled("text", recipe="paper/sentiment")
    assert (sentiment.backbone, sentiment.lr, sentiment.optimizer) == ("hf:bert-base-uncased", 5e-4, "sgd")
    assert (sentiment.warmup_epochs, sentiment.ramp_epochs, sentiment.feature_norm) == (0, 0, False)
    assert home.batch_norm == sentiment.batch_norm == "joint"
    assert filled("images", recipe="paper/digits", batch_norm="per-domain").batch_norm == "per-domain"


def test_views_of_the_published_code():
    assert filled("images", recipe="official/office-home", method="cst-official").augment == "mild/flip"
    assert filled("images", recipe="official/visda", method="cst-official").augment == "flip"


@pytest.mark.parametrize(
    ("kind", "recipe"), [("text", "cst/digits"), ("images", "cst/reviews"), ("arrays", "paper/sentiment")]
)
def test_a_recipe_for_data_of_another_kind_is_refused(kind, recipe):
    with pytest.raises(ValueError, match=f"Recipe '{recipe}' is for .*, but the data are {kind}"):
        filled(kind, recipe=recipe)
