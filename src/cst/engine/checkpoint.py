"""All that is needed to go on after the last finished epoch, and nothing that is not."""

from __future__ import annotations

from typing import Any

from cst.engine.run import Run
from cst.engine.setup import Training


def save(run: Run, training: Training, epochs: int) -> None:
    """Replace the checkpoint of a run by its present state, after ``epochs`` epochs."""
    run.save_checkpoint(
        {
            "epochs": epochs,
            "objective": training.objective.state_dict(),
            "optimizer": training.optimizer.state_dict(),
            "memory": training.memory.state_dict(),
            "data": training.identity,
        }
    )


def restore(run: Run, training: Training) -> list[dict[str, Any]]:
    """Go back to the last checkpoint and return the records of the epochs behind it."""
    state = run.load_checkpoint()
    if state is None:
        return run.rewind(0)
    changed = [key for key, value in state["data"].items() if training.identity[key] != value]
    if changed:
        raise ValueError(f"{run.folder} began with other data ({' and '.join(changed)} differ): resume it with those.")
    if "objective" not in state:  # the run is finished
        training.model.load_state_dict(run.load_weights())
        return run.rewind(state["epochs"])
    try:
        training.objective.load_state_dict(state["objective"])
    except RuntimeError:
        raise ValueError(f"{run.folder} began with another model: resume it with the same data and backbone.") from None
    training.optimizer.load_state_dict(state["optimizer"])
    training.memory.load_state_dict(training.feed.to_device(state["memory"]))
    return run.rewind(state["epochs"])
