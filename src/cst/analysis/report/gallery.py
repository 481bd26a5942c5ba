"""Examples of the target to look at: of each predicted class the most and the least certain ones."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from cst.analysis.report.markup import Html, joined, tag
from cst.data.labels import UNKNOWN
from cst.functional import margin
from cst.kinds import KINDS

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from cst.analysis.subject import Subject

MOST_EXAMPLES = 96
MOST_OF_A_CLASS = 12
"""Of the most certain ones, and of the least certain ones."""
SIDE = 96
LONGEST = 400
"""Characters of a text."""
MOST_CELLS = 8
"""Columns of a table."""
MOST, LEAST = "most", "least"


@dataclass(frozen=True)
class Example:
    """The place of a sample in the target, and why it is shown."""

    position: int
    certainty: str


def chosen(predicted: Tensor, margins: Tensor, num_classes: int, most: int = MOST_EXAMPLES) -> list[Example]:
    """Of each predicted class the samples with the largest and the smallest margins, as many of each class.

    Args:
        predicted: classes [N].
        margins: how far the first choice lies ahead of the second [N].
        num_classes: K.
        most: examples in all.
    """
    present = [c for c in range(num_classes) if bool((predicted == c).any())][: most // 2]
    each = min(MOST_OF_A_CLASS, max(1, most // max(2 * len(present), 1)))
    examples = []
    for number in present:
        places = (predicted == number).nonzero().flatten()
        order = places[margins[places].argsort(descending=True, stable=True)].tolist()
        top = order[: min(each, -(-len(order) // 2))]
        bottom = [place for place in reversed(order[-each:]) if place not in top]
        examples += [Example(place, MOST) for place in top] + [Example(place, LEAST) for place in bottom]
    return examples


def gallery(run: Subject) -> Html | None:
    """The examples and what filters them; ``None`` where the data are gone."""
    data, predictions = run.data, run.predictions
    if data is None or predictions is None:
        return None
    probs, predicted = predictions.probs, predictions.pseudo_labels
    if probs.shape[-1] < 2:
        return None
    margins = margin(probs)
    examples = chosen(predicted, margins, len(run.classes))
    labels = predictions.labels
    cards = []
    for example in examples:
        label = None if labels is None or labels[example.position] == UNKNOWN else int(labels[example.position])
        cards.append(_card(run, example, probs[example.position], float(margins[example.position]), label))
    counts = {c: sum(int(predicted[e.position]) == c for e in examples) for c in range(len(run.classes))}
    judged = labels is not None and any(labels[e.position] != UNKNOWN for e in examples)
    return joined(
        _filters(run, counts, judged),
        tag("p", f"{len(examples)} examples.", id="shown", role="status", aria_live="polite"),
        tag("ul", *cards, class_="gallery", id="examples"),
    )


def _filters(run: Subject, counts: dict[int, int], judged: bool) -> Html:
    """Choices that a few lines of script act on; without it they stay hidden and all is shown."""
    options = [tag("option", f"all ({sum(counts.values())})", value="")]
    options += [tag("option", f"{run.classes[c]} ({n})", value=c) for c, n in counts.items() if n]
    select = tag("label", tag("span", "Predicted class"), tag("select", *options, name="class"))
    sides = {"": "all", MOST: "most certain", LEAST: "least certain"}
    groups = [_choice("Certainty", "certainty", sides)]
    if judged:
        groups.append(_choice("Against the label", "judged", {"": "all", "right": "right", "wrong": "wrong"}))
    again = tag("button", "Show all", type="reset")
    return tag(
        "form",
        select,
        *groups,
        again,
        id="filters",
        hidden=True,
        autocomplete="off",
        aria_label="Filter the examples",
        aria_controls="examples",
    )


def _choice(legend: str, name: str, values: dict[str, str]) -> Html:
    boxes = [
        tag("label", tag("input", type="radio", name=name, value=value, checked=not value), tag("span", word))
        for value, word in values.items()
    ]
    return tag("fieldset", tag("legend", legend), tag("div", *boxes, class_="choice"))


def _card(run: Subject, example: Example, probs: Tensor, ahead: float, label: int | None) -> Html:
    assert run.data is not None
    domain = run.data.task.target
    (first, second), (one, two) = (values.tolist() for values in probs.topk(2))
    name, other = run.classes[one], run.classes[two]
    judged = None if label is None else "right" if label == one else "wrong"
    lines = [
        tag("p", tag("strong", name), " ", tag("span", f"{100 * first:.0f} %", class_="share"), class_="guess"),
        tag("meter", f"{100 * first:.0f} %", min=0, max=1, value=round(first, 3), aria_hidden="true"),
        tag("p", f"then {other}, {100 * second:.0f} %", class_="second"),
    ]
    if label is not None:
        mark = "✓ right" if judged == "right" else f"✗ wrong, labelled {run.classes[label]}"
        lines.append(tag("p", mark, class_=judged))
    called = f"{KINDS[domain.kind].unit} {domain.names[example.position]}"
    lines.append(tag("p", called, class_="name", title=called))
    return tag(
        "li",
        _face(domain, example.position, name),
        tag("div", *lines, class_="words"),
        data_class=one,
        data_certainty=example.certainty,
        data_judged=judged or "",
        data_margin=round(ahead, 3),
    )


def _face(domain: Any, position: int, name: str) -> Html | None:
    """What a sample looks like: a picture, or its words."""
    kind = KINDS[domain.kind]
    try:
        picture = kind.thumbnail(domain.items[position], SIDE)
    except (OSError, ValueError, TypeError):  # a file that is gone since, or an array that is no picture
        return tag("p", "This sample cannot be shown.", class_="excerpt")
    if picture is not None:
        alt = f"Target sample {domain.names[position]}, predicted {name}"
        return tag("img", src=_inline(picture), alt=alt, width=picture.width, height=picture.height)
    cells = kind.cells(domain, position)
    if len(cells) == 1 and not cells[0][0]:
        return tag("blockquote", cut(cells[0][1]), class_="excerpt", dir="auto")
    rest = f"and {len(cells) - MOST_CELLS} more columns" if len(cells) > MOST_CELLS else None
    pairs = [joined(tag("dt", cut(key, 40)), tag("dd", cut(value, 60))) for key, value in cells[:MOST_CELLS]]
    return tag("div", tag("dl", *pairs), rest and tag("p", rest), class_="excerpt")


def cut(words: str, longest: int = LONGEST) -> str:
    """A text of bounded length.

    >>> cut("one two three", 8)
    'one two…'
    """
    return words if len(words) <= longest else words[: longest - 1].rstrip() + "…"


def _inline(picture: Picture) -> str:
    """A picture as an address that holds it, in the smaller of two formats."""
    picture = picture.convert("RGB")
    choices = []
    for form, options in (("png", {"optimize": True}), ("jpeg", {"quality": 80})):
        buffer = io.BytesIO()
        picture.save(buffer, form, **options)
        choices.append((buffer.tell(), f"data:image/{form};base64,{base64.b64encode(buffer.getvalue()).decode()}"))
    return min(choices)[1]
