"""Did it help? Scores that need no label of the target."""

from cst.selection.outputs import Mixed, Outputs

__all__ = ["Mixed", "Outputs"]
