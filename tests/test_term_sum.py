import re
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from torch import nn

import cst
from cst.functional import cycle_loss, pseudo_labels, reverse_loss, tsallis_entropy
from cst.terms import TERMS
from cst.terms.cycle import Cycle
from cst.terms.example import example_step, loss_on_example


@pytest.fixture
def batch():
    step = example_step()
    views = (step.source.features, step.labels, step.target.features, step.target.logits, step.source.logits)
    return [view.detach() for view in views]


def made(method):
    torch.manual_seed(0)
    return cst.TermSum(method, num_classes=3, feature_dim=5)


def test_the_cycle_is_the_reverse_loss_of_the_pseudo_labels(batch):
    source, labels, target, logits, _ = batch
    expected = reverse_loss(source, labels, target, pseudo_labels(logits), 3, l2=0.1, normalize=True, centred=True)
    assert cycle_loss(source, labels, target, logits) == expected
    assert made("cycle")(source, labels, target, logits) == expected
    assert loss_on_example(Cycle()) == pytest.approx(float(expected), abs=1e-6)


def test_terms_are_added_with_their_weights(batch):
    source, labels, target, logits, _ = batch
    extra = made("cycle+afn+tsallis(alpha=1.5, balanced=false, temperature=1.0)")
    loss = extra(source, labels, target, logits)
    parts = extra.losses
    assert float(loss) == pytest.approx(float(parts["cycle"] + 0.05 * parts["afn"] + parts["tsallis"]), abs=1e-6)
    assert float(parts["tsallis"]) == pytest.approx(float(tsallis_entropy(logits.softmax(1), 1.5).mean()), abs=1e-6)


def test_gradients_reach_both_feature_sets_and_the_terms_own_parameters(batch):
    source, labels, target, logits, source_logits = batch
    extra = made("cycle+cdan")
    source.requires_grad_(), target.requires_grad_()
    extra(source, labels, target, logits, source_logits, progress=0.5).backward()
    leaves = [source, target, *extra.parameters()]
    assert len(leaves) > 2
    assert all(leaf.grad is not None and leaf.grad.abs().sum() > 0 for leaf in leaves)


def test_alpha_is_selected_between_epochs_one_place_at_a_time(batch):
    extra, head = made("cst"), nn.Linear(5, 3, bias=False)
    extra.start_epoch(head)  # nothing has been seen yet
    assert extra.metrics() == {"alpha": 2.0}
    for expected in (1.9, 1.8):
        extra(*batch)
        extra.start_epoch(head)
        assert extra.metrics()["alpha"] in (2.0, 1.9, expected)
        assert len(extra.metrics()["alpha_losses"]) == 11


def test_no_more_than_a_thousand_samples_are_kept():
    extra = made("cst")
    for _ in range(30):
        features = torch.randn(64, 5)
        extra(features, torch.arange(64) % 3, features, torch.randn(64, 3))
    source, labels, target = extra._gathered()
    assert len(source) == len(labels) == len(target) == 960


def test_the_page_of_loops_names_the_terms_that_fit():
    page = (Path(__file__).parents[1] / "docs" / "pytorch.md").read_text(encoding="utf-8")
    named = page.partition("<!-- terms for a loop -->")[2].partition("<!-- end -->")[0]
    fitting = []
    for name in TERMS:
        with suppress(ValueError):
            made([TERMS[name]()])
            fitting.append(name)
    assert re.findall("`(.*?)`", named) == fitting


@pytest.mark.parametrize(
    "method", ["self-training", "cbst", "vat", "fixmatch", "mixmatch", "mean-teacher", "refine", "cycle+source-vat"]
)
def test_terms_that_need_more_than_features_are_refused_beforehand(method):
    with pytest.raises(ValueError, match="reads more than features, logits and labels of a batch"):
        made(method)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("cst+sam", "asks for sam"),
        ("mdd+ia", "asks for ia"),
        ("auto", "trains several models"),
        ("source-only", "adds nothing"),
        ("cycel", "did you mean"),
    ],
)
def test_what_is_no_sum_of_terms_is_refused_in_a_sentence(method, says):
    with pytest.raises(ValueError, match=says):
        made(method)


def test_a_term_of_ones_own_may_take_part(batch):
    class Length(cst.Term):
        def forward(self, step):
            return step.target.features.square().mean()

    extra = made(["cycle", Length()])
    extra(*batch)
    assert extra.losses["Length"] == batch[2].square().mean()


def test_wrong_shapes_are_named(batch):
    source, labels, target, logits, _ = batch
    with pytest.raises(ValueError, match=r"source_features= must be \[N, 5\], got \(12, 4\)"):
        made("cycle")(source[:, :4], labels, target, logits)
    with pytest.raises(ValueError, match=r"target_logits= must be \[12, 3\], got \(11, 3\)"):
        made("cycle")(source, labels, target, logits[:11])
    with pytest.raises(ValueError, match="source_logits= is missing"):
        made("cdan")(source, labels, target, logits)
