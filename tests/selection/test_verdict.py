"""The verdict on made-up signs, each of which must be able to turn it."""

import pytest

from cst.selection.signs import collapse, never_predicted, signs
from cst.selection.verdict import ADAPTED, COLLAPSED, HARMED, UNCLEAR, judge

CLASSES = ("ant", "bee", "cow", "dog")
SCORES = {"source-accuracy": 0.99, "class-confusion": -0.5, "mixval": 0.6, "view-agreement": 0.5}


def state(labels, **scores):
    shares = [labels.count(place) / len(labels) for place in range(len(CLASSES))]
    return {"scores": {**SCORES, **scores}, "shares": shares, "labels": labels, "heads_agree": 0.9}


BEFORE = [0, 1, 2, 3] * 25
SWAPPED = [1, 0, 3, 2] * 5 + BEFORE[20:]
"""A fifth of the labels changed, shares as they were."""
BETTER = {"class-confusion": -0.1, "mixval": 0.7}


def word(labels=SWAPPED, before=BEFORE, **scores):
    return judge(state(before), state(labels, **{**BETTER, **scores}), CLASSES).word


def test_labels_that_change_with_firmer_and_clearer_predictions_are_a_gain():
    verdict = judge(state(BEFORE), state(SWAPPED, **BETTER), CLASSES)
    assert verdict.word == ADAPTED
    assert verdict.sentences[0].startswith("20 % of the target have another label than the source model gave")
    assert verdict.evidence["mixval"] == {
        "label": "Does a mixture of two target samples have the label of the larger part?",
        "before": 0.6,
        "after": 0.7,
    }


@pytest.mark.parametrize(
    ("expected", "change"),
    [
        (UNCLEAR, {"labels": BEFORE}),
        (UNCLEAR, {"mixval": 0.61}),
        (UNCLEAR, {"class-confusion": -0.51, "mixval": 0.7}),
        (HARMED, {"class-confusion": -0.54}),
        (HARMED, {"labels": [1, 1, 2, 3] * 12 + BEFORE[48:]}),  # twelve of the first class went to the second
        (HARMED, {"labels": [0, 1] * 44 + [2, 3] * 6}),
        (COLLAPSED, {"labels": [0] * 97 + [1, 2, 3]}),
        (COLLAPSED, {"labels": [2] * 100}),
    ],
)
def test_each_sign_turns_it(expected, change):
    assert word(**change) == expected


def test_with_two_classes_every_correction_goes_one_way():
    before, after = [0] * 70 + [1] * 30, [0] * 50 + [1] * 50
    made = [state(labels) for labels in (before, after)]
    for signs_of, labels in zip(made, (before, after), strict=True):
        signs_of["shares"] = [labels.count(0) / 100, labels.count(1) / 100]
    made[1]["scores"] |= BETTER
    assert judge(*made, ("ant", "bee")).word == ADAPTED
    made[1]["scores"]["mixval"] = 0.6
    assert judge(*made, ("ant", "bee")).word == HARMED


def test_without_mixtures_other_views_speak():
    def without(labels, **scores):
        made = state(labels, **scores)
        del made["scores"]["mixval"]
        return made

    clearer = {"class-confusion": -0.1}
    assert judge(without(BEFORE), without(SWAPPED, **clearer, **{"view-agreement": 0.6}), CLASSES).word == ADAPTED
    assert judge(without(BEFORE), without(SWAPPED, **clearer), CLASSES).word == UNCLEAR


def test_what_cannot_be_compared_is_not_judged():
    alone = judge({}, state(SWAPPED, **BETTER), CLASSES)
    assert (alone.word, alone.sentences[0]) == (UNCLEAR, "There is no source model of the same run to compare with.")
    held = judge(state(BEFORE), state(SWAPPED, **BETTER), CLASSES, held=True)
    assert (held.word, held.sentences[0]) == (UNCLEAR, "The run stayed with the source.")


def test_nothing_that_went_wrong_ends_without_a_remark():
    verdict = judge({}, state([2] * 100, **{"source-accuracy": 0.0}), CLASSES, loss=1800.0)
    assert verdict.word == COLLAPSED
    assert verdict.sentences == (
        "Every prediction on the target is 'cow'.",
        "The source was not learned: 100 % of its samples are labelled wrongly.",
        "The loss of the last epoch is 1,800: lower the learning rate (lr=).",
    )
    missing = judge(state(BEFORE), state([0, 1, 2, 2] * 25, **BETTER), CLASSES)
    assert "1 of 4 classes is never predicted: 'dog'." in missing.sentences


def test_sentences_on_classes():
    assert never_predicted([0.25] * 4, CLASSES) == ""
    many = never_predicted([1.0] + [0.0] * 7, "abcdefgh")
    assert many == "7 of 8 classes are never predicted: 'b', 'c', 'd', 'e', 'f' and 2 more."
    assert collapse([1.0, 0.0], [1.0, 0.0], "ab") == "", "nothing has changed"
    assert "'a' has 100 % of the target" in collapse([0.8, 0.2], [1.0, 0.0], "ab")


def test_signs_are_plain_numbers():
    import json

    import torch

    from cst.selection import Outputs

    one, labels = torch.eye(4), torch.tensor([0, 1, 2, 3])
    made = signs(Outputs(one, labels, one, one, one.flip(0)))
    assert json.loads(json.dumps(made)) == made
    assert made["labels"] == [3, 2, 1, 0]
    assert made["heads_agree"] == 1.0
