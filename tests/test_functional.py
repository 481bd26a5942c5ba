import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import Ridge
from torch.autograd import gradcheck

from cst import functional
from cst.functional import (
    ALPHAS,
    margin,
    pseudo_labels,
    reverse_loss,
    ridge_head,
    select_alpha,
    total_variation,
    tsallis_entropy,
)
from cst.functional.alpha import _entropy_gradient, _heads_under_each_alpha, _least
from cst.functional.round_trip import _ridge_dual, _ridge_primal, mean_eigenvalue


def random_probs(n=50, k=7, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(n, k, generator=generator, dtype=torch.float64)).softmax(-1).to(dtype)


def definition(probs, alpha):
    """The formula as printed, in extended precision."""
    p = probs.double().numpy().astype(np.longdouble)
    p = p / p.sum(-1, keepdims=True)
    if alpha == 1:
        return -(p * np.log(p)).sum(-1).astype(float)
    return ((1 - (p ** np.longdouble(alpha)).sum(-1)) / (np.longdouble(alpha) - 1)).astype(float)


class TestTsallisEntropy:
    @pytest.mark.parametrize("alpha", [0.5, 1.0, 1.0001, 1.1, 1.5, 1.9, 2.0, 3.0])
    @pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 3e-6), (torch.float64, 1e-11)])
    def test_equals_the_definition(self, alpha, dtype, tolerance):
        probs = random_probs(dtype=dtype)
        found = tsallis_entropy(probs, alpha)
        assert found.dtype == dtype
        assert found.shape == (50,)
        np.testing.assert_allclose(found.numpy(), definition(probs, alpha), rtol=tolerance, atol=tolerance)

    def test_gini_at_two(self):
        probs = random_probs()
        torch.testing.assert_close(tsallis_entropy(probs, 2.0), 1 - probs.square().sum(-1), rtol=1e-13, atol=1e-13)

    @pytest.mark.parametrize("distance", [1e-12, 1e-9, 1e-6, 1e-4])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_is_continuous_at_one(self, distance, dtype):
        probs = random_probs(dtype=dtype)
        gibbs = tsallis_entropy(probs, 1.0)
        for alpha in (1 - distance, 1 + distance):
            near = tsallis_entropy(probs, alpha)
            torch.testing.assert_close(near, gibbs, rtol=10 * distance + 1e-6, atol=10 * distance + 1e-6)

    @pytest.mark.parametrize("alpha", [1.0, 1.0 + 1e-7, 1.1, 1.5, 2.0])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_certain_predictions_have_finite_values_and_gradients(self, alpha, dtype):
        probs = torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]], dtype=dtype, requires_grad=True)
        entropy = tsallis_entropy(probs, alpha)
        entropy.sum().backward()
        assert entropy[0] == 0
        assert torch.isfinite(entropy).all()
        assert torch.isfinite(probs.grad).all()

    @pytest.mark.parametrize("alpha", [1.0, 1.0003, 1.3, 2.0])
    def test_gradients(self, alpha):
        logits = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
        assert gradcheck(lambda x: tsallis_entropy(x.softmax(-1), alpha), logits)

    def test_alpha_may_be_a_tensor_with_a_gradient(self):
        probs = random_probs(n=6)
        alphas = torch.tensor([1.0, 1.2, 1.4, 1.6, 1.8, 2.0], dtype=torch.float64, requires_grad=True)
        found = tsallis_entropy(probs, alphas)
        one_by_one = torch.cat([tsallis_entropy(probs[i : i + 1], float(a)) for i, a in enumerate(alphas.detach())])
        torch.testing.assert_close(found, one_by_one)
        assert gradcheck(lambda a: tsallis_entropy(probs, a), alphas)


class TestRidgeHead:
    @pytest.mark.parametrize(("n", "d"), [(20, 60), (60, 20), (30, 30)])
    @pytest.mark.parametrize("l2", [1e-3, 1.0])
    @pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float64, 1e-8)])
    def test_equals_scikit_learn(self, n, d, l2, dtype, tolerance):
        random = np.random.default_rng(n + d)
        features, targets = random.normal(size=(n, d)), random.normal(size=(n, 4))
        expected = Ridge(alpha=l2, fit_intercept=False, solver="svd").fit(features, targets).coef_.T
        found = ridge_head(torch.tensor(features, dtype=dtype), torch.tensor(targets, dtype=dtype), l2)
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance)

    @pytest.mark.parametrize(("n", "d"), [(8, 50), (50, 8), (64, 128)])
    def test_dual_and_primal_agree(self, n, d):
        features = torch.randn(n, d, generator=torch.Generator().manual_seed(0)).relu().double()
        targets = F.one_hot(torch.arange(n) % 5, 5).double()
        dual, primal = _ridge_dual(features, targets, 1e-3), _ridge_primal(features, targets, 1e-3)
        assert (dual - primal).norm() / primal.norm() < 1e-5
        torch.testing.assert_close(ridge_head(features, targets, 1e-3), dual if n < d else primal)

    @pytest.mark.parametrize(("n", "d"), [(4, 6), (6, 4)])
    def test_gradients(self, n, d):
        features = torch.randn(n, d, dtype=torch.float64, requires_grad=True)
        targets = torch.randn(n, 3, dtype=torch.float64, requires_grad=True)
        assert gradcheck(lambda z, y: ridge_head(z, y, 0.1), (features, targets))

    def test_autocast_does_not_reach_it(self):
        features, targets = torch.randn(10, 30), torch.randn(10, 3)
        expected = ridge_head(features, targets, 1e-3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.testing.assert_close(ridge_head(features, targets, 1e-3), expected)
            half = ridge_head(features.bfloat16(), targets.bfloat16(), 1e-3)
        assert half.dtype == torch.float32

    def test_needs_a_ridge(self):
        with pytest.raises(ValueError, match="l2 must be positive"):
            ridge_head(torch.eye(2), torch.eye(2), 0.0)


def reverse_loss_in_numpy(zs, ys, zt, yt, k, l2, normalize, bias, centred):
    """An independent reverse step: augmented least squares instead of normal equations."""

    def design(z):
        z = z / np.linalg.norm(z, axis=1, keepdims=True) if normalize else z
        return np.hstack([z, np.ones((len(z), 1))]) if bias else z

    def wanted(y):
        return np.eye(k)[y] - (1 / k if centred else 0)

    zs, zt = design(zs), design(zt)
    stacked = np.vstack([zt, np.sqrt(l2) * np.eye(zt.shape[1])])
    right = np.vstack([wanted(yt), np.zeros((zt.shape[1], k))])
    head = np.linalg.lstsq(stacked, right, rcond=None)[0]
    return ((zs @ head - wanted(ys)) ** 2).mean()


class TestReverseLoss:
    @pytest.mark.parametrize("normalize", [False, True])
    @pytest.mark.parametrize("bias", [False, True])
    @pytest.mark.parametrize("centred", [False, True])
    @pytest.mark.parametrize(("nt", "d"), [(12, 30), (30, 12)])
    def test_equals_an_independent_solution(self, normalize, bias, centred, nt, d):
        random = np.random.default_rng(1)
        zs, zt = random.normal(size=(20, d)), random.normal(size=(nt, d))
        ys, yt = random.integers(4, size=20), random.integers(4, size=nt)
        expected = reverse_loss_in_numpy(zs, ys, zt, yt, 4, 1e-2, normalize, bias, centred)
        found = reverse_loss(
            *(torch.tensor(a) for a in (zs, ys, zt, yt)),
            4,
            1e-2,
            normalize=normalize,
            bias=bias,
            centred=centred,
        )
        assert found.shape == ()
        assert float(found) == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("options", [{}, {"normalize": True, "bias": True, "centred": True}])
    @pytest.mark.parametrize("nt", [4, 9])
    def test_gradients_reach_both_feature_sets(self, options, nt):
        zs = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
        zt = torch.randn(nt, 6, dtype=torch.float64, requires_grad=True)
        ys, yt = torch.arange(5) % 3, torch.arange(nt) % 3
        assert gradcheck(lambda a, b: reverse_loss(a, ys, b, yt, 3, 0.1, **options), (zs, zt))

    def test_source_head_gets_no_gradient(self):
        head = torch.nn.Linear(6, 3)
        zs, zt = torch.randn(8, 6, requires_grad=True), torch.randn(8, 6, requires_grad=True)
        labels = pseudo_labels(head(zt))
        assert not labels.requires_grad
        reverse_loss(zs, torch.arange(8) % 3, zt, labels, 3).backward()
        assert head.weight.grad is None
        assert zs.grad.abs().sum() > 0
        assert zt.grad.abs().sum() > 0

    def test_wrong_labels_do_not_survive_the_round_trip(self):
        random = np.random.default_rng(0)
        truth = torch.arange(60) % 3
        centres = torch.tensor(3 * random.normal(size=(3, 5)))
        zs, zt = (centres[truth] + torch.tensor(random.normal(size=(60, 5))) for _ in range(2))
        right = reverse_loss(zs, truth, zt, truth, 3)
        wrong = reverse_loss(zs, truth, zt, truth.roll(1), 3)
        assert wrong > 3 * right


def domains(n=200, d=8, k=3, shift=0.5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    centres = 1.5 * torch.randn(k, d, generator=generator)
    labels = torch.randint(k, (n,), generator=generator)
    target_truth = torch.randint(k, (n,), generator=generator)
    source = centres[labels] + torch.randn(n, d, generator=generator)
    target = centres[target_truth] + torch.randn(n, d, generator=generator) + shift
    return source, labels, target


class TestSelectAlpha:
    def test_one_batched_problem_equals_a_loop(self):
        source, labels, target = domains()
        alpha, losses, tied = select_alpha(source, labels, target, 3)
        loop = torch.cat([select_alpha(source, labels, target, 3, alphas=(a,)).losses for a in ALPHAS])
        torch.testing.assert_close(losses, loop, rtol=0, atol=1e-4)
        assert ALPHAS[int(loop.argmin())] in tied
        assert alpha in tied
        assert len(losses) == 11

    @pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
    def test_labels_and_loss_equal_scipys(self, alpha):
        """The whole round trip for one alpha, with L-BFGS in place of our descent."""
        source, labels, target = domains()
        zs, zt = (np.hstack([z.double().numpy(), np.ones((len(z), 1))]) for z in (source, target))

        def objective(flat):
            head = flat.reshape(zs.shape[1], 3)
            cross_entropy = -log_softmax(zs @ head, 1)[np.arange(len(zs)), labels].mean()
            p = softmax(zt @ head, 1)
            entropy = -(p * np.log(p)).sum(1) if alpha == 1 else (1 - (p**alpha).sum(1)) / (alpha - 1)
            return cross_entropy + entropy.mean() + 0.5e-3 * (flat**2).sum()

        def entropy(logits, alphas):
            return _entropy_gradient(logits, alphas, balanced=False, temperature=1.0)

        heads = _heads_under_each_alpha(source, labels, target, 3, (alpha,), entropy, None, 300, 1e-3, 1.0)
        ours = heads.double().numpy()
        from_zero, from_ours = (
            minimize(objective, start.ravel(), method="L-BFGS-B") for start in (np.zeros_like(ours), ours)
        )
        # The entropy is not convex. Ours is a minimum, where L-BFGS finds nothing to gain, and as low as its own.
        assert objective(ours.ravel()) == pytest.approx(from_ours.fun, rel=1e-3)
        assert objective(ours.ravel()) <= 1.02 * from_zero.fun
        expected = (zt @ from_ours.x.reshape(-1, 3)).argmax(1)
        assert ((zt @ ours).argmax(1) == expected).mean() >= 0.99
        loss = reverse_loss(source, labels, target, torch.tensor(expected), 3)
        selected = select_alpha(source, labels, target, 3, (alpha,), iterations=300).losses[0]
        assert float(selected) == pytest.approx(float(loss), rel=0.02)

    def test_few_steps_come_as_far_as_many_plain_ones(self):
        """Features of very different scale: what a step of one length for all of them cannot follow."""
        source, labels, target = domains()
        scale = torch.tensor([1.0, 30.0, 0.1] + [1.0] * (source.shape[1] - 3))
        few, many = (
            select_alpha(scale * source, labels, scale * target, 3, iterations=steps, weight_decay=1e-6).losses
            for steps in (20, 300)
        )
        torch.testing.assert_close(few, many, rtol=0.05, atol=0)

    @pytest.mark.parametrize("start", [False, True])
    def test_wide_features_are_judged_as_the_same_ones_in_few_dimensions(self, start):
        source, labels, target = domains(n=20)
        torch.manual_seed(0)
        d = source.shape[1]
        turned = torch.linalg.qr(torch.randn(90, d)).Q.mT  # [d, 90]: more than twenty samples of each domain span
        head = torch.randn(d + 1, 3)
        wide = torch.cat([turned.mT @ head[:-1], head[-1:]])
        plain = select_alpha(source, labels, target, 3, start=head if start else None)
        lifted = select_alpha(source @ turned, labels, target @ turned, 3, start=wide if start else None)
        torch.testing.assert_close(lifted.losses, plain.losses, rtol=0, atol=1e-4)

    def test_alphas_within_a_standard_error_are_tied_and_their_middle_is_taken(self):
        torch.manual_seed(0)
        common, noise = torch.randn(400, 1, dtype=torch.float64), torch.randn(400, 5, dtype=torch.float64)
        means = torch.tensor([0.3, 0.0, 0.001, 0.002, 0.3], dtype=torch.float64)
        noise = (noise - noise.mean(0)) / noise.std(0)
        alpha, losses, tied = _least(common + 0.1 * noise + means, (1.0, 1.25, 1.5, 1.75, 2.0))
        # The error of a difference of two is about 0.1 * sqrt(2 / 400) = 0.007, whatever they have in common.
        assert (alpha, tied) == (1.5, (1.25, 1.5, 1.75))
        assert int(losses.argmin()) == 1

    def test_repeats_under_a_seed(self):
        source, labels, target = domains()
        first, second = (select_alpha(source, labels, target, 3, max_samples=100, seed=5) for _ in range(2))
        other = select_alpha(source, labels, target, 3, max_samples=100, seed=6)
        assert first.alpha == second.alpha
        assert torch.equal(first.losses, second.losses)
        assert not torch.equal(first.losses, other.losses)

    def test_leaves_no_gradient_on_the_features(self):
        source, labels, target = domains(n=30)
        source.requires_grad_()
        assert not select_alpha(source, labels, target, 3, iterations=3).losses.requires_grad

    def test_needs_candidates(self):
        source, labels, target = domains(n=30)
        with pytest.raises(ValueError, match="alphas is empty"):
            select_alpha(source, labels, target, 3, alphas=())


def test_margin_is_largest_minus_second_largest():
    probs = random_probs()
    ordered = np.sort(probs.numpy(), axis=1)
    np.testing.assert_allclose(margin(probs).numpy(), ordered[:, -1] - ordered[:, -2])


def test_total_variation_bounds_the_error_of_labels():
    """Appendix C.1: the distance of the class shares is at most the share of wrong labels."""
    truth = torch.randint(5, (300,), generator=torch.Generator().manual_seed(0))
    labels = torch.where(torch.rand(300, generator=torch.Generator().manual_seed(1)) < 0.4, 0, truth)
    p, q = (torch.bincount(y, minlength=5) / 300 for y in (truth, labels))
    distance = total_variation(p, q)
    assert float(distance) == pytest.approx(float((p - q).clamp_min(0).sum()))
    assert 0 < distance <= (truth != labels).float().mean()


class TestBalancedTsallisEntropy:
    @pytest.mark.parametrize("alpha", [1.0, 1.3, 1.9, 2.0])
    def test_is_the_class_normalised_sum_of_its_definition(self, alpha):
        torch.manual_seed(0)
        probs = torch.randn(9, 4, dtype=torch.float64).softmax(-1)
        expected = 0.0
        for c in range(4):
            p = probs[:, c].numpy()
            terms = -p * np.log(p) if alpha == 1 else (p - p**alpha) / (alpha - 1)
            expected += terms.sum() / p.sum() / 4
        assert float(functional.balanced_tsallis_entropy(probs, alpha)) == pytest.approx(expected, rel=1e-10)

    def test_the_published_entropy_is_the_same_but_for_its_weights(self):
        """At equal certainty of all samples, K times it is the entropy of the published code."""
        from cst.terms.confusion import class_normalized_entropy

        logits = torch.tensor([[2.0, 0, 0], [0, 2, 0], [0, 0, 2], [2, 0, 0]], dtype=torch.float64)
        ours = 3 * functional.balanced_tsallis_entropy((logits / 2.5).softmax(-1), 1.9)
        assert float(ours) == pytest.approx(float(class_normalized_entropy(logits, 1.9, 2.5)), rel=1e-10)

    @pytest.mark.parametrize("balanced", [False, True])
    def test_gradient_in_closed_form_is_autograds(self, balanced):
        torch.manual_seed(0)
        alphas = torch.tensor([1.0, 1.5, 2.0], dtype=torch.float64)
        logits = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
        probs = (logits / 2).softmax(-1).transpose(0, 1)
        entropy = functional.balanced_tsallis_entropy if balanced else lambda p, a: tsallis_entropy(p, a).mean(-1)
        (expected,) = torch.autograd.grad(6 * entropy(probs, alphas[:, None]).sum(), logits)
        found = _entropy_gradient(logits.detach(), alphas[:, None], balanced=balanced, temperature=2.0)
        torch.testing.assert_close(found, expected)


def test_a_relative_ridge_means_the_same_at_every_scale():
    torch.manual_seed(0)
    source, target = torch.randn(30, 5), torch.randn(40, 5)
    labels, pseudo = torch.randint(3, (30,)), torch.randint(3, (40,))
    losses = [reverse_loss(c * source, labels, c * target, pseudo, 3, l2=0.1, relative=True) for c in (1.0, 100.0)]
    assert float(losses[0]) == pytest.approx(float(losses[1]), rel=1e-5)
    twice = reverse_loss(source, labels, target.repeat(2, 1), pseudo.repeat(2), 3, l2=0.1, relative=True)
    assert float(twice) == pytest.approx(float(losses[0]), rel=1e-5)  # as many samples again say nothing new
    eigenvalues = torch.linalg.eigvalsh(target.T @ target)
    assert mean_eigenvalue(target) == pytest.approx(float(eigenvalues.mean()), rel=1e-5)
