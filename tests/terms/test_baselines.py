"""Each baseline's essential mechanism: what would fail if it were removed."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from cst.data.augmentations import strong
from cst.engine.objective import Objective
from cst.grammar import make, parse_method
from cst.methods import term
from cst.models.model import Model, Prototypes, head
from cst.terms.cbst import class_balanced_labels
from cst.terms.confusion import class_normalized_entropy
from cst.terms.contract import Batch, Epoch, Problem, Step
from cst.terms.mixmatch import sharpen
from cst.terms.reversal import reverse_gradient, warm_start
from cst.terms.rwot import separability, transport_plan
from cst.terms.vat import adversarial_direction, divergence, unit
from cst.updates.alternating import Alternating

N, INPUTS, FEATURES, CLASSES = 12, 5, 4, 3
SIZES = {"num_classes": CLASSES, "feature_dim": FEATURES, "num_target": 30}


def network(source_head=None):
    torch.manual_seed(0)
    return Model(nn.Sequential(nn.Linear(INPUTS, FEATURES), nn.Tanh()), source_head or nn.Linear(FEATURES, CLASSES))


def batch(seed=1, **fields):
    generator = torch.Generator().manual_seed(seed)
    source, target, second = (torch.randn(N, INPUTS, generator=generator) for _ in range(3))
    fields = {"source": source, "target": target, "strong": second, "augment": strong, **fields}
    return Batch(labels=torch.arange(N) % CLASSES, target_indices=torch.arange(N), **fields)


def step_of(model, progress=1.0, phase="all", **fields):
    return Step(model, batch(**fields), ("source", "target", "strong"), 5.0, progress, phase=phase)


UNUSED = network()


def ready(part, model=UNUSED):
    """The term, set up; those that copy nothing of the model do without one."""
    made = make(part)
    made.setup(Problem(**SIZES, network=model, terms={part.name: made}))
    return made


def objective_of(method, model):
    return Objective(parse_method(method), model, **SIZES)


def epoch(number, total=10, model=UNUSED, logits=None, gathered=lambda: None):
    whole = SimpleNamespace(features=None, logits=logits)
    return Epoch(number, total, model, whole, whole, gathered)


def gradients(loss, *tensors):
    return torch.autograd.grad(loss, tensors, allow_unused=True, retain_graph=True)


class TestMMD:
    def naive(self, kernel):
        """The unbiased estimate by three double loops."""
        within_s = np.mean([kernel(i, j) for i in range(N) for j in range(N) if i != j])
        within_t = np.mean([kernel(N + i, N + j) for i in range(N) for j in range(N) if i != j])
        across = np.mean([kernel(i, N + j) for i in range(N) for j in range(N)])
        return within_s + within_t - 2 * across

    def gaussians(self, rows, scales):
        mean = np.mean([((a - b) ** 2).sum() for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j])
        return lambda i, j: sum(math.exp(-((rows[i] - rows[j]) ** 2).sum() / (s * mean)) for s in scales)

    def test_dan_equals_the_naive_estimate(self):
        step = step_of(network())
        rows = torch.cat([step.source.features, step.target.features]).detach().numpy()
        expected = self.naive(self.gaussians(rows, (0.25, 0.5, 1, 2, 4)))
        assert float(ready(term("dan"))(step).detach()) == pytest.approx(expected, rel=1e-4)

    def test_jan_multiplies_the_kernels_of_features_and_predictions(self):
        step = step_of(network())
        features = torch.cat([step.source.features, step.target.features]).detach().numpy()
        probs = torch.cat([step.source.probs, step.target.probs]).detach().numpy()
        first = self.gaussians(features, (0.25, 0.5, 1, 2, 4))
        expected = self.naive(lambda i, j: first(i, j) * math.exp(-((probs[i] - probs[j]) ** 2).sum() / 1.68))
        assert float(ready(term("jan"))(step).detach()) == pytest.approx(expected, rel=1e-4)

    def test_is_near_zero_for_equal_domains_and_large_for_different_ones(self):
        torch.manual_seed(0)
        dan = ready(term("dan"))

        class Fixed:
            def __init__(self, shift):
                self.source, self.target = (type("V", (), {"features": torch.randn(200, 4) + s}) for s in (0, shift))

        assert abs(dan(Fixed(0.0))) < 0.1
        assert dan(Fixed(2.0)) > 1.5


class TestDANN:
    def test_the_backbone_ascends_what_the_discriminator_descends(self):
        model = network()
        dann = ready(term("dann"))
        for progress in (0.1, 0.5, 1.0):
            step = step_of(model, progress)
            reversed_gradient, of_discriminator = gradients(
                dann(step), step.source.features, dann.discriminator[0].weight
            )
            plain = dann.discriminator(torch.cat([step.source.features, step.target.features])).squeeze(1)
            loss = 0.5 * (F.softplus(-plain[:N]).mean() + F.softplus(plain[N:]).mean())
            gradient, expected = gradients(loss, step.source.features, dann.discriminator[0].weight)
            torch.testing.assert_close(reversed_gradient, -warm_start(progress) * gradient)
            torch.testing.assert_close(of_discriminator, expected)

    def test_schedule(self):
        assert warm_start(0.0) == 0
        assert warm_start(0.5) == pytest.approx(2 / (1 + math.exp(-5)) - 1)
        assert warm_start(1.0) > 0.999

    def test_reversal(self):
        x = torch.ones(3, requires_grad=True)
        (2 * reverse_gradient(x, 0.5)).sum().backward()
        assert x.grad.tolist() == [-1, -1, -1]


class TestCDAN:
    def test_conditions_on_softmax_outputs(self):
        cdan = ready(term("cdan"))
        features, probs = torch.randn(2, FEATURES), torch.rand(2, CLASSES).softmax(-1)
        joint = cdan.condition(features, probs)
        torch.testing.assert_close(joint[1], torch.outer(features[1], probs[1]).flatten())
        model = network()
        before = cdan(step_of(model))
        with torch.no_grad():
            model.head.bias.add_(torch.tensor([5.0, 0.0, -5.0]))
        assert cdan(step_of(model)) != before, "other predictions, same features"

    def test_predictions_get_no_gradient(self):
        model = network()
        assert gradients(ready(term("cdan"))(step_of(model)), model.head.weight) == (None,)

    def test_large_products_are_randomised_and_keep_inner_products(self):
        torch.manual_seed(0)
        cdan = ready(term("cdan", limit=5, width=20000))
        f, g = torch.randn(2, FEATURES), torch.rand(2, CLASSES)
        joint = cdan.condition(f, g)
        assert joint.shape == (2, 20000)
        assert float(joint[0] @ joint[1]) == pytest.approx(float((f[0] @ f[1]) * (g[0] @ g[1])), abs=0.15)

    def test_entropy_weights_certain_samples_more(self):
        torch.manual_seed(0)
        weighted, plain = (ready(term("cdan", entropy=e)) for e in (True, False))
        with torch.no_grad():
            plain.discriminator[-1].weight.mul_(100)  # a fresh discriminator says the same of every sample
        weighted.load_state_dict(plain.state_dict())
        model = network()
        with torch.no_grad():
            model.head.weight.mul_(20)
        step = step_of(model)
        expected = 0.0
        for view, truth in ((step.source, 1.0), (step.target, 0.0)):
            probs = view.probs.detach()
            weights = 1 + torch.exp((probs * probs.clamp_min(1e-30).log()).sum(-1))
            assert weights.argmax() == probs.amax(-1).argmax()
            logits = plain.discriminator(plain.condition(view.features, probs)).squeeze(1)
            losses = F.softplus(-logits if truth else logits)
            expected = expected + 0.5 * (losses * weights / weights.mean()).mean()
        torch.testing.assert_close(weighted(step), expected)
        assert not torch.isclose(plain(step), expected, rtol=1e-4)


def moving(method, model):
    """An objective and an alternating update that records which parameters moved in each phase."""
    torch.manual_seed(0)
    objective = objective_of(method, model)
    heads = [*model.head.parameters(), *objective.terms.parameters()]
    groups = [{"role": "backbone", "params": list(model.backbone.parameters())}, {"role": "heads", "params": heads}]
    optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9)
    moves = []
    plain_step = optimizer.step

    def recording(*arguments):
        before = [[p.clone() for p in group["params"]] for group in optimizer.param_groups]
        plain_step(*arguments)
        after = [group["params"] for group in optimizer.param_groups]
        moves.append(
            tuple(any(not torch.equal(a, b) for a, b in zip(*g, strict=True)) for g in zip(before, after, strict=True))
        )

    optimizer.step = recording
    return objective, Alternating(optimizer, lambda loss: loss.backward(), repeats=3), moves


class TestMCD:
    @pytest.mark.parametrize("method", ["mcd", "star"])
    def test_which_parameters_move_in_which_update(self, method):
        model = network()
        objective, update, moves = moving(method, model)
        for _ in range(2):  # the second time, momentum must not move what is frozen
            update.take(objective, step_of(model))
        both, heads, backbone = (True, True), (False, True), (True, False)
        assert moves == [both, heads, backbone, backbone, backbone] * 2

    def test_heads_raise_and_features_lower_the_discrepancy(self):
        model = network()
        mcd = ready(term("mcd"), model)
        heads = gradients(mcd(step_of(model, phase="heads")) - mcd.source_loss(step_of(model)), model.head.weight)
        rise = gradients(mcd.discrepancy(step_of(model)), model.head.weight)
        torch.testing.assert_close(heads[0], -rise[0])
        features = gradients(mcd(step_of(model, phase="features")), model.backbone[0].weight)
        expected = gradients(mcd.discrepancy(step_of(model)), model.backbone[0].weight)
        torch.testing.assert_close(features[0], expected[0])

    def test_the_two_heads_are_different(self):
        model = network()
        assert ready(term("mcd"), model).discrepancy(step_of(model)) > 0

    @pytest.mark.parametrize("statistics", ["joint", "per-domain"])
    def test_the_second_head_is_normalised_like_the_first(self, statistics):
        """A head that is the same, hidden layer and batch norm included, says the same."""
        torch.manual_seed(0)
        backbone = nn.Sequential(nn.Linear(INPUTS, FEATURES), nn.Tanh())
        model = Model(backbone, head(FEATURES, CLASSES, bottleneck=6), statistics)
        mcd = ready(term("mcd"), model)
        step = step_of(model, target=3 + batch().target)
        assert mcd.discrepancy(step) > 0
        mcd.second.load_state_dict(model.head.state_dict())
        for domain in ("source", "target"):
            first, second = mcd.outputs(step, domain)
            torch.testing.assert_close(first, second)

    @pytest.mark.parametrize("method", ["mcd", "star"])
    def test_heads_have_a_hidden_layer_as_their_authors_have_it(self, method):
        assert parse_method(method).defaults == {"bottleneck": 256}


class TestSTAR:
    def test_two_samples_differ_and_the_variance_learns(self):
        model = network()
        star = ready(term("star"), model)
        first, second = star.outputs(step_of(model), "target")
        assert not torch.allclose(first, second)
        mean_gradient, spread_gradient = gradients(star.discrepancy(step_of(model)), model.head.weight, star.spread)
        assert spread_gradient.abs().sum() > 0
        assert mean_gradient.abs().sum() > 0
        draws = torch.stack([star.draw(model)[0] for _ in range(4000)])
        torch.testing.assert_close(draws.mean(0), model.head.weight, rtol=0, atol=5e-3)
        torch.testing.assert_close(draws.std(0), F.softplus(star.spread), rtol=0.1, atol=0)

    def test_the_last_layer_of_a_deeper_head_is_drawn(self):
        model = network(head(FEATURES, CLASSES, bottleneck=6))
        star = ready(term("star"), model)
        assert star.spread.shape == (CLASSES, 6)
        with torch.no_grad():
            star.spread.fill_(-100.0)  # no variance: the drawn heads are the model's own
        step = step_of(model)
        for logits in star.outputs(step, "target"):
            torch.testing.assert_close(logits, step.target.logits)
        before = model.head[1].target.num_batches_tracked.clone()
        star.outputs(step, "target")
        assert model.head[1].target.num_batches_tracked == before, "the model's own pass has counted the batch"

    @pytest.mark.parametrize("bottleneck", [0, 6])
    def test_needs_a_linear_last_layer(self, bottleneck):
        with pytest.raises(ValueError, match="last layer is linear"):
            ready(term("star"), network(head(FEATURES, CLASSES, bottleneck, "prototype")))


class TestMDD:
    def parts(self, mdd, step):
        logits_s, logits_t = (mdd.adversary(v.features) for v in (step.source, step.target))
        source = F.cross_entropy(logits_s, step.source.logits.argmax(1))
        p = logits_t.softmax(-1).gather(1, step.target.logits.argmax(1, keepdim=True))
        return source, -torch.log1p(-p).mean()

    def test_margin_weights_the_source(self):
        model = network()
        for margin in (1.0, 4.0):
            mdd = ready(term("mdd", margin=margin), model)
            step = step_of(model)
            source, target = self.parts(mdd, step)
            torch.testing.assert_close(mdd(step), margin * source + target)

    def test_the_backbone_gets_the_reversed_gradient_and_the_source_head_none(self):
        model = network()
        mdd = ready(term("mdd", strength=0.3), model)
        step = step_of(model, progress=0.4)
        weights = (step.target.features, model.head.weight, mdd.adversary[-1].weight)
        of_features, head, of_adversary = gradients(mdd(step), *weights)
        source, target = self.parts(mdd, step)
        plain, _, expected = gradients(4 * source + target, *weights)
        torch.testing.assert_close(of_features, -0.3 * warm_start(0.4) * plain)
        torch.testing.assert_close(of_adversary, expected)
        assert head is None

    def test_absent_classes_are_masked(self):
        model = network()
        mdd = ready(term("mdd", present=True), model)
        data = batch()
        labels = torch.arange(N) % 2
        step = Step(model, Batch(data.source, labels, data.target, data.target_indices), progress=1.0)
        (gradient,) = gradients(mdd(step), mdd.adversary[-1].bias)
        assert gradient[2] == 0
        assert gradient[:2].abs().sum() > 0

    def test_certain_predictions_stay_finite(self):
        model = network()
        mdd = ready(term("mdd"), model)
        with torch.no_grad():
            mdd.adversary[-1].weight.mul_(1e4)
        assert torch.isfinite(mdd(step_of(model)))


class TestVAT:
    def test_power_iteration_finds_a_direction_worse_than_random(self):
        model = network()
        with torch.no_grad():
            model.head.weight.mul_(4)
        inputs = batch().target
        probs = model(inputs).softmax(-1).detach()
        torch.manual_seed(0)

        def effect(shift):
            return float(divergence(probs, model(inputs + shift)).detach())

        worst = effect(0.5 * adversarial_direction(lambda r: model(inputs + r), inputs, probs, 0.05, iterations=1))
        random = [effect(0.5 * unit(torch.randn_like(inputs))) for _ in range(50)]
        assert worst > max(random)

    def test_length_follows_the_scale_of_each_feature(self):
        """Rescaled inputs before a network that undoes it: the loss does not change."""
        scale = torch.tensor([1.0, 1e4, 1e-3, 5.0, 20.0])

        def loss(model, data):
            torch.manual_seed(0)
            return ready(term("vat"))(Step(model, data))

        plain, data = network(), batch()
        rescaled = network()
        with torch.no_grad():
            rescaled.backbone[0].weight.div_(scale)
        wide = batch(source=data.source * scale, target=data.target * scale)
        torch.testing.assert_close(loss(rescaled, wide), loss(plain, data), rtol=1e-3, atol=1e-6)

    def test_plain_and_perturbed_inputs_share_their_statistics(self):
        torch.manual_seed(0)
        backbone = nn.Sequential(nn.Linear(INPUTS, FEATURES), nn.BatchNorm1d(FEATURES))
        model = Model(backbone, nn.Linear(FEATURES, CLASSES), "joint").train()
        vat = ready(term("vat", radius=1e-6))
        assert vat(step_of(model, target=5 * batch().target)) < 1e-6

    def test_plain_and_perturbed_inputs_share_their_noise(self):
        torch.manual_seed(0)
        backbone = nn.Sequential(nn.Linear(INPUTS, FEATURES), nn.BatchNorm1d(FEATURES), nn.Dropout(0.5))
        model = Model(backbone, nn.Linear(FEATURES, CLASSES)).train()
        step = step_of(model, target=5 * batch().target)
        assert ready(term("vat", radius=1e-6))(step) < 1e-6
        assert all(part.training for part in model.modules())
        assert (model.features(step.target.inputs) == 0).any()  # there is noise again
        before = backbone[1].target.running_mean.clone()
        ready(term("vat"))(step)
        assert torch.equal(backbone[1].target.running_mean, before)

    @pytest.mark.parametrize("name", ["vat", "source-vat"])
    def test_reads_one_domain(self, name):
        model = network()

        def loss(**fields):
            torch.manual_seed(0)
            return ready(term(name))(step_of(model, **fields))

        own, other = ("source", "target") if name == "source-vat" else ("target", "source")
        assert loss(**{other: torch.zeros(N, INPUTS)}) == loss()
        assert loss(**{own: 3 * batch().source}) != loss()

    def test_gradient_reaches_the_model_and_not_the_labels(self):
        model = network()
        torch.manual_seed(0)
        loss = ready(term("vat"))(step_of(model))
        assert loss > 0
        assert gradients(loss, model.head.weight)[0].abs().sum() > 0


class TestMixMatch:
    def test_sharpening(self):
        probs = torch.tensor([[0.6, 0.3, 0.1]])
        torch.testing.assert_close(sharpen(probs, 0.5), probs**2 / (probs**2).sum())

    def test_mixes_inputs_and_labels_with_the_same_share(self, monkeypatch):
        """With a share of one nothing is mixed, and the loss is the plain one on guessed labels."""
        monkeypatch.setattr(torch.distributions.Beta, "sample", lambda self: torch.tensor(1.0))
        model = network()
        step = step_of(model, progress=1.0)
        loss = ready(term("mixmatch", consistency=10.0))(step)
        guess = sharpen((step.target.probs + step.strong.probs) / 2, 0.5).detach()
        errors = torch.stack([step.target.probs - guess, step.strong.probs - guess]).square().mean()
        torch.testing.assert_close(loss, F.cross_entropy(step.source.logits, step.labels) + 10 * errors)

    def test_stands_in_for_the_source_loss(self):
        model = network()
        assert set(objective_of("mixmatch", model)(step_of(model))) == {"mixmatch", "total"}


class TestCBST:
    def test_portions_are_the_same_in_every_class(self):
        generator = torch.Generator().manual_seed(0)
        logits = torch.randn(1000, CLASSES, generator=generator) + torch.tensor([2.0, 0.0, -1.0])
        probs = logits.softmax(-1)
        labels, predicted = class_balanced_labels(probs, 0.25), probs.argmax(-1)
        sizes = torch.bincount(predicted, minlength=CLASSES)
        assert sizes.max() > 4 * sizes.min()
        for c in range(CLASSES):
            labelled = (predicted == c) & (labels == c)
            assert float(labelled.sum()) == pytest.approx(0.25 * float(sizes[c]), abs=1)
            assert probs[labelled, c].min() >= probs[(predicted == c) & ~labelled, c].max()

    def test_rounds_label_a_growing_portion(self):
        cbst = ready(term("cbst", start=0.2, portion=0.2, growth=0.1, limit=0.5))
        portions = [cbst.portion_in(epoch(number)) for number in range(10)]
        assert portions == pytest.approx([0, 0, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5])
        model = network()
        assert cbst(step_of(model)) == 0
        logits = 5 * torch.randn(30, CLASSES)
        cbst.start_epoch(epoch(3, logits=logits))
        chosen = cbst.labels[:N] >= 0
        step = step_of(model)
        torch.testing.assert_close(cbst(step), F.cross_entropy(step.target.logits[chosen], cbst.labels[:N][chosen]))

    def test_kld_teaches_smoother_labels(self):
        """Its gradient is that of cross-entropy to the label mixed with the uniform distribution."""
        model = network()
        kld, cbst = ready(term("kld", smoothing=0.3)), ready(term("cbst"))
        for made in (kld, cbst):
            made.labels[:] = torch.arange(30) % CLASSES
        step = step_of(model)
        soft = (F.one_hot(kld.labels[:N], CLASSES) + 0.3 / CLASSES) / 1.3
        (expected,) = gradients(1.3 * F.cross_entropy(step.target.logits, soft), step.target.logits)
        torch.testing.assert_close(gradients(kld(step), step.target.logits)[0], expected)
        hard = F.one_hot(cbst.labels[:N], CLASSES).float()
        assert soft.amax(1).max() < hard.amax(1).min()


class TestRefine:
    def test_kl_to_a_teacher_that_lags_behind(self):
        model = network()
        refine = ready(term("refine", start=0.5, decay=0.9), model)
        assert refine(step_of(model)) == 0
        assert refine.replaces(step_of(model)) == ()
        with torch.no_grad():
            model.head.weight.add_(1.0)
        refine.start_epoch(epoch(5, model=model))
        assert refine.replaces(step_of(model)) == ("source", "source-vat", "dann")
        torch.testing.assert_close(refine.teacher.module.head.weight, model.head.weight)
        with torch.no_grad():
            model.head.weight.mul_(2.0)
        teacher = refine.teacher.probs(batch().target)
        p = step_of(model).target.probs
        expected = (teacher * (teacher.log() - p.log())).sum(-1).mean()
        torch.testing.assert_close(refine(step_of(model)), expected)
        before = float(expected.detach())
        for _ in range(30):
            refine.after_step(model)
        assert float(refine(step_of(model)).detach()) < 0.2 * before

    def test_the_source_is_no_longer_asked(self):
        model = network()
        objective = objective_of("dirt-t", model)

        def total(source):
            torch.manual_seed(0)
            losses = objective(step_of(model, source=source))
            return set(losses), float(losses["total"].detach())

        some, other = batch().source, 2 * batch().source
        assert total(some)[1] != total(other)[1]
        objective.terms["refine"].start_epoch(epoch(9, model=model))
        assert total(some)[0] == {"vat", "entropy", "refine", "total"}
        assert total(some)[1] == total(other)[1]

    def test_goes_on_after_a_checkpoint(self):
        model = network()
        first, second = (ready(term("refine", start=0.5), model) for _ in range(2))
        first.start_epoch(epoch(4, model=model))
        assert not first.refining
        first.start_epoch(epoch(5, model=model))
        second.load_state_dict(first.state_dict())
        with torch.no_grad():
            model.head.weight.mul_(2.0)
        second.start_epoch(epoch(6, model=model))
        assert second.replaces(step_of(model)) == ("source", "source-vat", "dann")
        assert second(step_of(model)) > 0, "the teacher is the model as it was, and does not jump again"


class TestAFN:
    def test_norms_grow_by_the_step(self):
        model = network()
        afn = ready(term("afn", step=0.7))
        step = step_of(model)
        for view in (step.source, step.target):
            (gradient,) = gradients(afn(step), view.features)
            moved = view.features - 0.5 * N * gradient
            torch.testing.assert_close(moved.norm(dim=1), view.features.norm(dim=1) + 0.7)


class TestSentry:
    def test_consistency_decides_the_sign(self):
        model = network()

        def some_change(inputs):
            """The first half looks as before; the second half looks like its opposite."""
            return torch.cat([inputs[: N // 2], -inputs[N // 2 :]])

        data = batch(augment=some_change)
        step = Step(model, data)
        plain, changed = model(data.target).argmax(1), model(some_change(data.target)).argmax(1)
        consistent = plain == changed
        assert consistent.any()
        assert (~consistent).any()
        sentry = ready(term("sentry", diversity=0.0))
        probs = model(some_change(data.target)).softmax(-1)
        entropy = -(probs * probs.log()).sum(-1)
        expected = (entropy[consistent].sum() - entropy[~consistent].sum()) / N
        torch.testing.assert_close(sentry(step), expected)
        share = {"consistent_share": round(float(consistent.float().mean()), 4)}
        assert sentry.metrics() == share
        sentry(step)
        assert sentry.metrics() == share, "of all steps of the epoch"
        sentry.start_epoch(epoch(1))
        assert sentry.metrics() == {"consistent_share": 0.0}

    def test_diversity_moves_away_from_crowded_classes(self):
        model = network()
        sentry = ready(term("sentry", diversity=1.0, committee=1))
        sentry.recent[:] = 0
        step = step_of(model, augment=lambda x: x)
        gathering = sentry._gathering(step.target.probs, torch.zeros(N, dtype=torch.long))
        (gradient,) = gradients(gathering, step.target.logits)
        assert (gradient[:, 0] > 0).all()


class TestCOAL:
    def test_prototypes_raise_and_features_lower_the_entropy(self):
        model = network(Prototypes(FEATURES, CLASSES))
        coal = ready(term("coal", minimax=0.1))
        step = step_of(model)
        prototypes, features = gradients(coal(step), model.head.weight, step.target.features)
        p = model.head(step.target.features).softmax(-1)
        entropy = -(p * p.log()).sum(-1).mean()
        rise, spread = gradients(entropy, model.head.weight, step.target.features)
        torch.testing.assert_close(prototypes, -0.1 * rise)
        torch.testing.assert_close(features, 0.1 * spread)

    def test_prototypes_compare_by_similarity(self):
        head = Prototypes(FEATURES, CLASSES, temperature=0.05)
        z = torch.randn(2, FEATURES)
        torch.testing.assert_close(head(z), head(10 * z))
        torch.testing.assert_close(head(z)[0, 1], head.weight[1] @ z[0] / z[0].norm() / 0.05)


class TestRWOT:
    def test_plan_has_uniform_marginals_and_least_cost(self):
        cost = torch.rand(6, 9)
        plan = transport_plan(cost)
        torch.testing.assert_close(plan.sum(1), torch.full((6,), 1 / 6))
        torch.testing.assert_close(plan.sum(0), torch.full((9,), 1 / 9))
        assert (plan * cost).sum() < cost.mean()

    def test_reliable_samples_are_transported_to_their_class(self):
        truth = torch.arange(N) % CLASSES
        centres = 4 * torch.eye(CLASSES, FEATURES)
        rwot = ready(term("rwot"))
        reliable = rwot.reliability(centres[truth], 5 * F.one_hot(truth, CLASSES).float(), centres, 1.0)
        torch.testing.assert_close(reliable.sum(1), torch.ones(N))
        assert (reliable.argmax(1) == truth).all()
        cost = torch.cdist(centres[truth], centres[truth]).square() * (1 - reliable[:, truth].T)
        same = truth.unsqueeze(1) == truth.unsqueeze(0)
        assert float(transport_plan(cost)[same].sum()) == pytest.approx(1)

    def test_distance_of_domains_shifts_the_trust(self):
        torch.manual_seed(0)
        assert separability(torch.randn(60, 3), torch.randn(60, 3) + 8) == 2
        assert separability(torch.randn(300, 3), torch.randn(300, 3)) < 0.5
        rwot = ready(term("rwot"))
        features, logits = torch.randn(N, FEATURES), torch.randn(N, CLASSES)
        rwot.distance.fill_(0)
        torch.testing.assert_close(rwot.reliability(features, logits, torch.eye(3, 4), 1.0), logits.softmax(-1))

    def test_gradient_reaches_both_domains(self):
        model = network()
        rwot = ready(term("rwot"), model)
        step = step_of(model)
        assert all(g.abs().sum() > 0 for g in gradients(rwot(step), step.source.features, step.target.features))


def test_mcc_is_the_published_entropy_at_two_over_k():
    step = step_of(network())
    expected = class_normalized_entropy(step.target.logits, 2.0, 2.5) / CLASSES
    torch.testing.assert_close(ready(term("mcc"))(step), expected)


class TestMeanTeacher:
    def test_the_teacher_lags(self):
        model = network()
        teacher = ready(term("mean-teacher", decay=0.9), model).teacher
        for _ in range(100):
            teacher.follow(model)
        start = model.head.weight.detach().clone()
        with torch.no_grad():
            model.head.weight.add_(1.0)
        teacher.follow(model)
        torch.testing.assert_close(teacher.module.head.weight, start + 0.1)

    def test_shared_parameters_move_once(self):
        torch.manual_seed(0)
        model = Model(
            nn.Sequential(nn.Linear(INPUTS, FEATURES), nn.BatchNorm1d(FEATURES)), nn.Linear(FEATURES, CLASSES)
        )
        teacher = ready(term("mean-teacher", decay=0.9), model).teacher
        teacher.n_averaged.fill_(101)
        with torch.no_grad():
            model.backbone[1].source.weight.add_(1.0)
        teacher.follow(model)
        torch.testing.assert_close(teacher.module.backbone[1].source.weight, torch.full((FEATURES,), 1.1))

    def test_the_start_is_soon_forgotten(self):
        model = network()
        teacher = ready(term("mean-teacher", decay=0.99), model).teacher
        with torch.no_grad():
            model.head.weight.add_(1.0)
        for _ in range(10):
            teacher.follow(model)
        assert (teacher.module.head.weight - model.head.weight).abs().max() < 0.1

    def test_a_jump_copies_everything_and_counts_as_a_step(self):
        torch.manual_seed(0)
        norm = nn.Sequential(nn.Linear(INPUTS, FEATURES), nn.BatchNorm1d(FEATURES))
        model = Model(norm, nn.Linear(FEATURES, CLASSES)).train()
        teacher = ready(term("mean-teacher", decay=0.9), model).teacher
        step_of(model).target.logits.sum().backward()  # moves the running statistics and their counter
        with torch.no_grad():
            model.head.bias.fill_(1.0)
        teacher.jump(model)
        assert all(torch.equal(value, model.state_dict()[key]) for key, value in teacher.module.state_dict().items())
        with torch.no_grad():
            model.head.bias.fill_(4.0)
        teacher.follow(model)  # the second step keeps two thirds
        torch.testing.assert_close(teacher.module.head.bias, torch.full((CLASSES,), 2.0))

    def test_only_confident_predictions_are_followed_and_the_teacher_gets_no_gradient(self):
        model = network()
        step = step_of(model)
        targets = step.target.probs.detach()
        threshold = float(targets.amax(1).median())
        confident = (targets.amax(1) >= threshold).float()
        made = ready(term("mean-teacher", threshold=threshold, balance=0.0), model)
        expected = ((step.strong.probs - targets).square().mean(1) * confident).mean()
        torch.testing.assert_close(made(step), expected)
        assert not any(p.requires_grad for p in made.parameters())

    def test_the_balance_counts_as_far_as_the_teacher_is_followed(self):
        model = network()
        step = step_of(model)
        targets = step.target.probs.detach()
        threshold = float(targets.amax(1).sort().values[N // 4])
        plain, balanced = (
            ready(term("mean-teacher", threshold=threshold, balance=balance), model)(step) for balance in (0.0, 0.2)
        )
        mean = step.strong.probs.mean(0)
        entropies = F.binary_cross_entropy(mean, torch.full_like(mean, 1 / CLASSES), reduction="sum")
        torch.testing.assert_close(balanced - plain, 0.2 * (1 - N // 4 / N) * entropies)
