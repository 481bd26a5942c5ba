"""The scikit-learn contract, by scikit-learn's own checks, and what its users do with a classifier."""

import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import cst
from cst.sklearn import CSTClassifier, DomainAdaptationClassifier, score_without_labels

SHORT = {"epochs": 2, "options": {"steps_per_epoch": 20}}


@parametrize_with_checks([CSTClassifier(epochs=3, lr=0.05, options={"steps_per_epoch": 30})])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_it_is_what_adapt_makes(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    ours = DomainAdaptationClassifier("cycle", random_state=3, **SHORT).fit(source, labels, X_target=target)
    theirs = cst.adapt(
        (source.astype(float), labels), target.astype(float), "cycle", epochs=2, seed=3, steps_per_epoch=20
    )
    assert (ours.predict(target) == theirs.predict(target)).all()
    np.testing.assert_allclose(ours.predict_proba(target), theirs.predict_proba(target), atol=1e-5)
    np.testing.assert_allclose(ours.transform(target), theirs.features(target), atol=1e-4)
    assert ours.adapted_.verdict.word


def test_the_target_may_stand_among_the_rows_as_in_skada(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    order = np.random.default_rng(0).permutation(len(source) + len(target))
    rows = np.concatenate([source, target])[order]
    masked = np.concatenate([labels, np.full(len(target), -1)])[order]
    domain = np.concatenate([np.full(len(source), 1), np.full(len(target), -2)])[order]
    within = CSTClassifier(**SHORT).fit(rows, masked, sample_domain=domain)
    beside = CSTClassifier(**SHORT).fit(rows[domain > 0], masked[domain > 0], X_target=rows[domain < 0])
    assert list(within.classes_) == [0, 1, 2]  # -1 is no class
    np.testing.assert_array_equal(within.predict_proba(target), beside.predict_proba(target))
    other = masked.copy()
    other[domain < 0] = np.random.default_rng(1).integers(3, size=len(target))  # labels of the target change nothing
    told = CSTClassifier(**SHORT).fit(rows, other, sample_domain=domain)
    np.testing.assert_array_equal(within.predict_proba(target), told.predict_proba(target))


def test_it_adapts(shifted_blobs):
    source, labels, target, truth = shifted_blobs
    adapted = CSTClassifier().fit(source, labels, X_target=target)
    assert adapted.score(target, truth) > 0.9


def test_names_strings_pickle_joblib_clone(shifted_blobs, tmp_path):
    source, labels, target, _ = shifted_blobs
    columns = list("abcde")
    frame, names = pd.DataFrame(source, columns=columns), np.array(["ant", "bee", "cow"])[labels]
    fitted = CSTClassifier(**SHORT).fit(frame, names, X_target=pd.DataFrame(target, columns=columns))
    assert list(fitted.feature_names_in_) == columns
    predicted = fitted.predict(pd.DataFrame(target, columns=columns))
    assert set(predicted) <= {"ant", "bee", "cow"}
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame(target, columns=list("edcba")))
    joblib.dump(fitted, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        assert (again.predict(pd.DataFrame(target, columns=columns)) == predicted).all()
    of_polars = CSTClassifier(**SHORT).fit(pl.DataFrame(frame.to_dict("list")), pl.Series(names), X_target=target)
    assert list(of_polars.feature_names_in_) == columns
    assert (of_polars.predict(pl.DataFrame(dict(zip(columns, target.T, strict=True)))) == predicted).all()
    assert not hasattr(clone(fitted), "classes_")
    assert clone(fitted).get_params() == fitted.get_params()
    assert CSTClassifier().set_params(lr=0.1).lr == 0.1


def test_sparse_rows_and_continuous_labels_are_refused(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    for rows, more in ((scipy.sparse.csr_array(source), target), (source, scipy.sparse.csr_array(target))):
        with pytest.raises(TypeError, match="dense data is required"):
            CSTClassifier(**SHORT).fit(rows, labels, X_target=more)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        CSTClassifier(**SHORT).fit(source, source[:, 0], X_target=target)


def test_the_labelfree_validators_choose_in_a_search_over_a_pipeline(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    search = GridSearchCV(
        make_pipeline(StandardScaler(), CSTClassifier(**SHORT)),
        {"cstclassifier__lr": [1e-6, 0.05]},
        scoring={name: score_without_labels(name, target) for name in ("information-maximisation", "bnm", "snd")},
        refit="bnm",
        cv=2,
        error_score="raise",
    )
    search.fit(source, np.array(["ant", "bee", "cow"])[labels], cstclassifier__X_target=target)
    assert search.best_params_ == {"cstclassifier__lr": 0.05}


def test_in_a_pipeline_and_a_search_by_scores_that_need_no_target_label(shifted_blobs):
    source, labels, target, _ = shifted_blobs
    pipeline = make_pipeline(StandardScaler(), CSTClassifier(**SHORT))
    rows, domain = np.concatenate([source, target]), np.array([1] * len(source) + [-1] * len(target))
    masked = np.concatenate([labels, np.full(len(target), -1)])
    pipeline.fit(rows, masked, cstclassifier__sample_domain=domain)
    assert pipeline.predict(target).shape == (len(target),)
    search = GridSearchCV(
        CSTClassifier(**SHORT), {"lr": [1e-6, 0.05]}, scoring=score_without_labels("source-accuracy", target), cv=2
    )
    search.fit(source, labels, X_target=target)
    assert search.best_params_ == {"lr": 0.05}
    assert -10 < score_without_labels("information-maximisation", target)(pipeline, source, labels) < 10


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"X_target": np.zeros((5, 5)), "sample_domain": np.ones(160)}, "both name the target"),
        ({"sample_domain": np.ones(160)}, "must name both domains"),
        ({"sample_domain": np.ones(3)}, "has 3 entries for 160 rows"),
        ({"X_target": np.zeros((5, 4))}, "4 features"),
    ],
)
def test_mistakes(shifted_blobs, more, says):
    source, labels, _, _ = shifted_blobs
    with pytest.raises(ValueError, match=says):
        CSTClassifier(**SHORT).fit(source, labels, **more)
