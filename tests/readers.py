"""What a reader of the documents would take from them: links, headings, code blocks, commands."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
STANDS_FOR = {"SCORE": "mixval", "$shift": "iid"}
"""What a reader would write in the place of a word in capitals, where not everything will do."""
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block with the comment in the line above it."""

    language: str
    text: str
    line: int
    comment: str


def name_of(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        above = text[: match.start()].rstrip().rpartition("\n")[2]
        comment = re.fullmatch(r"<!-- (.*) -->", above)
        yield Block(match[1], match[2], text[: match.start()].count("\n") + 2, comment[1] if comment else "")


def prose(page):
    """The page without fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page):
    """Targets of all links and images, split at the anchor."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" not in target:
            file, _, anchor = target.partition("#")
            yield file, anchor


def anchors(page):
    """What a heading is called in a link, on GitHub and on the site."""
    for title in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        yield re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def commands(page):
    """Command lines of ``cst``, each as words: of blocks, of indented lines, and of spans within sentences."""
    for line in command_lines(page):
        for one in re.split(r", (?=cst )", line):
            yield words_of(one), True
    for span in re.findall(r"`(cst [a-z][^`]*)`", re.sub(r"^( {4,}|\|).*$", keep_table, prose(page), flags=re.M)):
        yield words_of(" ".join(span.split())), False


def keep_table(match):
    """Rows of tables have spans, indented lines have none."""
    return match[0] if match[1] == "|" else ""


def command_lines(page):
    shown = [block.text for block in blocks(page) if block.language in ("", "bash", "text", "console")]
    indented = re.findall(r"(?:^ {4,}.*\n)+", prose(page), re.MULTILINE)
    for text in (*shown, *indented):
        text = re.sub(r"^(.{80})\n(?=.)", r"\1", text, flags=re.M) if "$ cst" in text else text  # a captured terminal
        text = re.sub(r"\\\n\s*", " ", text)
        text = re.sub(r"\n +(?=--)", " ", text)
        yield from (match[1] for match in re.finditer(r"^[ $]*(cst [^\n]+)$", text, re.MULTILINE))


def words_of(line):
    """The words up to the next command of the shell, without the brackets and dots of a synopsis."""
    text = re.split(r"\s{2,}|\s[|>&]|;|\s#", line)[0]
    words = shlex.split(re.sub(r"[\[\]]", "", text))
    words = ["1" if re.fullmatch(r"[A-Z]", word) else word.partition("|")[0] for word in words if word != "..."]
    return [STANDS_FOR.get(word, word) for word in words]
