"""In skada's pipelines and cross-validators, where skada is installed: `make skada`."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.preprocessing import StandardScaler

from cst.sklearn import CSTClassifier, DomainAdaptationClassifier

skada = pytest.importorskip("skada")

from skada.metrics import PredictionEntropyScorer  # noqa: E402
from skada.model_selection import (  # noqa: E402
    DomainShuffleSplit,
    LeaveOneDomainOut,
    SourceTargetShuffleSplit,
    StratifiedDomainShuffleSplit,
)

SHORT = {"epochs": 2, "options": {"steps_per_epoch": 10}}


@pytest.fixture
def packed(shifted_blobs):
    """Rows of both domains in one array, their labels, and the domain of each."""
    source, labels, target, truth = shifted_blobs
    order = np.random.default_rng(1).permutation(len(source) + len(target))
    domain = np.concatenate([np.full(len(source), 1), np.full(len(target), -2)])[order]
    return np.concatenate([source, target])[order], np.concatenate([labels, truth])[order], domain


def test_a_pipeline_of_skada_is_the_same_adaptation(packed):
    rows, labels, domain = packed
    masked = np.where(domain < 0, -1, labels)
    pipeline = skada.make_da_pipeline(StandardScaler(), CSTClassifier(**SHORT))
    pipeline.fit(rows, masked.copy(), sample_domain=domain)
    scaled = StandardScaler().fit_transform(rows)
    alone = CSTClassifier(**SHORT).fit(scaled, masked, sample_domain=domain)
    np.testing.assert_array_equal(pipeline.predict_proba(rows, sample_domain=domain), alone.predict_proba(scaled))
    told = skada.make_da_pipeline(StandardScaler(), CSTClassifier(**SHORT))
    told.fit(rows, labels.copy(), sample_domain=domain)  # labels of the target change nothing
    np.testing.assert_array_equal(told.predict_proba(rows), alone.predict_proba(scaled))


def test_after_an_adapter_of_skada(packed):
    rows, labels, domain = packed
    pipeline = skada.make_da_pipeline(
        skada.CORALAdapter(), DomainAdaptationClassifier("cycle", **SHORT).set_fit_request(sample_domain=True)
    )
    pipeline.fit(rows, np.where(domain < 0, -1, labels), sample_domain=domain)
    assert set(pipeline.predict(rows[domain < 0], sample_domain=domain[domain < 0])) <= {0, 1, 2}


@pytest.mark.parametrize("splitter", [DomainShuffleSplit, StratifiedDomainShuffleSplit, SourceTargetShuffleSplit])
def test_cross_validation_by_a_score_without_target_labels(packed, splitter):
    rows, labels, domain = packed
    found = cross_validate(
        skada.make_da_pipeline(StandardScaler(), CSTClassifier(**SHORT)),
        rows,
        np.where(domain < 0, -1, labels),
        cv=splitter(n_splits=2, test_size=0.3, random_state=0),
        params={"sample_domain": domain},
        scoring=PredictionEntropyScorer(),
        error_score="raise",
    )
    assert np.isfinite(found["test_score"]).all()
    assert len(found["test_score"]) == 2


def test_leaving_one_domain_out(packed):
    rows, labels, domain = packed
    domain = np.concatenate([abs(domain), -abs(domain)])  # either domain is a source once and the target once
    rows, labels = np.concatenate([rows, rows]), np.concatenate([labels, labels])
    found = cross_validate(
        skada.make_da_pipeline(CSTClassifier(**SHORT)),
        rows,
        np.where(domain < 0, -1, labels),
        cv=LeaveOneDomainOut(max_n_splits=2, random_state=0),
        params={"sample_domain": domain},
        scoring=PredictionEntropyScorer(),
        error_score="raise",
    )
    assert np.isfinite(found["test_score"]).all()


def test_a_search(packed):
    rows, labels, domain = packed
    search = GridSearchCV(
        skada.make_da_pipeline(StandardScaler(), CSTClassifier(**SHORT)),
        {"cstclassifier__lr": [1e-6, 0.05]},
        cv=DomainShuffleSplit(n_splits=1, test_size=0.3, random_state=0),
        scoring=PredictionEntropyScorer(),
        error_score="raise",
    )
    search.fit(rows, np.where(domain < 0, -1, labels), sample_domain=domain)
    assert search.best_params_ == {"cstclassifier__lr": 0.05}  # surer of the target than a model that learned nothing
