"""Adapt a classifier from a labelled source domain to an unlabelled target domain with Cycle Self-Training."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cst import functional
    from cst.adapted import Adapted, load
    from cst.api import adapt
    from cst.config import Config
    from cst.grammar import parse_method

__version__ = "0.1.0"
__all__ = ["Adapted", "Config", "__version__", "adapt", "functional", "load", "parse_method"]

_HOMES = {
    "adapt": "cst.api",
    "Adapted": "cst.adapted",
    "load": "cst.adapted",
    "Config": "cst.config",
    "parse_method": "cst.grammar",
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
