"""One model, asked by many, one after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from cst.engine.adapted import Adapted
from cst.engine.streaming import encoded
from cst.functional import margin
from cst.kinds.contract import Limits


class Predictor:
    """Answers requests with a model that stays the one that was loaded.

    Passes go one by one: batch norm knows one domain at a time, and so much memory is enough for all.
    """

    def __init__(self, adapted: Adapted, limits: Limits) -> None:
        if not adapted.kind.asks_for:
            raise ValueError(f"A model of {adapted.kind.name} cannot be served: its kind takes nothing from requests.")
        self.adapted, self.limits = adapted, limits
        self._turn = threading.Lock()

    def answer(self, values: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
        """Predictions in plain values; what cannot be taken is a ``ValueError`` of one sentence."""
        adapted, encoder = self.adapted, self.adapted.spec.encoder
        with self._turn:
            items, notes = adapted.kind.received(values, encoder, self.limits)
            inputs, faults = encoded(encoder, items)
            if faults:
                place = next(iter(faults))
                raise ValueError(f"{names[place]} cannot be read to its end: send it whole.")
            probs = adapted.of_inputs(inputs)
        rows = zip(names, probs.argmax(1).tolist(), margin(probs).tolist(), probs.tolist(), strict=True)
        return {
            "classes": list(adapted.classes),
            "predictions": [
                {
                    "name": name,
                    "prediction": adapted.classes[label],
                    "probability": row[label],
                    "margin": ahead,
                    "probabilities": row,
                }
                for name, label, ahead, row in rows
            ],
            "notes": [f"{note[:1].upper()}{note[1:]}" for note in notes],
        }

    def about(self) -> dict[str, Any]:
        """What the model is and what it takes."""
        adapted, verdict = self.adapted, self.adapted.verdict
        columns = [{"name": c.name, "categories": list(c.categories)} for c in adapted.spec.columns]
        shape = list(adapted.spec.encoder.shape)
        return {
            "status": "ok",
            "kind": adapted.kind.name,
            "takes": adapted.kind.asks_for,
            "classes": list(adapted.classes),
            "method": adapted.settings.method,
            "verdict": verdict.word if verdict else None,
            **({"columns": columns} if columns else {"shape": shape} if shape else {}),
            "limits": vars(self.limits),
        }
