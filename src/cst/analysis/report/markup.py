"""HTML in which escaping is the rule: what is not known to be markup is text."""

from __future__ import annotations

import html
from typing import Any

from cst.spelling import printable

JOINERS = "\u200c\u200d\u00ad"
"""Marks within words and pictograms; other marks that cannot be seen are spelled out."""
VOID = ("img", "input", "meta", "source", "br")
"""Elements without an end."""


class Html(str):
    """Markup; any other string is text."""

    __slots__ = ()


def text(value: Any) -> Html:
    """A value as it stands between or in tags: markup as it is, anything else escaped.

    >>> text("<b>'bold'</b>")
    '&lt;b&gt;&#x27;bold&#x27;&lt;/b&gt;'
    """
    if isinstance(value, Html):
        return value
    visible = "".join(letter if letter in JOINERS else printable(letter) for letter in str(value))
    return Html(html.escape(visible, quote=True))


def tag(element: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. ``class_`` and ``aria_label`` become ``class`` and ``aria-label``; ``True`` stands alone, ``None``
    and ``False`` are left out.

    >>> tag("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    words = [element]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(attribute)
        elif value is not None and value is not False:
            words.append(f'{attribute}="{text(value)}"')
    opening = f"<{' '.join(words)}>"
    return Html(opening if element in VOID else f"{opening}{joined(*children)}</{element}>")


def joined(*parts: Any) -> Html:
    """Parts one after the other; nothing for ``None``."""
    return Html("".join(text(part) for part in parts if part is not None))


def table(caption: Any, head: list[Any], rows: list[list[Any]], class_: str | None = None) -> Html:
    """A table whose first column heads its rows; on narrow screens it can be scrolled, with the keyboard too."""
    top = tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head)))
    body = [tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest)) for first, *rest in rows]
    whole = tag("table", tag("caption", caption), top, tag("tbody", *body), class_=class_)
    return scrolled(whole, caption)


def scrolled(content: Html, label: Any) -> Html:
    """What may be wider than a phone."""
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label)


def details(summary: Any, *content: Any) -> Html:
    """What can be folded out."""
    return tag("details", tag("summary", summary), *content)
