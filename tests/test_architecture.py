"""The shape of the code, computed from the code: who imports whom, what values are called, who names flags."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

import cst

ROOT = Path(cst.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

ROOMS = (
    # Leaves: words, files and names; processes that train together.
    *("ranks", "spelling", "stages", "types", "tokens", "extras", "files", "registry", "hub"),
    # The paper: equations, terms, updates, sampling, methods.
    *("functional", "terms", "updates", "sampling", "methods", "grammar", "term_sum", "selection"),
    # From what the user wrote to a model that reads data.
    *("config", "data", "kinds", "models", "tasks"),
    # Algorithm 1, and what is built on it.
    *("engine", "api", "sklearn", "export", "analysis", "serve", "theory", "bench", "cli", "__main__"),
)
"""A room may import those before it. `cst/__init__` names public things from all of them and is imported by none."""


def module_of(file):
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def room_of(module):
    return module.split(".")[1] if "." in module else "cst"


def imports_of(file):
    """Every module of the package that a file imports, lazily or not, with the line."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports relative to itself"
            if node.module == "cst":
                yield from ((f"cst.{alias.name}", node.lineno) for alias in node.names)
            elif node.module and node.module.startswith("cst."):
                yield node.module, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name.split(".")[0] == "cst")


def arrows():
    for file in FILES:
        for target, line in imports_of(file):
            if target == "cst.__version__":
                continue
            yield module_of(file), target, line


def test_every_room_has_its_place_in_the_order():
    rooms = {room_of(module_of(file)) for file in FILES} - {"cst"}
    assert rooms == set(ROOMS)


def test_no_room_imports_a_room_above_it():
    against = [
        f"{module}, line {line}: imports {target}"
        for module, target, line in arrows()
        if room_of(module) not in ("cst", room_of(target))
        and ROOMS.index(room_of(target)) >= ROOMS.index(room_of(module))
    ]
    assert against == []


def test_modules_import_each_other_in_no_circle():
    """Within a room too, but for imports that only type checkers see."""
    graph = {module_of(file): set() for file in FILES if file.name != "__init__.py" or file.parent != ROOT}
    for file in FILES:
        hidden = type_checking_lines(file)
        for target, line in imports_of(file):
            known = target if target in graph else target.rpartition(".")[0]
            if known in graph and line not in hidden and module_of(file) in graph:
                graph[module_of(file)].add(known)
    done, path = set(), []

    def visit(module):
        if module in path:
            pytest.fail(" -> ".join([*path[path.index(module) :], module]))
        if module not in done:
            path.append(module)
            for target in sorted(graph[module] - {module}):
                visit(target)
            path.pop()
            done.add(module)

    for module in graph:
        visit(module)


def type_checking_lines(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return {line for block in blocks for line in range(block.lineno, block.end_lineno + 1)}


@pytest.mark.parametrize("file", sorted((ROOT / "functional").glob("*.py")), ids=lambda file: file.name)
def test_the_equations_need_torch_only(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in getattr(node, "names", ())]
            if isinstance(node, ast.Import) else []
        )
    ]  # fmt: skip
    others = [name for name in names if not name.startswith("cst.functional.")]
    assert {name.split(".")[0] for name in others} <= {"__future__", "collections", "math", "typing", "torch"}


def test_values_are_named_by_what_they_are():
    vague = {"found", "own", "wanted", "given", "there"}
    names = [
        f"{file.relative_to(ROOT)}:{node.lineno} {name}"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (getattr(node, "id", None), getattr(node, "arg", None), getattr(node, "attr", None))
        if isinstance(name, str) and name.strip("_") in vague
    ]
    assert names == []


def strings_of(file):
    """Strings of the code that are no docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    documentation = {
        id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def test_only_the_command_line_names_flags():
    flags = [
        f"{file.relative_to(ROOT)}:{line} {text!r}"
        for file in FILES
        if room_of(module_of(file)) not in ("cli", "bench")  # the runner of suites starts commands
        for line, text in strings_of(file)
        if re.search(r"(^|\s)--[a-z]", text.replace("cst train --resume", ""))
    ]
    assert flags == []


def test_only_kinds_ask_what_kind_of_data_it_is():
    """No ladder of names of kinds outside the kinds: a new kind of data is one new file."""
    kinds = {"images", "text", "arrays"}
    ladders = []
    for file in FILES:
        if room_of(module_of(file)) == "kinds" or file.name == "earlier.py":
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                values = {side.value for side in sides if isinstance(side, ast.Constant)}
                if values & kinds and re.search(r"\bkind\b", ast.unparse(node)):
                    ladders.append(f"{file.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}")
    assert ladders == []


def test_algorithm_1_fits_on_one_screen_and_reads_in_the_papers_order():
    source = (ROOT / "engine" / "loop.py").read_text(encoding="utf-8")
    fit = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "fit")
    assert fit.end_lineno - fit.lineno < 60
    text = "\n".join(source.splitlines()[fit.lineno : fit.end_lineno])
    places = [text.index(word) for word in ("Source step", "Forward step", "Reverse step", "Update", "update.take")]
    assert all(a < b for a, b in pairwise(places))


def test_a_name_may_be_given_anew_but_not_taken_from_another():
    from cst.registry import Registry

    names = Registry("rule", "cst.rules", {"root": "math:sqrt"})

    def define():
        def rule():
            return None

        return rule

    names.add("mine", define())
    names.add("mine", define())
    with pytest.raises(ValueError, match="There is a rule called 'root' already"):
        names.add("root", define())
