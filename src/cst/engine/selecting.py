"""The epoch whose model is kept, told without labels of the target: its weights are kept while training goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from cst.engine.snapshots import look
from cst.functional import pseudo_labels
from cst.ranks.group import from_first
from cst.selection import BAD, Verdict, changed_share, scores

if TYPE_CHECKING:
    from cst.engine.run import Run
    from cst.engine.setup import Training

LAST, VERDICT = "last", "verdict"
"""What ``select`` is called where nothing is selected, and where the verdict decides."""

History = list[dict[str, Any]]


class Selecting:
    """Keeps the weights of one epoch from the end of the warm-up on, in the run's folder or in memory.

    Args:
        name: of the validator, or `VERDICT`.
        run: whose folder keeps the weights; without one they stay in memory.
    """

    def __init__(self, name: str, run: Run | None) -> None:
        self.name, self.run = name, run
        self.weights: dict[str, Any] | None = None

    def check(self, training: Training) -> None:
        """Refuse a score that these inputs cannot have, before anything is trained."""
        numbers = training.task.target.take(torch.tensor([0])).is_floating_point()
        if (self.name == "view-agreement" and training.views is None) or (self.name == "mixval" and not numbers):
            raise ValueError(
                f"select={self.name} needs views or mixtures of the inputs, which these have not: choose another."
            )

    def see_source_model(self, training: Training) -> None:
        """When the warm-up ends: with the verdict this model is what may be gone back to."""
        if self.name == VERDICT:
            self._keep(training)

    def see(self, training: Training, history: History) -> None:
        """After an epoch: score the present weights, and keep them if they are the best so far."""
        epoch = history[-1]["epoch"]
        if self.name != VERDICT and training.objective.is_adapted(epoch):
            self._score(training, history[-1])
            if self.best(history) == epoch:
                self._keep(training)

    def _score(self, training: Training, record: dict[str, Any]) -> None:
        outputs = look(training).outputs
        present = scores(outputs)
        record["scores"] = {name: round(score, 6) for name, score in present.items()}
        if before := training.objective.signs:
            record["changed_share"] = changed_share(before["labels"], pseudo_labels(outputs.target_logits).tolist())

    def _keep(self, training: Training) -> None:
        weights = training.model.state_dict()
        if self.run:
            self.run.save_weights(weights, self.run.selected_file)
        else:
            self.weights = {name: value.detach().cpu().clone() for name, value in weights.items()}

    def best(self, history: History) -> int:
        """The epoch with the highest score, the earliest of equals; the last where none has one."""
        scored = [record for record in history if "scores" in record]
        if not scored:
            return int(history[-1]["epoch"])
        return int(max(scored, key=lambda record: record["scores"][self.name])["epoch"])

    def finish(self, training: Training, history: History, verdict: Verdict | None = None) -> dict[str, Any]:
        """Give the model the weights of the kept epoch, keep the last ones beside them, and say which it was.

        With `VERDICT` only where it is a bad one; the last epoch is kept otherwise.
        """
        last, because = history[-1]["epoch"], {}
        finished = self.run and self.run.result
        if self.run and finished and not from_first(self.run.selected_file.is_file):  # finished before, and resumed
            training.model.load_state_dict(self.run.load_weights())
            return dict(finished["selected"])
        epoch: float = self.best(history)
        if self.name == VERDICT:
            epoch = last
            if verdict is not None and verdict.word in BAD and self._has_source_model:
                epoch, because = training.objective.warm_until, {"because": f"{verdict.word}: {verdict.sentences[0]}"}
        if epoch != last:
            if self.run:
                self.run.save_weights(training.model.state_dict(), self.run.last_file)
                self.weights = self.run.load_weights(self.run.selected_file)
            assert self.weights is not None
            training.model.load_state_dict(self.weights)
        return {"by": self.name, "epoch": epoch, "last": last, **because}

    @property
    def _has_source_model(self) -> bool:
        return self.weights is not None or (self.run is not None and from_first(self.run.selected_file.is_file))
