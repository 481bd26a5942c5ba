"""A table as Markdown, CSV, LaTeX or HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Sequence

from cst.bench.tables import Cell, Line, Table
from cst.spelling import harmless


def markdown(tables: Sequence[Table], title: str) -> str:
    """Best in bold, second underlined."""
    marks = {0: "{}", 1: "**{}**", 2: "<u>{}</u>"}
    parts = [f"# {title}"]
    for table in tables:
        rows = [_texts(line, lambda cell: marks[cell.place].format(cell.text)) for line in table.lines]
        rules = ["---", *["---:"] * (len(table.columns) - 1)]
        parts += [f"## {table.heading[:1].upper()}{table.heading[1:]}"] if table.heading else []
        parts.append("\n".join("| " + " | ".join(_no_bars(row)) + " |" for row in [list(table.columns), rules, *rows]))
    return "\n\n".join([*parts, *_facts(tables)]) + "\n"


def _facts(tables: Sequence[Table]) -> list[str]:
    facts = list(dict.fromkeys(fact for table in tables for fact in table.facts))
    return ["\n".join(f"- {fact}" for fact in facts)] if facts else []


def _texts(line: Line, show: Callable[[Cell], str]) -> list[str]:
    return [line.label if line.ours else f"*{line.label}*", *(show(cell) if cell.text else "" for cell in line.cells)]


def _no_bars(cells: list[str]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]


def comma_separated(tables: Sequence[Table], title: str) -> str:
    """The cells as they are, an empty line between tables; what the paper has is marked in the first column."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, table in enumerate(tables):
        if number:
            writer.writerow([])
        writer.writerow(map(harmless, table.columns))
        for line in table.lines:
            writer.writerow([harmless(line.label), *(cell.text for cell in line.cells)])
    return text.getvalue()


_LATEX = {"\\": r"\textbackslash{}", "±": r"$\pm$", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$"}
_LATEX |= {"{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def latex(tables: Sequence[Table], title: str) -> str:
    """For the package booktabs.

    >>> print(_escaped("a_b ± 1 %"))
    a\\_b $\\pm$ 1 \\%
    """
    marks = {0: "%s", 1: r"\textbf{%s}", 2: r"\underline{%s}"}
    parts = []
    for table in tables:
        body = []
        for number, line in enumerate(table.lines):
            if number and line.ours and not table.lines[number - 1].ours:
                body.append(r"\midrule")
            cells = [marks[cell.place] % _escaped(cell.text) for cell in line.cells]
            label = _escaped(line.label) if line.ours else rf"\quad\textit{{{_escaped(line.label)}}}"
            body.append(" & ".join([label, *cells]) + r" \\")
        caption = ". ".join(_escaped(words) for words in (title, table.heading) if words)
        parts.append(
            "\n".join(
                [
                    *(f"% {' '.join(fact.split())}" for fact in table.facts),
                    r"\begin{table}[htbp]",
                    r"\centering",
                    rf"\caption{{{caption}}}",
                    rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}",
                    r"\toprule",
                    " & ".join(_escaped(column) for column in table.columns) + r" \\",
                    r"\midrule",
                    *body,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


_OF_THE_PAGE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}
@media (prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}}"""
_OF_THE_TABLE = """.cst table{border-collapse:collapse;margin:1rem 0}.cst .wide{overflow-x:auto}
.cst th,.cst td{padding:.25rem .7rem;text-align:right;white-space:nowrap}
.cst th:first-child,.cst td:first-child{text-align:left}.cst thead th{border-bottom:1px solid #888}
.cst tr.paper td{color:#777;font-style:italic;font-size:.9em}.cst li{max-width:60rem}"""


def page(tables: Sequence[Table], title: str) -> str:
    """One page that needs nothing else."""
    begin = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    style = f"<title>{html.escape(title)}</title><style>{_OF_THE_PAGE}</style>"
    return f"{begin}{style}\n{fragment(tables, title)}\n</html>\n"


def fragment(tables: Sequence[Table], title: str) -> str:
    """The tables for a page or a notebook of somebody else's, whose looks they leave alone."""
    marks = {0: "{}", 1: "<b>{}</b>", 2: "<u>{}</u>"}
    parts = [f"<h1>{html.escape(title)}</h1>"]
    for table in tables:
        parts += [f"<h2>{html.escape(table.heading)}</h2>"] if table.heading else []
        head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
        rows = []
        for line in table.lines:
            cells = "".join(f"<td>{marks[cell.place].format(html.escape(cell.text))}</td>" for cell in line.cells)
            rows.append(f"<tr{'' if line.ours else ' class=paper'}><td>{html.escape(line.label)}</td>{cells}</tr>")
        body = "\n".join(rows)
        parts.append(f"<div class=wide><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>")
    facts = list(dict.fromkeys(fact for table in tables for fact in table.facts))
    parts += ["<ul>" + "".join(f"<li>{html.escape(fact)}</li>" for fact in facts) + "</ul>"] if facts else []
    return f"<div class=cst><style>{_OF_THE_TABLE}</style>\n" + "\n".join(parts) + "\n</div>"


WRITERS: dict[str, Callable[[Sequence[Table], str], str]] = {
    "md": markdown,
    "csv": comma_separated,
    "tex": latex,
    "html": page,
}
"""By the ending of the file."""
