"""Probabilities that mean something, without labels of the target."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cst.engine.first_look import target_logits
from cst.functional import temperature_for

if TYPE_CHECKING:
    from cst.engine.setup import Training


def calibrate(training: Training, record: Mapping[str, Any]) -> None:
    """Give the model the temperature under which it is as sure of the target as it was when the warm-up ended.

    Entropy minimisation makes predictions certain whether they are right or not: what adapting says of certainty is no
    evidence. The source model's mean confidence on the target was not yet driven anywhere. Where the guard held the run
    back, it is at most the share of labels on which the model agrees with itself. Nothing is made surer than it was,
    and labels do not change. Without a warm-up the temperature stays at one.
    """
    confidence = record.get("first_confidence")
    if confidence is not None:
        if record.get("held"):
            confidence = min(confidence, record["first_agreement"])
        temperature = temperature_for(target_logits(training), confidence, lowest=1.0)
        spec = training.model.spec
        training.model.spec = dataclasses.replace(spec, temperature=temperature)
        training.model.spec.__dict__["encoder"] = spec.encoder  # it may hold a tokenizer
