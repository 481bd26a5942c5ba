"""MCD: two heads that disagree where the target is not understood (Saito et al., 2018)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from cst.terms.contract import Network, Problem, Step, Term
from cst.terms.heads import twin_head


class MCD(Term):
    """Maximum classifier discrepancy, in the three phases of the update rule ``alternating``.

    ``all``: both heads and the backbone learn the source. ``heads``: the heads also maximise their
    discrepancy ``E_Q |p_1 - p_2|`` on the target. ``features``: the backbone alone minimises it. The second head is
    built like the model's own, for which the method ``mcd`` sets a hidden layer.

    >>> from cst.terms.example import loss_on_example
    >>> everything, heads, features = (loss_on_example(MCD(), phase=phase) for phase in ("all", "heads", "features"))
    >>> 0 < features < 1, abs(heads - (everything - features)) < 1e-5
    (True, True)
    """

    def setup(self, problem: Problem) -> None:
        """Make what the first head is compared with."""
        super().setup(problem)
        self._add_heads(problem.network)

    def _add_heads(self, network: Network) -> None:
        self.second: nn.Module = twin_head(network)

    def outputs(self, step: Step, domain: str) -> tuple[Tensor, Tensor]:
        """Logits [N, K] of both heads on one domain.

        >>> from cst.terms.example import example_step, loss_on_example
        >>> mcd = MCD()
        >>> _ = loss_on_example(mcd)  # sets it up
        >>> [logits.shape for logits in mcd.outputs(example_step(), "target")]
        [torch.Size([12, 3]), torch.Size([12, 3])]
        """
        view = step.source if domain == "source" else step.target
        return view.logits, view.through(self.second)

    def discrepancy(self, step: Step) -> Tensor:
        """``E_Q |p_1 - p_2|``, mean over samples and classes; a scalar."""
        first, second = self.outputs(step, "target")
        return (first.softmax(-1) - second.softmax(-1)).abs().mean()

    def source_loss(self, step: Step) -> Tensor:
        """Cross-entropy of the second head, a scalar; the first one's is the term ``source``."""
        return F.cross_entropy(self.outputs(step, "source")[1], step.labels)

    def replaces(self, step: Step) -> tuple[str, ...]:
        """The backbone's own phase looks at the discrepancy only."""
        return ("source",) if step.phase == "features" else ()

    def forward(self, step: Step) -> Tensor:
        """The loss of the present phase, a scalar."""
        if step.phase == "features":
            return self.discrepancy(step)
        loss = self.source_loss(step)
        return loss - self.discrepancy(step) if step.phase == "heads" else loss
