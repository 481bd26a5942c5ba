"""What the documents say of the code is what the code says."""

import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import cst.terms
from readers import PAGES, ROOT, anchors, blocks, commands, links, name_of, prose


def test_the_table_of_usual_settings_is_the_codes():
    from cst.cli.defaults import usual_table

    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    table = (
        page.partition("<!-- usual settings")[2].partition("-->\n")[2].partition("<!-- end of usual settings -->")[0]
    )
    assert table.split() == usual_table().split()


def test_the_page_of_methods_names_the_terms_that_are_ramped():
    from cst.methods import RAMPED

    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- ramped terms -->")[2].partition("<!-- end of ramped terms -->")[0]
    assert tuple(re.findall(r"`([^`]+)`", listed)) == RAMPED


def test_help_texts_take_their_defaults_from_the_code(capsys):
    from cst.cli.main import main
    from cst.config.defaults import ALWAYS

    with pytest.raises(SystemExit):
        main(["train", "--help"])
    out = capsys.readouterr().out
    words = " ".join(out.split())
    assert "(default: 20; 3 for text)" in words
    assert f"Momentum of SGD. (default: {ALWAYS['momentum']})" in words


def test_links_between_pages_lead_somewhere():
    """To a file, and where an anchor is named, to a heading of it."""
    assert len(PAGES) > 10
    headings = {page: set(anchors(page)) for page in PAGES}
    broken = [
        f"{name_of(page)}: {file}#{anchor}"
        for page in PAGES
        for file, anchor in links(page)
        if not (place := (page.parent / file).resolve() if file else page).exists()
        or (anchor and anchor not in headings.get(place, ()))
    ]
    assert broken == []


def test_notebooks_are_kept_as_they_ran_and_link_to_pages_that_exist():
    books = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(books) == 3
    for book in books:
        written = book.read_text(encoding="utf-8")
        assert len(written) < 300_000
        assert not re.search(r"site-packages|/home/|/tmp/", written), book.name
        assert str(ROOT) not in written, book.name
        cells = json.loads(written)["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
        assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])
        text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        assert all((book.parent / file).exists() for file in re.findall(r"\]\(([^)#]+)", text))


def test_pages_begin_with_what_the_reader_can_do_after_them():
    silent = [name_of(page) for page in PAGES if page.parent != ROOT and "After this page" not in opening(page)]
    assert silent == []


def opening(page):
    """The first paragraph, below the title."""
    return " ".join(page.read_text(encoding="utf-8").split("\n\n")[1].split())


def test_the_navigation_leads_to_pages_that_exist():
    """Pages that it does not name stand in its last section (docs/hooks.py)."""
    import yaml

    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r"\S+\.md", yaml.dump(yaml.load(text, Loader=yaml.BaseLoader)["nav"]))
    borrowed = {"readme.md", "changelog.md", "contributing.md", "your-images.md", "your-reviews.md", "your-table.md"}
    missing = [page for page in pages if not (ROOT / "docs" / page).exists() and Path(page).name not in borrowed]
    assert len(pages) > 20
    assert missing == []


COMMAND_LINES = [pytest.param(page, id=name_of(page)) for page in PAGES if any(commands(page))]


@pytest.mark.parametrize("page", COMMAND_LINES)
def test_commands_are_as_the_command_line_takes_them(page):
    from cst.bench.suite import suite_names
    from cst.cli.main import COMMANDS
    from cst.cli.options import parse
    from cst.grammar import parse_method

    for words, whole in commands(page):
        program, name, *rest = words if len(words) > 1 else [*words, ""]
        if name in ("COMMAND", "") or name.startswith("-"):
            continue
        assert name in COMMANDS, words
        try:
            values = parse(COMMANDS[name], f"{program} {name}", rest)
        except ValueError as error:
            if whole or not re.search("required|expected", str(error)):
                pytest.fail(f"{words}: {error}")
            continue
        method = values.get("method", "cst")
        if re.search("[a-z]", method) and "coral" not in method:  # which docs/extending.md makes
            parse_method(re.sub(r"=[A-Z]\b", "=1", method))
        suite = values.get("suite")
        if name == "bench" and suite and re.fullmatch("[a-z-]+", suite):
            assert suite in suite_names(), words


def test_flags_in_sentences_exist():
    from cst.cli.flags import OPTIONS
    from cst.cli.main import main  # which fills them in

    assert main
    known = {name.replace("_", "-") for name in OPTIONS} | {"help", "version"}
    theirs = {"table", "figure", "check", "write", "methods", "kills"}  # of benchmarks' scripts
    theirs |= {"gpus-per-node", "ipc", "extra-index-url"}  # of Slurm, Docker, pip
    unknown = {
        f"{name_of(page)}: {flag}"
        for page in PAGES
        if page.name != "CHANGELOG.md"  # which names flags of the past
        for flag in re.findall(r"`--(?:no-)?([a-z-]+)[^`]*`", prose(page))
        if flag not in known | theirs
    }
    assert unknown == set()


def reader():
    """The data that a reader has at hand, by the names that the pages give them."""
    random = np.random.default_rng(0)
    y, yt = random.integers(3, size=90), random.integers(3, size=60)
    centres = 3 * random.normal(size=(3, 5))
    X, Xt = centres[y] + random.normal(size=(90, 5)), centres[yt] + random.normal(size=(60, 5)) + 0.5
    outputs = {
        **{"source_features": X, "source_labels": y, "source_logits": X @ centres.T},
        **{"target_features": Xt, "target_logits": Xt @ centres.T},
    }
    return {"X": X, "y": y, "Xs": X, "ys": y, "Xt": Xt, "yt": yt, "cst": cst, **outputs}


PYTHON = [pytest.param(page, id=name_of(page)) for page in PAGES if any(b.language == "python" for b in blocks(page))]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("page", PYTHON)
def test_python_of_the_pages_runs(page, tmp_path, monkeypatch):
    """In order, with the reader's data and two epochs; a comment above a block says where it is run instead."""
    from cst.config import defaults
    from cst.kinds.arrays import Arrays
    from cst.terms import TERMS

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(defaults.ALWAYS, "epochs", 2)
    monkeypatch.setattr(Arrays, "least_steps", 4)
    monkeypatch.setattr(TERMS, "_entries", dict(TERMS._entries))
    names = None
    for block in blocks(page):
        if block.language != "python":
            continue
        code = compile("\n" * (block.line - 1) + block.text, name_of(page), "exec")
        if (ROOT / block.comment).is_file() and block.comment:
            assert block.text == (ROOT / block.comment).read_text(encoding="utf-8"), block.comment
        elif not block.comment.startswith("not run here: "):
            names = names or reader()
            if "adapted" in block.text and "adapted =" not in block.text:
                names.setdefault("adapted", cst.adapt((names["X"], names["y"]), names["Xt"]))
            exec(code, names)


def test_one_version():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in project
    assert cst.__version__ not in project


def test_lines_are_wrapped():
    """At 120 characters, but for tables."""
    wide = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > 120 and not line.lstrip().startswith("|")
    ]
    assert wide == []


def public_things():
    """Functions of `functional`, functions and terms of `terms`: what people call and inherit from."""
    from cst.terms.contract import Term

    for module in ("cst.functional", *(f"cst.terms.{m.name}" for m in pkgutil.iter_modules(cst.terms.__path__))):
        for name, thing in vars(importlib.import_module(module)).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module:
                continue
            if inspect.isfunction(thing) or (inspect.isclass(thing) and issubclass(thing, Term)):
                yield pytest.param(thing, id=f"{module}.{name}")


@pytest.mark.parametrize("thing", public_things())
def test_equations_and_terms_have_an_example_that_runs(thing):
    """Pytest runs them as doctests."""
    assert ">>> " in (inspect.getdoc(thing) or "")
