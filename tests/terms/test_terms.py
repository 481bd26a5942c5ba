from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from cst.functional import AlphaSelection, select_alpha, tsallis_entropy
from cst.grammar import make
from cst.methods import term
from cst.models.model import Model
from cst.terms.confusion import class_normalized_entropy
from cst.terms.contract import Batch, Epoch, Problem, Step


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Model(nn.Linear(5, 4), nn.Linear(4, 3))


@pytest.fixture
def step(model):
    torch.manual_seed(1)
    batch = Batch(
        source=torch.randn(8, 5),
        labels=torch.arange(8) % 3,
        target=torch.randn(8, 5),
        target_indices=torch.arange(4, 12),
        strong=torch.randn(8, 5),
    )
    return Step(model, batch, ("source", "target", "strong"))


class Whole:
    """A view of a whole domain whose logits are computed when somebody asks for them."""

    features = None

    def __init__(self, compute):
        self.compute = compute

    @property
    def logits(self):
        return self.compute()


def epoch(number, total=10, gathered=lambda: None, target_logits=lambda: None):
    network = SimpleNamespace()
    return Epoch(number, total, network, Whole(lambda: None), Whole(target_logits), gathered)


def ready(*parts):
    """The first of these terms, set up in the company of the others."""
    terms = {part.name: make(part) for part in parts}
    problem = Problem(num_classes=3, feature_dim=4, num_target=20, network=SimpleNamespace(), terms=terms)
    for made in terms.values():
        made.setup(problem)
    return terms[parts[0].name]


def test_source_is_cross_entropy(step):
    expected = F.nll_loss(step.source.logits.log_softmax(-1), step.labels)
    torch.testing.assert_close(ready(term("source"))(step), expected)


def test_entropy_is_gibbs(step):
    p = step.target.probs
    torch.testing.assert_close(ready(term("entropy"))(step), -(p * p.log()).sum(-1).mean())


class TestTsallis:
    def test_fixed_alpha(self, step):
        tsallis = ready(term("tsallis", alpha=1.7, balanced=False, temperature=1.0))
        tsallis.start_epoch(epoch(0, gathered=lambda: pytest.fail("a fixed alpha needs no features")))
        torch.testing.assert_close(tsallis(step), tsallis_entropy(step.target.probs, 1.7).mean())
        assert tsallis.metrics() == {"alpha": 1.7}

    def test_selects_alpha_at_each_epoch(self):
        torch.manual_seed(0)
        labels = torch.randint(3, (80,))
        source = F.one_hot(labels, 3).float() @ torch.randn(3, 4) * 3 + torch.randn(80, 4)
        target = source.roll(1, 0) + 0.5
        tsallis = ready(term("tsallis"))
        tsallis.start_epoch(epoch(0, gathered=lambda: (source, labels, target)))
        record = tsallis.metrics()
        losses = record["alpha_losses"]
        assert len(losses) == 11
        selection = select_alpha(
            *(source, labels, target, 3), iterations=5, balanced=True, temperature=2.5, max_samples=1000, every=4
        )
        assert record["alpha"] == pytest.approx(max(selection.alpha, 1.9))
        assert record["alpha_tied"] == (len(selection.tied) > 1)
        np.testing.assert_allclose(losses, selection.losses.numpy(), atol=1e-5)

    def test_alpha_goes_one_place_of_the_grid_an_epoch(self, monkeypatch):
        wishes = iter([1.0, 1.5, 2.0, 1.85])
        monkeypatch.setattr(
            "cst.terms.tsallis.select_alpha", lambda *_, **__: AlphaSelection(next(wishes), torch.zeros(11), (1.0,))
        )
        tsallis = ready(term("tsallis"))
        gathered = epoch(0, gathered=lambda: (torch.randn(9, 4), torch.zeros(9), torch.randn(9, 4)))
        alphas = []
        for _ in range(4):
            tsallis.start_epoch(gathered)
            alphas.append(tsallis.metrics()["alpha"])
        assert alphas == pytest.approx([1.9, 1.8, 1.9, 1.85])

    def test_selection_survives_a_checkpoint(self):
        first, second = (ready(term("tsallis")) for _ in range(2))
        first.alpha.fill_(1.3)
        second.load_state_dict(first.state_dict())
        assert second.metrics()["alpha"] == pytest.approx(1.3)

    def test_selection_fits_its_target_heads_as_cycle_does(self):
        cycle = term("cycle", l2=0.5, normalize=True, bias=True)
        assert ready(term("tsallis"), cycle).round_trip == {
            "l2": 0.5,
            "normalize": True,
            "bias": True,
            "centred": True,
            "relative": False,
        }
        assert ready(term("tsallis"), term("entropy")).round_trip == {}

    def test_alpha_must_be_a_number_or_auto(self):
        with pytest.raises(ValueError, match="alpha must be a number or 'auto'"):
            make(term("tsallis", alpha="best"))


class TestSelfTraining:
    def test_labels_once_and_keeps_the_labels(self, step):
        training = ready(term("self-training", start=0.5))
        training.start_epoch(epoch(4, target_logits=lambda: pytest.fail("too early")))
        assert float(training(step).detach()) == 0
        logits = torch.randn(20, 3)
        training.start_epoch(epoch(5, target_logits=lambda: logits))
        expected = F.cross_entropy(step.target.logits, logits.argmax(1)[4:12])
        torch.testing.assert_close(training(step), expected)
        training.start_epoch(epoch(6, target_logits=lambda: pytest.fail("the source model is frozen")))
        torch.testing.assert_close(training(step), expected)

    def test_goes_on_after_a_checkpoint(self, step):
        first, second = (ready(term("self-training", start=0.5)) for _ in range(2))
        first.start_epoch(epoch(5, target_logits=lambda: torch.randn(20, 3)))
        second.load_state_dict(first.state_dict())
        second.start_epoch(epoch(6, target_logits=lambda: pytest.fail("the source model is frozen")))
        torch.testing.assert_close(second(step), first(step))
        assert second(step) > 0

    def test_refreshes_if_asked_to(self):
        training = ready(term("self-training", start=0.0, refresh=True))
        for number in range(2):
            training.start_epoch(epoch(number, target_logits=lambda n=number: F.one_hot(torch.full((20,), n), 3)))
            assert (training.labels == number).all()


class TestFixMatch:
    def test_threshold_masks(self, step):
        probs = step.target.probs.detach()
        threshold = float(probs.amax(1).sort().values[4]) - 1e-6
        confident = probs.amax(1) >= threshold
        each = F.cross_entropy(step.strong.logits, probs.argmax(1), reduction="none")
        fixmatch = ready(term("fixmatch", threshold=threshold))
        torch.testing.assert_close(fixmatch(step), each[confident].sum() / 8)
        assert fixmatch.metrics() == {"fixmatch_share": 0.5}
        fixmatch(step)
        assert fixmatch.metrics() == {"fixmatch_share": 0.5}, "of all steps of the epoch"
        fixmatch.start_epoch(epoch(1))
        assert fixmatch.metrics() == {"fixmatch_share": 0.0}

    def test_the_plain_target_teaches_and_does_not_learn(self, model):
        plain, strong = torch.randn(8, 5, requires_grad=True), torch.randn(8, 5, requires_grad=True)
        batch = Batch(torch.randn(8, 5), torch.arange(8) % 3, plain, torch.arange(8), strong)
        ready(term("fixmatch", threshold=0.0))(Step(model, batch, ("source", "target", "strong"))).backward()
        assert plain.grad is None or plain.grad.abs().sum() == 0
        assert strong.grad.abs().sum() > 0


class TestConfusion:
    def test_is_k_times_minimum_class_confusion_at_two(self):
        """MCC written from its paper: reweighted class correlation, rows normalised, off-diagonal mean."""
        logits = torch.randn(30, 5, dtype=torch.float64)
        probs = (logits / 2.5).softmax(-1)
        entropy = -(probs * probs.log()).sum(-1)
        weight = 1 + torch.exp(-entropy)
        weight = 30 * weight / weight.sum()
        correlation = probs.T @ torch.diag(weight) @ probs
        correlation = correlation / correlation.sum(1, keepdim=True)
        mcc = (correlation.sum() - correlation.trace()) / 5
        entropy = class_normalized_entropy(logits, alpha=2.0, temperature=2.5)
        torch.testing.assert_close(entropy, 5 * mcc)

    def test_weights_carry_no_gradient(self):
        logits = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
        (gradient,) = torch.autograd.grad(class_normalized_entropy(logits, 1.9, 1.0), logits)
        probs = logits.detach().softmax(-1)
        weight = 1 + torch.exp(-tsallis_entropy(probs, 1.0))
        weight = (weight / weight.mean())[:, None]
        free = logits.detach().clone().requires_grad_()
        p = free.softmax(-1)
        loss = (3 - ((weight * p**1.9).sum(0) / (weight * p).sum(0)).sum()) / 0.9
        (expected,) = torch.autograd.grad(loss, free)
        torch.testing.assert_close(gradient, expected)

    def test_alpha_one_is_refused(self):
        with pytest.raises(ValueError, match="divides by zero"):
            make(term("confusion", alpha=1))


class TestStep:
    def test_a_batch_has_no_place_for_target_labels(self):
        names = set(Batch.__dataclass_fields__)
        assert names == {"source", "labels", "target", "target_indices", "strong", "augment"}

    def test_passes_are_shared(self, model):
        passes = []
        model.backbone.register_forward_hook(lambda *_: passes.append(1))
        batch = Batch(torch.randn(8, 5), torch.arange(8) % 3, torch.randn(8, 5), torch.arange(8))
        step = Step(model, batch)
        for name in ("source", "cycle", "entropy"):
            ready(term(name))(step)
        assert len(passes) == 1

    def test_strong_views_must_be_asked_for(self, model):
        batch = Batch(torch.randn(8, 5), torch.arange(8) % 3, torch.randn(8, 5), torch.arange(8))
        with pytest.raises(LookupError, match="strong"):
            _ = Step(model, batch).strong
