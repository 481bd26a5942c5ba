"""Classifiers as scikit-learn knows them, for vectors: two sets of rows in, labels of the second out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cst.api import adapt
from cst.selection import Outputs, find_validator

if TYPE_CHECKING:
    from typing import Self

BLOCK = 1024
"""Rows that are predicted at a time."""


class DomainAdaptationClassifier(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClassifierMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Any method of the catalogue as a scikit-learn classifier of vectors.

    The target is given beside the source, as ``fit(X, y, X_target=...)``, or within it, as skada does:
    ``fit(X, y, sample_domain=d)``, where rows with a negative ``d`` are the target and their labels, whatever they are,
    are not looked at. Without either the source is its own target.

    Args:
        method: a name from ``cst methods``, or a sum of terms such as ``"cycle+tsallis"``.
        epochs: passes over the larger domain; the usual number if None.
        batch_size: rows of each domain in a step.
        lr: the learning rate.
        random_state: of everything random, as in scikit-learn.
        options: any other field of :class:`cst.Config`, by name.

    Attributes:
        classes_: the labels, sorted.
        adapted_: the model (:class:`cst.Adapted`), with its history and ``adapted_.verdict``.
        n_features_in_: columns of the rows.
        feature_names_in_: their names, where the rows came as a data frame.

    >>> random = np.random.default_rng(0)
    >>> X, X_target = random.normal(size=(200, 3)), random.normal(size=(150, 3)) + 0.3
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> classifier = DomainAdaptationClassifier("cycle", epochs=5).fit(X, y, X_target=X_target)
    >>> classifier.predict(X_target).shape, classifier.classes_.tolist()
    ((150,), ['down', 'up'])
    """

    # What pipelines and searches hand on where metadata are routed, as skada switches on for scikit-learn as a whole.
    __metadata_request__fit = {"sample_domain": True, "X_target": True}  # noqa: RUF012

    def __init__(
        self,
        method: str = "cst",
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        random_state: Any = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.random_state = random_state
        self.options = options

    def fit(self, X: Any, y: Any, X_target: Any = None, sample_domain: Any = None) -> Self:  # noqa: N803
        """Adapt from labelled rows to unlabelled ones.

        Args:
            X: rows [N, d] of the source; with ``sample_domain``, of both domains.
            y: a label for each; with ``sample_domain``, those of the target may be anything.
            X_target: rows [M, d] of the target.
            sample_domain: a number for each row of ``X``, negative for the target.
        """
        if X_target is not None and sample_domain is not None:
            raise ValueError("X_target and sample_domain both name the target: give one of them.")
        rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        target = rows
        if sample_domain is not None:
            is_target = _is_target(sample_domain, len(rows))
            rows, labels, target = rows[~is_target], labels[~is_target], rows[is_target]
        elif X_target is not None:
            target = validate_data(self, X_target, dtype=np.float64, reset=False, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, places = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("The source holds one class only: a classifier needs samples of at least two classes.")
        seed = self.random_state
        if not isinstance(seed, int):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        words = {"epochs": self.epochs, "batch_size": self.batch_size, "lr": self.lr, **(self.options or {})}
        settings = {name: value for name, value in words.items() if value is not None}
        self.adapted_ = adapt((rows, places), target, self.method, seed=seed, progress=False, **settings)
        # In double precision the prediction of a row does not depend on the rows beside it.
        self._network = copy.deepcopy(self.adapted_.model).cpu().double().eval()
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class of each row."""
        places = self.logits(X).argmax(1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, in the order of ``classes_``, calibrated without labels of the target."""
        logits = torch.from_numpy(self.logits(X))
        probs: NDArray[np.float64] = (logits / self.adapted_.spec.temperature).softmax(-1).numpy()
        return probs

    def transform(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The features that both domains share [N, features]."""
        return self._through(X, classify=False)

    def logits(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The scores of the classes before they become probabilities [N, K]."""
        return self._through(X, classify=True)

    @property
    def _n_features_out(self) -> int:
        return int(self.transform(np.zeros((1, self.n_features_in_))).shape[1])

    def _through(self, X: Any, classify: bool) -> NDArray[np.float64]:  # noqa: N803
        check_is_fitted(self)
        rows = torch.from_numpy(np.ascontiguousarray(validate_data(self, X, dtype=np.float64, reset=False)))
        parts = []
        with torch.no_grad():
            for block in torch.split(rows, BLOCK):
                features = self._network.features(block)
                parts.append(self._network.classify(features) if classify else features)
        values: NDArray[np.float64] = torch.cat(parts).numpy()
        return values


class CSTClassifier(DomainAdaptationClassifier):
    """Cycle Self-Training as a scikit-learn classifier; see :class:`DomainAdaptationClassifier`."""

    def __init__(
        self,
        *,
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        random_state: Any = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(epochs=epochs, batch_size=batch_size, lr=lr, random_state=random_state, options=options)


def score_without_labels(validator: str, X_target: Any) -> Callable[[Any, Any, Any], float]:  # noqa: N803
    """A scorer for ``GridSearchCV`` and its kin that needs no label of the target.

    Args:
        validator: a name from `cst.selection.VALIDATORS`, such as ``"information-maximisation"``.
        X_target: rows of the target, by which models are judged; the rows that the search holds out are the source's.

    >>> score_without_labels("certanty", None)
    Traceback (most recent call last):
    ValueError: Unknown validator 'certanty': did you mean 'certainty'? ...
    """
    chosen = find_validator(validator)

    def score(estimator: Any, X: Any, y: Any) -> float:  # noqa: N803
        rows, target = X, X_target
        if hasattr(estimator, "steps"):  # a pipeline: what comes before the classifier is applied to both
            before, estimator = estimator[:-1], estimator[-1]
            rows, target = before.transform(rows), before.transform(target)
        places = np.searchsorted(estimator.classes_, y)
        known = np.isin(y, estimator.classes_)
        source_features, source_logits = estimator.transform(rows)[known], estimator.logits(rows)[known]
        target_features, target_logits = estimator.transform(target), estimator.logits(target)
        outputs = Outputs(source_features, places[known], source_logits, target_features, target_logits)
        return float(chosen.score(outputs))

    return score


def _is_target(sample_domain: Any, count: int) -> NDArray[np.bool_]:
    domain = column_or_1d(np.asarray(sample_domain))
    if len(domain) != count:
        raise ValueError(f"sample_domain has {len(domain)} entries for {count} rows: it needs one for each.")
    is_target: NDArray[np.bool_] = domain < 0
    if is_target.all() or not is_target.any():
        raise ValueError(
            "sample_domain must name both domains: a negative number for rows of the target, else positive."
        )
    return is_target
