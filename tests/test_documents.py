"""What the documents say of the code is what the code says."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import cst.terms

ROOT = Path(__file__).parent.parent


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
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 10
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_one_version():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in project
    assert cst.__version__ not in project


def test_lines_are_wrapped():
    """At 120 characters, but for tables."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    wide = [
        f"{page.relative_to(ROOT)}:{number}"
        for page in pages
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
