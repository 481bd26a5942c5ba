"""MCC: minimum class confusion (Jin et al., 2020)."""

from __future__ import annotations

from cst.terms.confusion import Confusion
from cst.terms.contract import Problem


class MCC(Confusion):
    """The mean off-diagonal mass of the class-confusion matrix: the published "Tsallis" entropy at alpha = 2 over K."""

    def __init__(self, problem: Problem, temperature: float = 2.5) -> None:
        super().__init__(problem, alpha=2.0, temperature=temperature)
