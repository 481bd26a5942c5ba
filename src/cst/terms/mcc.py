"""MCC: minimum class confusion (Jin et al., 2020)."""

from __future__ import annotations

from cst.terms.confusion import Confusion


class MCC(Confusion):
    """The mean off-diagonal mass of the class-confusion matrix: the published "Tsallis" entropy at alpha = 2 over K.

    Args:
        temperature: by which the logits are divided.

    >>> from cst.terms.example import loss_on_example
    >>> loss_on_example(MCC(temperature=2.0)) == loss_on_example(Confusion(alpha=2.0, temperature=2.0))
    True
    """

    def __init__(self, temperature: float = 2.5) -> None:
        super().__init__(alpha=2.0, temperature=temperature)
