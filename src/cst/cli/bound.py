"""What `cst evaluate --bound` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cst.bench.tables import percent
from cst.cli.output import print_table

if TYPE_CHECKING:
    from cst.theory.report import Report

ASSUMED = """Assumed and not verified:
- Expansion: P and Q have ({q:g}, {epsilon:g})-constant expansion for balls of radius {radius:.3g} in feature space.
  The second table has what the sample says of it: an upper estimate from pseudo-labels, where 0 confirms nothing.
- Equal class shares in both domains, and classes that do not overlap{gap}.
- Means over these samples, on which the model was trained, are the expectations of the theorem. The complexity terms
  of Theorem 2 are not computed; the line L_CST + 2 q holds up to them.
- Features are the inputs of the theorem. With batch-norm statistics of each domain, a feature is another function
  of the input in each."""


def print_bound(report: Report) -> None:
    """The terms, the sum, what Theorem 2 makes of it, and what is assumed."""
    print_table("Theorem 1, in feature space", ["term", "in words", "%"], _terms(report), left=2)
    columns = ["radius", "rho %", f"epsilon at q = {report.q:g}, at most", "bound %, estimated epsilon"]
    print_table("Neighbourhoods of other sizes", columns, _radii(report))
    print_table("Confidence and inputs", ["term", "in words", "value"], _confidence(report), left=2)
    gap = report.oracle_class_gap
    said = "" if gap is None else f" (oracle: shares differ by up to {percent(gap)} points)"
    print(ASSUMED.format(q=report.q, epsilon=report.epsilon, radius=report.radius, gap=said))


def _terms(report: Report) -> list[list[str]]:
    moved = percent(report.robustness)
    last = f"rho = {moved} % have a feature within {report.radius:.3g} that is predicted otherwise;"
    rows = [
        ["Err_P(f_t)", "cycle source error: the target head's error on the source", percent(report.cycle_source_error)],
        ["c", "share of the target on which the two heads disagree", percent(report.disagreement)],
        ["2 q", f"q = {report.q:g} is assumed", percent(2 * report.q)],
        [
            "rho / min(epsilon, q)",
            f"{last} epsilon = {report.epsilon:g} is assumed",
            percent(report.robustness / min(report.q, report.epsilon)),
        ],
        ["bound on Err_Q(f_s)", _verdict(report), percent(report.bound)],
    ]
    if report.oracle_error is not None:
        rows.append(["Err_Q(f_s)", "oracle: the source head's error on the target", percent(report.oracle_error)])
    return rows


def _verdict(report: Report) -> str:
    if report.refuted:
        return "oracle: the true error is larger, so one of the assumptions below fails"
    return "says nothing: it is not below 100 %" if report.bound >= 1 else "if the assumptions below hold"


def _radii(report: Report) -> list[list[str]]:
    rows = []
    for row in report.radii:
        bound = "none" if row.bound is None else f"{percent(row.bound)} (q = {row.best_q:g})"
        rows.append([f"{row.radius:.3g}", percent(row.robustness), f"{row.expansion:.4f}", bound])
    return rows


def _confidence(report: Report) -> list[list[str]]:
    rows = [
        ["E M(f_t)", "mean margin of the target head, scores cut to [0, 1]", f"{report.mean_margin:.3f}"],
        ["L", "Lipschitz constant of its scores in feature space", f"{report.lipschitz:.3f}"],
        ["L_P,gamma(f_t)", "cycle loss of Theorem 2, gamma = 0.1", f"{report.cycle_margin_loss:.3f}"],
        ["L_Q,gamma(f_t, f_s)", "target loss of Theorem 2", f"{report.target_margin_loss:.3f}"],
    ]
    if report.robustness_by_confidence is None or report.margin_bound is None:
        rows.append(["rho by Lemma 3", "confidence says nothing: 2 L times the radius is not below 1", "none"])
    else:
        rows.append(["rho by Lemma 3", "what confidence alone guarantees", f"{report.robustness_by_confidence:.3f}"])
        rows.append(["L_CST + 2 q", "Theorem 2 without its complexity terms", f"{report.margin_bound:.3f}"])
    if report.input_robustness is None:
        rows.append(["rho of inputs", "not measured: inputs are not numbers that can be moved a little", "none"])
    else:
        words = f"share changed by a search within {report.input_radius:.3g} of an input: a lower bound"
        rows.append(["rho of inputs", words, f"{report.input_robustness:.3f}"])
    return rows
