"""Tasks as a model takes them."""

from cst.config import Config
from cst.engine.setup import settle
from cst.models.spec import ModelSpec
from cst.tasks.own import task_in_memory


def encoded(task, config=None):
    """A raw task as the model that a configuration asks for takes it."""
    settings, _ = settle(config or Config(), task)
    return ModelSpec.of(task, settings, custom=False).encode(task)


def encoded_in_memory(source, target, target_labels=None):
    """The same of what is in memory."""
    return encoded(task_in_memory(source, target, target_labels))
