"""What to adapt: a task by name, or the user's own data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cst.config import Config
    from cst.data.columns import Column
    from cst.data.task import Task


def load_task(config: Config, columns: tuple[Column, ...] = ()) -> Task:
    """The task that a configuration names; ``columns`` are those of an earlier run, whose model is to take the data."""
    from cst.config.options import OWN_DATA

    if config.source is not None:
        from cst.tasks.own import own_task

        task = own_task(config, columns)
    elif config.task_name == OWN_DATA:
        raise ValueError("This run was trained on data of your own: name them with source= and target=.")
    else:
        from cst.tasks.catalogue import named_task

        task = named_task(config.task_name, config.data_root, config.strict)
    return resampled_as_asked(task, config)


def resampled_as_asked(task: Task, config: Config) -> Task:
    """The task, or the subsets of Section 2.1 if the configuration asks for them."""
    if not config.resample:
        return task
    from cst.tasks.resampling import resampled

    return resampled(task, config.resample, config.seed or 0)
