"""The table of validators: a name, what it asks, whose idea it is, and its score of a model's outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cst.selection.certainty import balance, batch_nuclear_norm, certainty, class_confusion, information_maximisation
from cst.selection.outputs import Outputs
from cst.selection.round_trip import cycle_accuracy
from cst.selection.structure import nearest_source_agreement, soft_neighbourhood_density
from cst.selection.views import mixval, view_agreement
from cst.selection.weighting import deep_embedded_validation, importance_weighted_accuracy, source_accuracy
from cst.spelling import unknown


@dataclass(frozen=True)
class Validator:
    """A score of a model without labels of the target, the higher the better.

    Attributes:
        name: in the table.
        summary: what it asks.
        reference: authors, title, venue, year.
        score: of a model's outputs.
        needs: optional fields of the outputs without which there is no score.
    """

    name: str
    summary: str
    reference: str
    score: Callable[[Outputs], float]
    needs: tuple[str, ...] = ()

    def applies(self, outputs: Outputs) -> bool:
        """Whether all that it needs is among the outputs."""
        return all(getattr(outputs, name) is not None for name in self.needs)


def _view_agreement(outputs: Outputs) -> float:
    if outputs.view_logits is None:
        raise ValueError("The validator 'view-agreement' needs view_logits, and the outputs have none.")
    return view_agreement(outputs.target_logits, outputs.view_logits)


def _mixval(outputs: Outputs) -> float:
    if outputs.mixed is None:
        raise ValueError("The validator 'mixval' needs mixed, and the outputs have none.")
    return mixval(outputs.target_logits, outputs.mixed)


_TABLE = (
    Validator(
        "source-accuracy",
        "Is the model right on the source?",
        "Musgrave, Belongie, Lim: Three New Validators and a Large-Scale Benchmark Ranking for Unsupervised Domain "
        "Adaptation, arXiv 2022",
        lambda o: source_accuracy(o.source_logits, o.source_labels),
    ),
    Validator(
        "cycle",
        "Does a head fitted to the target's pseudo-labels classify the source?",
        "Liu, Wang, Long: Cycle Self-Training for Domain Adaptation, NeurIPS 2021",
        lambda o: cycle_accuracy(o.source_features, o.source_labels, o.target_features, o.target_logits),
    ),
    Validator(
        "certainty",
        "Are predictions on the target of low entropy?",
        "Morerio, Cavazza, Murino: Minimal-Entropy Correlation Alignment for Unsupervised Deep Domain Adaptation, "
        "ICLR 2018",
        lambda o: certainty(o.target_logits),
    ),
    Validator(
        "information-maximisation",
        "Are predictions on the target certain one by one and diverse together?",
        "Krause, Perona, Gomes: Discriminative Clustering by Regularized Information Maximization, NIPS 2010",
        lambda o: information_maximisation(o.target_logits),
    ),
    Validator(
        "bnm",
        "Is the matrix of the target's probabilities of large nuclear norm, certain and diverse?",
        "Cui, Wang, Zhuo, Li, Huang, Tian: Towards Discriminability and Diversity: Batch Nuclear-norm Maximization "
        "under Label Insufficient Situations, CVPR 2020",
        lambda o: batch_nuclear_norm(o.target_logits),
    ),
    Validator(
        "snd",
        "Do predictions on the target have many near neighbours?",
        "Saito, Kim, Teterwak, Sclaroff, Darrell, Saenko: Tune it the Right Way: Unsupervised Validation of Domain "
        "Adaptation via Soft Neighborhood Density, ICCV 2021",
        lambda o: soft_neighbourhood_density(o.target_logits),
    ),
    Validator(
        "importance-weighting",
        "Is the model right on those source samples that look like the target?",
        "Sugiyama, Krauledat, Mueller: Covariate Shift Adaptation by Importance Weighted Cross Validation, JMLR 2007",
        lambda o: importance_weighted_accuracy(o.source_features, o.source_labels, o.source_logits, o.target_features),
    ),
    Validator(
        "dev",
        "Is the importance-weighted risk small, after a control variate?",
        "You, Wang, Long, Jordan: Towards Accurate Model Selection in Deep Unsupervised Domain Adaptation, ICML 2019",
        lambda o: deep_embedded_validation(o.source_features, o.source_labels, o.source_logits, o.target_features),
    ),
    Validator(
        "class-confusion",
        "Do predictions on the target confuse few pairs of classes?",
        "Jin, Wang, Long, Wang: Minimum Class Confusion for Versatile Domain Adaptation, ECCV 2020",
        lambda o: class_confusion(o.target_logits),
    ),
    Validator(
        "nearest-source",
        "Do the nearest source samples vote for the predicted class?",
        "Cover, Hart: Nearest Neighbor Pattern Classification, IEEE Transactions on Information Theory 1967",
        lambda o: nearest_source_agreement(o.source_features, o.source_labels, o.target_features, o.target_logits),
    ),
    Validator(
        "view-agreement",
        "Does another view of a target sample have the same label?",
        "Prabhu, Khare, Kartik, Hoffman: SENTRY: Selective Entropy Optimization via Committee Consistency for "
        "Unsupervised Domain Adaptation, ICCV 2021",
        _view_agreement,
        ("view_logits",),
    ),
    Validator(
        "balance",
        "Do the pseudo-labels have the source's shares of classes?",
        "Liu, Wang, Long: Cycle Self-Training for Domain Adaptation, NeurIPS 2021",
        lambda o: balance(o.target_logits, o.source_labels),
    ),
    Validator(
        "mixval",
        "Does a mixture of two target samples have the label of the larger part?",
        "Hu, Liang, Liew, Xue, Bai, Wang: Mixed Samples as Probes for Unsupervised Model Selection in Domain "
        "Adaptation, NeurIPS 2023",
        _mixval,
        ("mixed",),
    ),
)

VALIDATORS: dict[str, Validator] = {validator.name: validator for validator in _TABLE}
"""All of them by name."""


def find_validator(name: str) -> Validator:
    """The validator of that name.

    >>> find_validator("snd").needs
    ()
    """
    if name not in VALIDATORS:
        raise ValueError(unknown("validator", name, VALIDATORS))
    return VALIDATORS[name]


def scores(outputs: Outputs) -> dict[str, float]:
    """The score by every validator that has what it needs.

    >>> import torch
    >>> one, labels = torch.eye(3), torch.tensor([0, 1, 2])
    >>> table = scores(Outputs(one, labels, one, one, one))
    >>> table["cycle"], "mixval" in table
    (1.0, False)
    """
    return {name: each.score(outputs) for name, each in VALIDATORS.items() if each.applies(outputs)}


def ranked(table: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The mean rank of each model over the scores that all of them have, 1 for the best; equals share their ranks.

    >>> ranked({"one": {"snd": 2.0, "bnm": 0.5}, "two": {"snd": 1.0, "bnm": 0.5}})
    {'one': 1.25, 'two': 1.75}
    """
    common = [name for name in VALIDATORS if all(name in each for each in table.values())]
    if not common:
        raise ValueError("The models have no score in common: score them by the same validators.")

    def rank(model: str, name: str) -> float:
        mine = table[model][name]
        better = sum(each[name] > mine for each in table.values())
        equal = sum(each[name] == mine for each in table.values())
        return better + (equal + 1) / 2

    return {model: sum(rank(model, name) for name in common) / len(common) for model in table}
