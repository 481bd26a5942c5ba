"""Did it help? Scores that need no label of the target."""

from cst.selection.certainty import balance, batch_nuclear_norm, certainty, class_confusion, information_maximisation
from cst.selection.choice import Choice, choose
from cst.selection.density_ratio import density_ratio
from cst.selection.outputs import Mixed, Outputs
from cst.selection.round_trip import cycle_accuracy
from cst.selection.signs import changed_share, collapse, signs
from cst.selection.structure import nearest_source_agreement, soft_neighbourhood_density
from cst.selection.validators import VALIDATORS, Validator, find_validator, ranked, scores
from cst.selection.verdict import BAD, Verdict, judge, went_back
from cst.selection.views import mixval, view_agreement
from cst.selection.weighting import deep_embedded_validation, importance_weighted_accuracy, source_accuracy

__all__ = [
    "BAD",
    "VALIDATORS",
    "Choice",
    "Mixed",
    "Outputs",
    "Validator",
    "Verdict",
    "balance",
    "batch_nuclear_norm",
    "certainty",
    "changed_share",
    "choose",
    "class_confusion",
    "collapse",
    "cycle_accuracy",
    "deep_embedded_validation",
    "density_ratio",
    "find_validator",
    "importance_weighted_accuracy",
    "information_maximisation",
    "judge",
    "mixval",
    "nearest_source_agreement",
    "ranked",
    "scores",
    "signs",
    "soft_neighbourhood_density",
    "source_accuracy",
    "view_agreement",
    "went_back",
]
