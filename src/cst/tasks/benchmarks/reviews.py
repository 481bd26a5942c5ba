"""The Amazon reviews of Blitzer et al.: pseudo-XML that no XML parser takes."""

from __future__ import annotations

import re
from pathlib import Path

from cst.data.domain import Domain
from cst.tasks.names import REVIEWS

PLACES = ("amazon-reviews", "sorted_data_acl", "sorted_data")
ORIGIN = "the Multi-Domain Sentiment Dataset page of M. Dredze (domain_sentiment_data.tar.gz)"
PER_FILE = 1000

_REVIEW = re.compile(r"<review>(.*?)</review>", re.DOTALL)


def _field(review: str, name: str) -> str:
    match = re.search(rf"<{name}>(.*?)</{name}>", review, re.DOTALL)
    return " ".join(match.group(1).split()) if match else ""


def read_reviews(root: Path, domain: str) -> tuple[Domain, list[str]]:
    """Title and text of every review of a domain, negative and positive, and what is missing."""
    name = REVIEWS[domain]
    texts, labels, names, notes = [], [], [], []
    for label in ("negative", "positive"):
        path = next((p for p in (root / place / name / f"{label}.review" for place in PLACES) if p.is_file()), None)
        if path is None:
            raise ValueError(f"{root / PLACES[0] / name / label}.review is missing: get it from {ORIGIN}.")
        reviews = _REVIEW.findall(path.read_text(encoding="utf-8", errors="replace"))
        bodies = [". ".join(filter(None, (_field(r, "title"), _field(r, "review_text")))) for r in reviews]
        if not any(bodies):
            raise ValueError(f"{path} holds no reviews: get it anew from {ORIGIN}.")
        if len(bodies) != PER_FILE:
            notes.append(f"{len(bodies):,} of the {PER_FILE:,} reviews of {name}/{label} are there.")
        names += [f"{name}/{label}/{row}" for row, text in enumerate(bodies) if text]
        texts += [text for text in bodies if text]
        labels += [label for text in bodies if text]
    return Domain("text", texts, names, labels), notes
