"""Adapt a classifier from a labelled source domain to an unlabelled target domain with Cycle Self-Training."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cst import functional
    from cst.api import adapt, register
    from cst.bench.compare import compare
    from cst.config import Config
    from cst.engine.adapted import Adapted, load
    from cst.engine.callbacks import Callback
    from cst.grammar import parse_method
    from cst.term_sum import TermSum
    from cst.terms.contract import Epoch, Problem, Step, Term

__version__ = "0.1.0"
__all__ = [
    "Adapted",
    "Callback",
    "Config",
    "Epoch",
    "Problem",
    "Step",
    "Term",
    "TermSum",
    "__version__",
    "adapt",
    "compare",
    "functional",
    "load",
    "parse_method",
    "register",
]

_HOMES = {
    "adapt": "cst.api",
    "register": "cst.api",
    "compare": "cst.bench.compare",
    "Adapted": "cst.engine.adapted",
    "load": "cst.engine.adapted",
    "Callback": "cst.engine.callbacks",
    "Config": "cst.config",
    "parse_method": "cst.grammar",
    "TermSum": "cst.term_sum",
    **dict.fromkeys(("Epoch", "Problem", "Step", "Term"), "cst.terms.contract"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line must not wait for torch."""
    if name == "functional":
        return import_module("cst.functional")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'cst' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
