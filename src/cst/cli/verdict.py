"""The verdict and the selection of a run, as commands print them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cst.cli.flags import tell
from cst.cli.output import print_table
from cst.engine.metrics import metric


def print_verdict(result: Mapping[str, Any]) -> None:
    """What became of the run, in words, with the evidence."""
    verdict = result.get("verdict")
    if not verdict:
        return
    tell(f"Verdict: {verdict['word']}. {' '.join(verdict['sentences'])}".rstrip())
    if verdict["reliability"]:
        tell(verdict["reliability"])


def print_evidence(result: Mapping[str, Any]) -> None:
    """Every score before and after adapting."""
    evidence = (result.get("verdict") or {}).get("evidence", {})
    rows = [[sign["label"], _figure(sign["before"]), _figure(sign["after"])] for sign in evidence.values()]
    if rows:
        print_table("Scores without target labels, higher is better", ["score", "before", "after"], rows)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def print_selection(result: Mapping[str, Any], history: list[dict[str, Any]]) -> None:
    """Which epoch was selected, and, where labels are known, what that cost against the best one."""
    selected = result.get("selected")
    if not selected:
        return
    tell(f"Selected: epoch {selected['epoch']:g} of {selected['last']}, by {selected['by']}.")
    show, last = metric("accuracy").show, result.get("last", {}).get("oracle", {})
    judged = [record for record in history if "accuracy" in record.get("oracle", {})]
    if not judged and "accuracy" in last:  # labels that came after training
        tell(f"Accuracy (oracle): selected {show(result['oracle']['accuracy'])}, last {show(last['accuracy'])}.")
    known = {record["epoch"]: record["oracle"]["accuracy"] for record in judged}
    if selected["epoch"] not in known:  # no labels, or a warm-up that ended within an epoch
        return
    best = max(known, key=lambda epoch: known[epoch])
    regret = known[best] - known[selected["epoch"]]
    figures = f"selected {show(known[selected['epoch']])}, last {show(known[selected['last']])}"
    tell(f"Accuracy (oracle): {figures}, best epoch {best} {show(known[best])}; regret {show(regret)} points.")
