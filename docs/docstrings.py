"""Docstrings as Markdown: examples in fences, names in code."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> )\S.*\n?|^\.\.\. .*\n?|^\.\.\.\n?)*)+", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth):`~?([^`]+)`")


class Docstrings(griffe.Extension):
    """What the site makes of them before they are parsed."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """An example ends at the next empty line, as for doctest."""
        if obj.docstring:
            text = ROLE.sub(r"``\1``", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)
