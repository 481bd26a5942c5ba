"""Validators against naive implementations, in loops or by scikit-learn; their invariances; what they can see."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from scipy.stats import entropy
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from cst import selection
from cst.selection import VALIDATORS, Mixed, Outputs, find_validator, scores
from cst.selection.density_ratio import RIDGES, density_ratio, logistic_head
from cst.selection.rows import evenly

CLASSES, WIDTH = 4, 10


def arrays(n=150, m=120, seed=0):
    """Two domains of four groups each, the second moved; logits by the distance to its own groups, with errors."""
    random = np.random.default_rng(seed)
    centres, move = 1.2 * random.normal(size=(CLASSES, WIDTH)), 0.4 * random.normal(size=WIDTH)
    labels, hidden = random.integers(CLASSES, size=n), random.integers(CLASSES, size=m)
    source = centres[labels] + random.normal(size=(n, WIDTH))
    target = centres[hidden] + move + random.normal(size=(m, WIDTH))

    def logits(z, middles):
        return -0.2 * ((z[:, None] - middles) ** 2).sum(-1) + 0.5 * random.normal(size=(len(z), CLASSES))

    partners = random.permutation(m)
    mixtures = 0.55 * target + 0.45 * target[partners]
    return {
        "source_features": source,
        "source_labels": labels,
        "source_logits": logits(source, centres),
        "target_features": target,
        "target_logits": logits(target, centres + move),
        "view_logits": logits(target, centres + move),
        "mixed": Mixed(torch.tensor(partners), 0.55, torch.tensor(logits(mixtures, centres + move))),
    }


def outputs(**changes):
    return Outputs(**{**arrays(), **changes})


def score(name, **changes):
    return VALIDATORS[name].score(outputs(**changes))


def naive_cycle(a, l2=0.1):
    z_s, z_t = normalize(a["source_features"]), normalize(a["target_features"])
    pseudo = np.eye(CLASSES)[a["target_logits"].argmax(1)] - 1 / CLASSES
    strength = l2 * len(z_t) / min(z_t.shape)
    head = Ridge(alpha=strength, fit_intercept=False, solver="svd").fit(z_t, pseudo)
    return accuracy_score(a["source_labels"], head.predict(z_s).argmax(1))


def naive_snd(a, temperature=0.05):
    p = normalize(softmax(a["target_logits"], axis=1))
    values = []
    for i in range(len(p)):
        similar = [p[i] @ p[j] / temperature for j in range(len(p)) if j != i]
        values.append(entropy(softmax(similar)))
    return np.mean(values)


def naive_confusion(a, temperature=2.5):
    """The matrix of confusions, sample by sample, its rows scaled to one."""
    p = softmax(a["target_logits"] / temperature, axis=1)
    worth = 1 + np.exp(-entropy(p, axis=1))
    worth = len(p) * worth / worth.sum()
    confusions = np.zeros((CLASSES, CLASSES))
    for i in range(len(p)):
        confusions += worth[i] * np.outer(p[i], p[i])
    confusions /= confusions.sum(1, keepdims=True)
    return -(confusions.sum() - np.trace(confusions)) / CLASSES


def naive_neighbours(a):
    search = NearestNeighbors(n_neighbors=5, metric="cosine").fit(a["source_features"])
    distances, places = search.kneighbors(a["target_features"])
    agreeing = 0
    for i, predicted in enumerate(a["target_logits"].argmax(1)):
        votes = {}
        for distance, place in zip(distances[i], places[i], strict=True):
            count, cosines = votes.get(a["source_labels"][place], (0, 0.0))
            votes[a["source_labels"][place]] = (count + 1, cosines + 1 - distance)
        agreeing += max(votes, key=votes.get) == predicted
    return agreeing / len(a["target_logits"])


def naive_ratio(source, target):
    """Scikit-learn's regression on whitened components, fitted on the other half, with its best ridge there."""
    both = np.concatenate([source, target])
    variances, directions = np.linalg.eigh(np.cov(both.T, bias=True))
    z_s, z_t = ((z - both.mean(0)) @ directions / np.sqrt(variances) for z in (source, target))

    def probabilities(ridge, side):
        """Of the target, for samples of one half of (source, target)."""
        z, y = np.concatenate([z_s[1 - side :: 2], z_t[1 - side :: 2]]), [0] * len(z_s[1 - side :: 2])
        y += [1] * len(z_t[1 - side :: 2])
        model = LogisticRegression(C=1 / (ridge * len(y)), tol=1e-10, max_iter=10_000).fit(z, y)
        return model.predict_proba(z_s[side::2])[:, 1], model.predict_proba(z_t[side::2])[:, 1]

    def risk(ridge):
        return sum(-np.log(1 - s).sum() - np.log(t).sum() for s, t in (probabilities(ridge, h) for h in (0, 1)))

    best, weights = min(RIDGES, key=risk), np.zeros(len(source))
    for side in (0, 1):
        p = probabilities(best, side)[0]
        weights[side::2] = len(z_s[1 - side :: 2]) / len(z_t[1 - side :: 2]) * p / (1 - p)
    return weights


def naive_weighted(a):
    w = naive_ratio(a["source_features"], a["target_features"])
    return np.average(a["source_logits"].argmax(1) == a["source_labels"], weights=w)


def naive_dev(a):
    w = naive_ratio(a["source_features"], a["target_features"])
    weighted = w * (a["source_logits"].argmax(1) != a["source_labels"])
    covariance = np.cov(weighted, w)
    eta = -covariance[0, 1] / covariance[1, 1]
    return -(weighted.mean() + eta * w.mean() - eta)


def naive_balance(a):
    pseudo = a["target_logits"].argmax(1)
    gaps = [abs(np.mean(pseudo == c) - np.mean(a["source_labels"] == c)) for c in range(CLASSES)]
    return -sum(gaps) / 2


def naive_mixval(a):
    pseudo, mixed = a["target_logits"].argmax(1), a["mixed"]
    right = {True: [], False: []}
    for i, (partner, row) in enumerate(zip(mixed.partners.numpy(), mixed.logits.numpy(), strict=True)):
        if partner != i:
            right[bool(pseudo[partner] == pseudo[i])].append(row.argmax() == pseudo[i])
    return (np.mean(right[True]) + np.mean(right[False])) / 2


def naive_nuclear(a):
    m = len(a["target_logits"])
    return np.linalg.norm(softmax(a["target_logits"], axis=1), ord="nuc") / math.sqrt(m * CLASSES)


def mean_entropy(a):
    return entropy(softmax(a["target_logits"], axis=1), axis=1).mean()


NAIVE = {
    "source-accuracy": lambda a: accuracy_score(a["source_labels"], a["source_logits"].argmax(1)),
    "cycle": naive_cycle,
    "certainty": lambda a: -mean_entropy(a),
    "information-maximisation": lambda a: entropy(softmax(a["target_logits"], axis=1).mean(0)) - mean_entropy(a),
    "bnm": naive_nuclear,
    "snd": naive_snd,
    "importance-weighting": naive_weighted,
    "dev": naive_dev,
    "class-confusion": naive_confusion,
    "nearest-source": naive_neighbours,
    "view-agreement": lambda a: np.mean(a["target_logits"].argmax(1) == a["view_logits"].argmax(1)),
    "balance": naive_balance,
    "mixval": naive_mixval,
}


def test_every_validator_has_a_naive_twin():
    assert set(NAIVE) == set(VALIDATORS)


@pytest.mark.parametrize("name", VALIDATORS)
class TestEveryValidator:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_equals_the_naive_implementation(self, name, seed):
        values = arrays(seed=seed)
        result = VALIDATORS[name].score(Outputs(**values))
        assert type(result) is float
        assert result == pytest.approx(NAIVE[name](values), rel=1e-4, abs=1e-6)
        assert result not in (0.0, 1.0)  # an example on which anything agrees would test nothing

    def test_numpy_and_torch_and_half_the_precision_are_the_same(self, name):
        values = arrays()
        tensors = {key: value if key == "mixed" else torch.tensor(value) for key, value in values.items()}
        assert VALIDATORS[name].score(Outputs(**tensors)) == score(name)
        single = {
            key: value.float() if key not in ("mixed", "source_labels") else value for key, value in tensors.items()
        }
        single["source_labels"] = tensors["source_labels"].int()
        assert VALIDATORS[name].score(Outputs(**single)) == pytest.approx(score(name), rel=1e-3)

    def test_the_order_of_samples_does_not_matter(self, name):
        """Of those of a half: two density ratios are fitted, each on every other sample."""
        values, random = arrays(), np.random.default_rng(1)

        def order(count):
            places = np.arange(count)
            for side in (0, 1):
                places[side::2] = random.permutation(places[side::2])
            return places

        s, t = order(len(values["source_labels"])), order(len(values["target_logits"]))
        moved = {key: value[s if key.startswith("source") else t] for key, value in values.items() if key != "mixed"}
        new_place = np.argsort(t)
        mixed = values["mixed"]
        moved["mixed"] = Mixed(torch.tensor(new_place[mixed.partners.numpy()[t]]), 0.55, mixed.logits[t])
        assert VALIDATORS[name].score(Outputs(**moved)) == pytest.approx(score(name), rel=1e-6)

    def test_leaves_its_inputs_as_they_are_and_needs_no_gradient(self, name):
        values = arrays()
        tensors = {key: torch.tensor(value) for key, value in values.items() if key != "mixed"}
        copies = {key: value.clone() for key, value in tensors.items()}
        before = score(name)
        for key in ("source_features", "target_features", "source_logits", "target_logits"):
            tensors[key].requires_grad_()
        with torch.inference_mode():
            inside = VALIDATORS[name].score(Outputs(**tensors, mixed=values["mixed"]))
        assert inside == VALIDATORS[name].score(Outputs(**tensors, mixed=values["mixed"])) == before
        assert all(torch.equal(tensors[key], copies[key]) for key in copies)

    def test_says_what_it_is(self, name):
        validator = find_validator(name)
        assert validator.name == name
        assert validator.summary.endswith("?")
        assert validator.reference[-4:].isdigit()


DEGENERATE = {
    "all predictions one class": {"target_logits": np.tile([50.0, 0, 0, 0], (120, 1))},
    "certain beyond doubt": {"target_logits": 1e30 * np.eye(CLASSES)[np.arange(120) % 4]},
    "nothing known": {"target_logits": np.zeros((120, CLASSES))},
    "one source class": {"source_labels": np.full(150, 3)},
    "features without length": {"source_features": np.zeros((150, 7)), "target_features": np.zeros((120, 7))},
    "domains that touch nowhere": {"target_features": 1e4 + np.random.default_rng(0).normal(size=(120, WIDTH))},
    "one feature": {"source_features": np.ones((150, 1)), "target_features": np.arange(120.0)[:, None]},
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_degenerate_inputs_have_finite_scores(case, dtype):
    changes = {k: v if k == "source_labels" else v.astype(dtype) for k, v in DEGENERATE[case].items()}
    table = scores(outputs(**changes))
    assert list(table) == list(VALIDATORS)
    assert all(math.isfinite(value) for value in table.values()), table


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 30), (30, 1), (2, 3), (4, 4), (5, 200)])
def test_few_samples_have_finite_scores(n, m):
    table = scores(Outputs(**arrays(n, m)))
    assert all(math.isfinite(value) for value in table.values()), table


def test_one_class_has_finite_scores():
    features, labels, logits = np.random.default_rng(0).normal(size=(6, 3)), np.zeros(6, int), np.ones((6, 1))
    mixed = Mixed(np.arange(6)[::-1].copy(), 0.6, logits)
    table = scores(Outputs(features, labels, logits, features, logits, logits, mixed))
    assert len(table) == len(VALIDATORS)
    assert all(math.isfinite(value) for value in table.values()), table
    assert table["cycle"] == table["mixval"] == table["nearest-source"] == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", VALIDATORS)
def test_logits_that_are_no_numbers_are_refused(name, bad):
    values = arrays()
    for key in ("source_logits", "target_logits", "view_logits"):
        values[key][7, 1] = bad
    logits = values["mixed"].logits.clone()
    logits[7, 1] = bad
    values["mixed"] = dataclasses.replace(values["mixed"], logits=logits)
    with pytest.raises(ValueError, match=r"logits has values that are not finite: .*\.$"):
        VALIDATORS[name].score(Outputs(**values))


def test_features_that_are_no_numbers_and_domains_without_samples_are_refused():
    values = arrays()
    values["target_features"][3, 3] = np.nan
    for name in ("cycle", "dev", "importance-weighting", "nearest-source"):
        with pytest.raises(ValueError, match="target_features has values that are not finite"):
            VALIDATORS[name].score(Outputs(**values))
    with pytest.raises(ValueError, match="target_logits has no rows"):
        score("certainty", target_logits=np.zeros((0, 4)), target_features=np.zeros((0, WIDTH)))


class TestTable:
    def test_without_views_and_mixtures(self):
        table = scores(outputs(view_logits=None, mixed=None))
        assert set(VALIDATORS) - set(table) == {"view-agreement", "mixval"}
        for name in ("view-agreement", "mixval"):
            with pytest.raises(ValueError, match="needs"):
                score(name, view_logits=None, mixed=None)

    def test_an_unknown_name(self):
        with pytest.raises(ValueError, match=r"Unknown validator 'mixvall': did you mean 'mixval'\?"):
            find_validator("mixvall")

    def test_needs_are_fields(self):
        fields = {field.name for field in dataclasses.fields(Outputs)}
        assert all(set(validator.needs) <= fields for validator in VALIDATORS.values())


class TestRightDirection:
    """A model whose predictions on the target are exchanged among samples, or undecided, or all of one class."""

    @pytest.fixture
    def shuffled(self):
        return np.random.default_rng(3).permutation(arrays()["target_logits"])

    @pytest.mark.parametrize("name", ["cycle", "nearest-source", "view-agreement", "mixval"])
    def test_shuffled_predictions_are_worse(self, name, shuffled):
        assert score(name, target_logits=shuffled) < score(name) - 0.2

    @pytest.mark.parametrize(
        "name", ["certainty", "information-maximisation", "bnm", "snd", "class-confusion", "balance"]
    )
    def test_shuffled_predictions_look_the_same_to_those_that_see_no_inputs(self, name, shuffled):
        assert score(name, target_logits=shuffled) == pytest.approx(score(name), rel=1e-6)

    @pytest.mark.parametrize("name", ["certainty", "information-maximisation", "bnm", "class-confusion"])
    def test_undecided_predictions_are_worse(self, name):
        logits = arrays()["target_logits"]
        values = [score(name, target_logits=scale * logits) for scale in (0.1, 0.5, 1, 3)]
        assert values == sorted(values)
        assert values[0] < values[-1] - 0.3

    @pytest.mark.parametrize("name", ["cycle", "information-maximisation", "bnm", "balance", "nearest-source"])
    def test_one_class_for_all_is_worse(self, name):
        assert score(name, target_logits=np.tile([9.0, 0, 0, 0], (120, 1))) < score(name) - 0.2

    def test_groups_of_predictions_are_denser_than_scattered_ones(self):
        """As certain ones: the same probabilities of ten classes, in five orders or in an order of each sample."""
        random = np.random.default_rng(0)
        logits = np.log(np.arange(1, 11) ** 2)
        orders = [random.permutation(10) for _ in range(5)]
        grouped = torch.tensor(np.stack([logits[orders[i % 5]] for i in range(120)]))
        scattered = torch.tensor(np.stack([random.permutation(logits) for _ in range(120)]))
        assert selection.certainty(grouped) == pytest.approx(selection.certainty(scattered))
        snd = selection.soft_neighbourhood_density
        assert snd(grouped) > snd(scattered) + 0.2

    @pytest.mark.parametrize("name", ["importance-weighting", "dev"])
    def test_errors_where_the_target_is_are_worse(self, name):
        """Two models of equal accuracy on the source, each wrong on a half of it."""
        random = np.random.default_rng(0)
        source, target = random.normal(size=(400, 5)), random.normal(size=(300, 5)) + np.eye(5)[0]
        right = source[:, 0] > np.median(source[:, 0])
        labels, target_logits = np.zeros(400, int), np.zeros((300, 2))
        near, far = (np.stack([hit, ~hit], 1).astype(float) for hit in (right, ~right))
        values = [VALIDATORS[name].score(Outputs(source, labels, x, target, target_logits)) for x in (near, far)]
        assert values[0] > values[1] + 0.3


class TestBlocks:
    @pytest.mark.parametrize("block", [1, 7, 1000])
    @pytest.mark.parametrize("width", [3, WIDTH, 200])  # 200 features are more than samples
    def test_of_any_size(self, block, width):
        a = arrays()
        wide = np.random.default_rng(0).normal(size=(WIDTH, width))
        z_s, z_t = torch.tensor(a["source_features"] @ wide), torch.tensor(a["target_features"] @ wide)
        domains = z_s, torch.tensor(a["source_labels"]), z_t, torch.tensor(a["target_logits"])
        for function in (selection.cycle_accuracy, selection.nearest_source_agreement):
            assert function(*domains, block=block) == function(*domains)
        snd = selection.soft_neighbourhood_density
        assert snd(domains[3], block=block) == pytest.approx(snd(domains[3]), rel=1e-6)

    @pytest.mark.parametrize("width", [3, 200])
    @pytest.mark.parametrize("bias", [False, True])
    def test_cycle_with_few_and_many_features(self, width, bias):
        a = arrays()
        wide = np.random.default_rng(0).normal(size=(WIDTH, width))
        a["source_features"], a["target_features"] = a["source_features"] @ wide, a["target_features"] @ wide
        z_s, z_t = normalize(a["source_features"]), normalize(a["target_features"])
        if bias:
            z_s, z_t = (np.c_[z, np.ones(len(z))] for z in (z_s, z_t))
        strength = 0.1 * (z_t**2).sum() / min(z_t.shape)
        pseudo = np.eye(CLASSES)[a["target_logits"].argmax(1)] - 1 / CLASSES
        head = Ridge(alpha=strength, fit_intercept=False, solver="svd").fit(z_t, pseudo)
        expected = accuracy_score(a["source_labels"], head.predict(z_s).argmax(1))
        names = "source_features", "source_labels", "target_features", "target_logits"
        assert selection.cycle_accuracy(*(torch.tensor(a[key]) for key in names), bias=bias) == expected

    def test_an_even_part_is_taken_of_many_samples(self):
        a = {key: torch.tensor(value) for key, value in arrays().items() if key != "mixed"}
        logits, kept = a["target_logits"], evenly(120, 50)
        assert len(kept.unique()) == 50
        assert 115 < int(kept.max()) < 120
        snd, nearest = selection.soft_neighbourhood_density, selection.nearest_source_agreement
        assert snd(logits, max_samples=50) == snd(logits[kept]) != snd(logits)
        z_s, y, z_t, near = a["source_features"], a["source_labels"], a["target_features"], evenly(150, 40)
        part = nearest(z_s[near], y[near], z_t[kept], logits[kept])
        assert nearest(z_s, y, z_t, logits, max_source=40, max_target=50) == part


class TestDensityRatio:
    def test_the_classifier_equals_scikit_learn(self):
        random = np.random.default_rng(0)
        z, y = random.normal(size=(80, 6)), random.integers(2, size=80)
        for ridge in RIDGES:
            model = LogisticRegression(C=1 / (ridge * 80), tol=1e-10, max_iter=10_000).fit(z, y)
            head = logistic_head(
                torch.tensor(np.c_[z, np.ones(80)]), torch.tensor(y).double(), ridge, torch.zeros(7).double()
            )
            np.testing.assert_allclose(head, np.r_[model.coef_[0], model.intercept_], rtol=1e-4, atol=1e-5)

    def test_two_normal_distributions(self):
        """Their ratio is known: ``exp(<mu, z> - |mu|^2 / 2)``."""
        random = np.random.default_rng(0)
        source, move = random.normal(size=(4000, 3)), np.array([0.8, 0.0, -0.4])
        target = random.normal(size=(2000, 3)) + move
        weights = density_ratio(torch.tensor(source), torch.tensor(target)).numpy()
        exact = np.exp(source @ move - move @ move / 2)
        assert np.corrcoef(np.log(weights), np.log(exact))[0, 1] > 0.98
        assert np.median(np.abs(np.log(weights / exact))) < 0.1
        assert weights.mean() == pytest.approx(1, abs=0.1)

    def test_equal_domains_have_even_weights_however_many_features(self):
        """A classifier judged where it was fitted would tell all of them apart."""
        random = np.random.default_rng(0)
        source, target = (torch.tensor(random.normal(size=(100, 500))) for _ in range(2))
        weights = density_ratio(source, target, components=150)
        assert float(weights.log().std()) < 0.5

    def test_the_fit_may_take_a_part_and_weighs_all(self):
        a = {key: torch.tensor(value) for key, value in arrays(n=400, m=300).items() if key != "mixed"}
        part = density_ratio(a["source_features"], a["target_features"], max_samples=200)
        full = density_ratio(a["source_features"], a["target_features"])
        assert part.shape == full.shape == (400,)
        assert 0.5 < np.corrcoef(part.log(), full.log())[0, 1] < 1

    def test_a_sample_far_from_all_that_was_fitted_has_a_finite_weight(self):
        line = torch.linspace(-1, 1, 400, dtype=torch.float64).unsqueeze(1)
        source = line.clone()
        source[3] = 1e6  # every other odd place is fitted to, 1 and 5 and so on
        weights = density_ratio(source, line + 0.5, max_samples=200)
        assert bool(weights.isfinite().all())
        assert int(weights.argmax()) == 3


class TestDeepEmbeddedValidation:
    def test_cross_entropy(self):
        a = arrays()
        w = naive_ratio(a["source_features"], a["target_features"])
        weighted = w * -log_softmax(a["source_logits"], axis=1)[np.arange(150), a["source_labels"]]
        eta = -np.cov(weighted, w)[0, 1] / np.var(w, ddof=1)
        names = "source_features", "source_labels", "source_logits", "target_features"
        result = selection.deep_embedded_validation(*(torch.tensor(a[key]) for key in names), loss="cross-entropy")
        assert result == pytest.approx(-(weighted.mean() + eta * w.mean() - eta), rel=1e-4)

    def test_weights_without_variance_need_no_correction(self):
        features, labels = torch.ones(10, 3), torch.arange(10) % 2
        logits = torch.tensor([[1.0, 0.0]]).repeat(10, 1)
        assert selection.deep_embedded_validation(features, labels, logits, features) == pytest.approx(-0.5)


class TestMixval:
    LOGITS = torch.eye(2)[[0, 0, 1, 1]]

    @pytest.mark.parametrize(
        ("partners", "answers", "expected"),
        [
            ([1, 0, 3, 2], [0, 0, 1, 0], 0.75),  # pairs of one class only
            ([2, 3, 0, 1], [0, 1, 0, 0], 0.25),  # of two classes only
            ([1, 2, 0, 0], [1, 0, 1, 1], 0.5),  # one pair within, wrong; three across, all right
            ([0, 1, 2, 0], [0, 0, 1, 0], 0.0),  # three are mixed with themselves and do not count
            ([0, 1, 2, 3], [0, 0, 1, 1], 0.0),  # nothing is mixed
        ],
    )
    def test_pairs_within_and_across_classes(self, partners, answers, expected):
        assert selection.mixval(self.LOGITS, Mixed(torch.tensor(partners), 0.55, torch.eye(2)[answers])) == expected

    def test_what_cannot_be_judged_is_refused(self):
        with pytest.raises(ValueError, match="more than a half"):
            selection.mixval(self.LOGITS, Mixed(torch.arange(4), 0.5, self.LOGITS))
        with pytest.raises(ValueError, match="4 target samples, 3 partners, 4 mixtures"):
            selection.mixval(self.LOGITS, Mixed(torch.arange(3), 0.6, self.LOGITS))
        with pytest.raises(ValueError, match="view_logits has 3 rows, target_logits 4"):
            selection.view_agreement(self.LOGITS, self.LOGITS[:3])


def test_ties_between_neighbours_go_to_the_nearer_class():
    source = torch.tensor([[1.0, 0.05], [1.0, 0.4], [1.0, -0.1], [1.0, -0.15]])
    labels, target = torch.tensor([1, 1, 0, 0]), torch.tensor([[1.0, 0.0]])
    agreement = selection.nearest_source_agreement
    assert agreement(source, labels, target, torch.tensor([[1.0, 0.0]]), neighbours=4) == 1
    assert agreement(source, labels, target, torch.tensor([[0.0, 1.0]]), neighbours=4) == 0
    assert agreement(source, labels, target, torch.tensor([[0.0, 1.0]]), neighbours=1) == 1


def test_the_nuclear_norm_does_not_depend_on_the_number_of_samples():
    logits = torch.tensor(arrays()["target_logits"])
    assert selection.batch_nuclear_norm(logits.repeat(3, 1)) == pytest.approx(selection.batch_nuclear_norm(logits))
