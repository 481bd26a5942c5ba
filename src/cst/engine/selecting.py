"""The best epoch by a score that needs no label of the target: its weights are kept while training goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cst.engine.snapshots import look
from cst.functional import pseudo_labels
from cst.selection import changed_share, scores

if TYPE_CHECKING:
    from cst.engine.run import Run
    from cst.engine.setup import Training

LAST = "last"
"""What ``select`` is called where nothing is selected."""


class Selecting:
    """Scores every epoch from the end of the warm-up on, and keeps the weights of the best.

    Args:
        name: of the validator.
        run: whose folder keeps the weights; without one they stay in memory.
    """

    def __init__(self, name: str, run: Run | None) -> None:
        self.name, self.run = name, run
        self.weights: dict[str, Any] | None = None

    def see(self, training: Training, history: list[dict[str, Any]]) -> None:
        """Score the present weights into the last record, and keep them if no earlier epoch was better."""
        record = history[-1]
        if not training.objective.is_adapted(record["epoch"]):
            return
        outputs = look(training).outputs
        present = scores(outputs)
        if self.name not in present:
            raise ValueError(
                f"select={self.name} needs views or mixtures of the inputs, which these have not: choose another."
            )
        record["scores"] = {name: round(score, 6) for name, score in present.items()}
        if before := training.objective.signs:
            record["changed_share"] = changed_share(before["labels"], pseudo_labels(outputs.target_logits).tolist())
        if self.best(history) == record["epoch"]:
            weights = training.model.state_dict()
            if self.run:
                self.run.save_weights(weights, self.run.selected_file)
            else:
                self.weights = {name: value.detach().cpu().clone() for name, value in weights.items()}

    def best(self, history: list[dict[str, Any]]) -> int:
        """The epoch with the highest score, the earliest of equals; the last where none has one."""
        scored = [record for record in history if "scores" in record]
        if not scored:
            return int(history[-1]["epoch"])
        return int(max(scored, key=lambda record: record["scores"][self.name])["epoch"])

    def finish(self, training: Training, history: list[dict[str, Any]]) -> dict[str, Any]:
        """Give the model the weights of the best epoch, keep the last ones beside them, and say which it was."""
        epoch = self.best(history)
        finished = self.run is not None and not self.run.selected_file.is_file()  # its model is the selected one
        if epoch != history[-1]["epoch"] and not finished:
            if self.run:
                self.run.save_weights(training.model.state_dict(), self.run.last_file)
                self.weights = self.run.load_weights(self.run.selected_file)
            assert self.weights is not None
            training.model.load_state_dict(self.weights)
        return {"by": self.name, "epoch": epoch, "last": history[-1]["epoch"]}
