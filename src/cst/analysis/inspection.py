"""What two domains look like before anything is trained: counts, classes, sizes, duplicates."""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cst.data.domain import Domain, some
from cst.data.labels import check_classes, encode_labels, known_labels, label_array, missing
from cst.data.task import same_kind
from cst.kinds import KINDS

OFTEN, SHARE = 10, 0.01
"""How often, and in what share of a domain, one sample must lie for it to be no accident."""


def fingerprints(domain: Domain) -> list[str]:
    """What is equal for equal samples."""
    kind = KINDS[domain.kind]
    return [hashlib.blake2b(kind.fingerprint(item), digest_size=16).hexdigest() for item in domain.items]


def domain_figures(domain: Domain, labels: Sequence[Any] | None, prints: Sequence[str]) -> dict[str, Any]:
    """The figures of one domain, whose samples have these fingerprints."""
    kind = KINDS[domain.kind]
    sizes = [kind.size(item) for item in domain.items]
    counted = Counter(map(str, _as_classes(labels))) if labels is not None else None
    return {
        "samples": len(domain),
        "size_unit": kind.size_unit,
        "size": {"least": min(sizes), "median": int(statistics.median(sizes)), "most": max(sizes)},
        "classes": dict(sorted(counted.items())) if counted else None,
        "duplicates": len(prints) - len(set(prints)),
        "repeated": _repeated(domain, prints),
        "unreadable": list(domain.left_out),
        "fault": domain.fault,
    }


def _repeated(domain: Domain, prints: Sequence[str]) -> dict[str, Any]:
    """How many samples lie in the domain so often that somebody may have flooded it, and the one that does most."""
    counts = Counter(prints)
    often = [count for count in counts.values() if count >= max(OFTEN, SHARE * len(prints))]
    if not often:
        return {}
    first, times = counts.most_common(1)[0]
    return {"samples": len(often), "first": domain.names[list(prints).index(first)], "times": times}


def _as_classes(labels: Sequence[Any]) -> Sequence[Any]:
    """Labels as training takes them, those that are there: 1.0 is the class 1."""
    try:
        present = [label for label, gap in zip(labels, missing(labels), strict=True) if not gap]
        return label_array(present, "source").tolist()  # type: ignore[no-any-return]
    except ValueError:  # labels that training refuses
        return labels


def refusals(source: Domain, target: Domain, target_labels: Sequence[Any] | None) -> list[str]:
    """What training would say of these data instead of beginning."""
    sentences = list(filter(None, [KINDS[source.kind].refusal(source, target)]))
    for role, domain in (("source", source), ("target", target)):
        if len(domain) < 2:
            sentences.append(f"The {role} has one sample only: a batch needs at least two.")
    try:
        _, classes = encode_labels(source.labels)
        if KINDS[source.kind].unit == "row":
            check_classes(source.labels)
        if target_labels is not None:
            known_labels(target_labels, classes, len(target))
    except ValueError as error:
        sentences.append(str(error))
    return [f"Training would refuse these data. {sentence}" for sentence in sentences]


def warnings_of(figures: dict[str, Any]) -> list[str]:
    """What a careful person would want to know before training, one sentence each."""
    sentences = []
    if figures["shared"]:
        ours, theirs = figures["shared"][0]
        sentences.append(
            f"{len(figures['shared'])} of the target's samples are in the source too, {theirs} as {ours} first: "
            "a target that leaks into the source makes every figure too good."
        )
    for role in ("source", "target"):
        domain = figures[role]
        if domain["duplicates"]:
            sentences.append(f"The {role} holds {domain['duplicates']} duplicates.")
        if repeated := domain["repeated"]:
            sentences.append(
                f"{repeated['samples']} samples of the {role} are there again and again, {repeated['first']} as one of "
                f"{repeated['times']}: take the copies out, unless it is meant that they count so often."
            )
        if domain["unreadable"]:
            left_out = domain["unreadable"]
            sentences.append(f"{len(left_out)} of the {role}'s {domain['fault']}: {some(left_out)}.")
        counts = list((domain["classes"] or {}).values())
        if counts and max(counts) > 10 * min(counts):
            sentences.append(f"The {role}'s largest class has {max(counts)} samples, its smallest {min(counts)}.")
    return sentences


def _present(categories: Sequence[str], shares: Sequence[float]) -> list[Any]:
    """The categories that occur."""
    return [name for name, share in zip(categories, shares, strict=True) if share]


def column_figures(source: Domain, target: Domain) -> list[dict[str, Any]]:
    """Each column that is an input: its type, what it holds in either domain, and how far the two lie apart.

    The distance is the largest difference of the two distributions: the Kolmogorov-Smirnov statistic of numbers, the
    total variation of categories; 0 for equal ones, 1 for those without overlap.
    """
    figures, start = [], 0
    for column in source.columns:
        ours, theirs = (domain.items[:, start : start + column.width] for domain in (source, target))
        start += column.width
        if column.categories:
            shares = [block.mean(0) for block in (ours, theirs)]
            rest = abs(shares[0].sum() - shares[1].sum())
            distance = (abs(shares[0] - shares[1]).sum() + rest) / 2
            ranges: list[list[Any]] = [
                [name for name, s in zip(column.categories, share, strict=True) if s] for share in shares
            ]
        else:
            from scipy.stats import ks_2samp

            distance = ks_2samp(ours[:, 0], theirs[:, 0], method="asymp").statistic
            ranges = [[float(block.min()), float(block.max())] for block in (ours, theirs)]
        figures.append(
            {
                "name": column.name,
                "type": "category" if column.categories else "number",
                "source": ranges[0],
                "target": ranges[1],
                "distance": round(float(distance), 4),
            }
        )
    return figures


def _of_both(ours: Sequence[str], theirs: Sequence[str]) -> int:
    others = set(theirs)
    return sum(fingerprint in others for fingerprint in ours)


def inspect(source: Domain, target: Domain, target_labels: Sequence[Any] | None = None) -> dict[str, Any]:
    """All figures of both domains, and warnings."""
    same_kind(source.kind, target.kind)
    ours, theirs = fingerprints(source), fingerprints(target)
    known = dict(zip(ours, source.names, strict=True))
    figures: dict[str, Any] = {
        "kind": source.kind,
        "source": {**domain_figures(source, source.labels, ours), "shared": _of_both(ours, theirs)},
        "target": {**domain_figures(target, target_labels, theirs), "shared": _of_both(theirs, ours)},
        "shared": [(known[p], name) for p, name in zip(theirs, target.names, strict=True) if p in known],
        "columns": column_figures(source, target),
    }
    wrong = refusals(source, target, target_labels)
    remarks = KINDS[source.kind].remarks(source, target)
    return {**figures, "warnings": [*wrong, *warnings_of(figures), *remarks, *source.notes, *target.notes]}
