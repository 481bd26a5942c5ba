"""One page on one run that needs nothing else: `cst report`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cst.analysis.drawing import DARK, LIGHT, png
from cst.analysis.plates import Plate, plates
from cst.analysis.report.gallery import gallery
from cst.analysis.report.markup import Html, joined, tag
from cst.analysis.report.sections import TONES, confusion, facts, reproduce, verdict, what_was_done
from cst.files import write_text_aside

if TYPE_CHECKING:
    from cst.analysis.subject import Subject

SHOWN = ("embedding", "classes", "variation", "round-trip", "roc", "margins", "alpha")
"""Figures of one run, those first that say most."""
DPI = 120


def write_report(run: Subject, path: Path, commands: Sequence[str], spell: Callable[[str], str] = str) -> None:
    """Write the page.

    Args:
        run: what it is about.
        path: of the page.
        commands: how to repeat the run, as they are typed.
        spell: how sentences of the library name options to the reader.
    """
    write_text_aside(path, page(run, commands, spell))


def page(run: Subject, commands: Sequence[str], spell: Callable[[str], str] = str) -> Html:
    """The page. Its policy lets no script run but its own, and lets nothing be loaded."""
    made = plates([run], SHOWN)
    drawn = sorted((plate for plate in made if isinstance(plate, Plate)), key=lambda plate: SHOWN.index(plate.name))
    gaps = [s for plate in made for s in (plate.notes if isinstance(plate, Plate) else [_absent(plate)])]
    if run.trouble:
        gaps.insert(0, f"The data are not read, so there are no examples: {run.trouble}")
    pictures = gallery(run)
    sections: list[tuple[str, str, Any]] = [
        ("verdict", "Did adapting help?", verdict(run)),
        ("done", "What was done", what_was_done(run)),
        ("figures", "Figures", tag("div", *map(_figure, drawn), class_="figures") if drawn else None),
        ("look", "Look and judge", pictures and joined(_lead(run), pictures)),
        ("confusion", "Against the labels (oracle)", confusion(run)),
        ("missing", "What is missing here", tag("ul", *(tag("li", spell(gap)) for gap in gaps)) if gaps else None),
        ("again", "How to reproduce it", reproduce(run, commands)),
    ]
    parts = [(key, title, content) for key, title, content in sections if content]
    title = f"{run.task_name}: {run.settings.method}"
    return joined(Html("<!doctype html>\n"), tag("html", _head(title), _body(run, title, parts), lang="en"), "\n")


def _absent(plate: Any) -> str:
    return f"{plate.title}: {plate.reason}"


def _head(title: str) -> Html:
    style, script = _file("page.css"), _file("page.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{_digest(style)}'; "
        f"script-src 'sha256-{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} - cst report"),
        tag("style", Html(style)),
    )


def _body(run: Subject, title: str, parts: Sequence[tuple[str, str, Any]]) -> Html:
    links = [tag("li", tag("a", words, href=f"#{key}")) for key, words, _ in parts]
    word = str((run.result.get("verdict") or {}).get("word", ""))
    badge = tag("span", word, class_=f"badge {TONES.get(word, 'even')}") if word else None
    return tag(
        "body",
        tag("a", "Skip to the content", href="#main", class_="skip"),
        tag("header", tag("p", "cst report", class_="kicker"), tag("h1", title, " ", badge), facts(run)),
        tag("nav", tag("ul", *links), aria_label="Contents"),
        tag("main", *(_section(*part) for part in parts), id="main", tabindex="-1"),
        tag("footer", tag("p", "Cycle Self-Training for Domain Adaptation, NeurIPS 2021, arXiv:2103.03571.")),
        tag("script", Html(_file("page.js"))),
    )


def _section(key: str, title: str, content: Any) -> Html:
    return tag("section", tag("h2", title, id=f"{key}-title"), content, id=key, aria_labelledby=f"{key}-title")


def _lead(run: Subject) -> Html:
    return tag(
        "p",
        "Samples of the target, by predicted class: those of which the model is surest, and those of which it is "
        "least sure. Wrong ones among the surest are a bad sign.",
    )


def _figure(plate: Plate) -> Html:
    """A figure in both colour schemes, with its words."""
    light, dark = (_address(png(plate.draw, theme, DPI)) for theme in (LIGHT, DARK))
    picture = tag(
        "picture",
        tag("source", srcset=dark, media="(prefers-color-scheme: dark)"),
        tag("img", src=light, alt=f"{plate.title}. {plate.text}"),
    )
    beside = f"Compare the paper: {plate.paper}." if plate.paper.startswith(("Figure", "Appendix")) else ""
    caption = tag("figcaption", tag("h3", plate.title), tag("p", plate.meaning, " ", tag("small", beside)))
    return tag("figure", caption, picture)


def _address(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
