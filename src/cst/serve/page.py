"""The page for people: a picture to drop, a text to type, or the columns of a table to fill in."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from cst.analysis.report.markup import Html, joined, tag
from cst.analysis.report.sections import TONES
from cst.data.columns import Column
from cst.kinds.contract import FILES, ROWS, TEXTS
from cst.serve.predictor import Predictor

SHORT = 5
"""Numbers of an example."""


def page(predictor: Predictor) -> Html:
    """The whole page; it loads nothing and asks nobody but this server."""
    adapted = predictor.adapted
    title = f"{adapted.settings.label_of_data}: {adapted.settings.method}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} - cst serve"),
        tag("style", Html(_style())),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag("header", tag("p", "cst serve", class_="kicker"), tag("h1", title), _facts(predictor)),
        tag(
            "main",
            tag("section", tag("h2", "Ask", id="ask-title"), FORMS[adapted.kind.asks_for](predictor), **_by("ask")),
            tag(
                "section",
                tag("h2", "Answer", id="answer-title"),
                tag("p", "Nothing has been asked yet.", id="status", role="status"),
                tag("div", id="results"),
                **_by("answer"),
            ),
            id="main",
            tabindex="-1",
        ),
        tag("footer", _words(predictor)),
        tag("noscript", tag("p", "The page needs JavaScript; programs ask POST /predict.")),
        tag("script", Html(_script())),
    )
    return joined(Html("<!doctype html>\n"), tag("html", head, body, lang="en"), "\n")


def policy() -> str:
    """What a browser lets the page do: run its own script, ask this server, show what the person chose."""
    style, script = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in (_style(), _script()))
    return (
        f"default-src 'none'; img-src blob: data:; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _by(name: str) -> dict[str, str]:
    return {"aria_labelledby": f"{name}-title"}


def _facts(predictor: Predictor) -> Html:
    adapted = predictor.adapted
    items = [tag("li", tag("strong", len(adapted.classes)), " classes")]
    if adapted.verdict:
        word = adapted.verdict.word
        items.append(tag("li", "verdict of the training ", tag("span", word, class_=f"mark {TONES.get(word, 'even')}")))
    return tag("ul", *items, class_="facts")


def _words(predictor: Predictor) -> Html:
    calibrated = predictor.adapted.spec.temperature != 1
    sure = "Probabilities are calibrated without labels of the target." if calibrated else ""
    return tag("p", f"{sure} The model knows no other classes: it names one of them whatever it is asked.".strip())


def _form(predictor: Predictor, *content: Html | None, button: str = "Classify", submit: bool = True) -> Html:
    limits = predictor.limits
    return tag(
        "form",
        *content,
        tag("button", button, type="submit") if submit else None,
        id="ask",
        data_takes=predictor.adapted.kind.asks_for,
        data_body=limits.body,
        data_count=limits.count,
        autocomplete="off",
    )


def _files(predictor: Predictor) -> Html:
    most = f"At most {predictor.limits.count} at a time, {predictor.limits.body / 2**20:.0f} MB together."
    box = tag("input", type="file", accept="image/*", multiple=True, id="files", aria_describedby="most")
    words = tag("span", tag("strong", "Drop pictures here"), tag("span", "or choose them, or paste one"))
    return _form(predictor, tag("label", words, box, class_="drop"), tag("p", most, id="most"), submit=False)


def _texts(predictor: Predictor) -> Html:
    area = tag("textarea", id="text", rows=6, dir="auto", aria_describedby="keys")
    label = tag("label", tag("span", "A text"), area, class_="wide")
    return _form(predictor, label, tag("p", "Ctrl and Enter classify it, too.", id="keys"))


def _rows(predictor: Predictor) -> Html:
    spec = predictor.adapted.spec
    if spec.columns:
        words = "What is left empty is filled in with what is usual."
        return _form(predictor, tag("p", words), tag("div", *map(_field, spec.columns), class_="fields"))
    shape = spec.encoder.shape
    count = 1
    for side in shape:
        count *= side
    example = ", ".join(["0.5"] * min(count, SHORT)) + (", ..." if count > SHORT else "")
    area = tag("textarea", id="numbers", rows=4, placeholder=example, data_shape=",".join(map(str, shape)))
    return _form(predictor, tag("label", tag("span", f"{count} numbers, with commas between"), area, class_="wide"))


def _field(column: Column) -> Html:
    if column.categories:
        choices = [
            tag("option", "not known", value=""),
            *(tag("option", word, value=word) for word in column.categories),
        ]
        box = tag("select", *choices, data_column=column.name)
    else:
        usual = f"{column.fill:.4g}" if isinstance(column.fill, float) else ""
        box = tag("input", type="text", inputmode="decimal", placeholder=usual, data_column=column.name)
    return tag("label", tag("span", column.name), box)


FORMS: dict[str, Callable[[Predictor], Html]] = {FILES: _files, TEXTS: _texts, ROWS: _rows}


@cache
def _style() -> str:
    """The report's, and what a form needs."""
    report = files("cst.analysis.report").joinpath("page.css").read_text(encoding="utf-8")
    return report + files(__package__).joinpath("page.css").read_text(encoding="utf-8")


@cache
def _script() -> str:
    return files(__package__).joinpath("page.js").read_text(encoding="utf-8")
