"""`cst`: find the command, run it, turn errors into one sentence."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from cst.bench import RunError
from cst.cli.bench import Bench
from cst.cli.demo import Demo
from cst.cli.evaluate import Evaluate
from cst.cli.inspect import Inspect
from cst.cli.listings import Methods, Tasks
from cst.cli.options import parse
from cst.cli.predict import Predict
from cst.cli.theory import Theory
from cst.cli.train import Train

COMMANDS = {
    "demo": Demo,
    "inspect": Inspect,
    "train": Train,
    "evaluate": Evaluate,
    "predict": Predict,
    "bench": Bench,
    "theory": Theory,
    "methods": Methods,
    "tasks": Tasks,
}

OPTIONS = {field.name for command in COMMANDS.values() for field in dataclasses.fields(command)}
"""All that can be a flag."""

USAGE = """usage: cst COMMAND [OPTIONS]

Adapt a classifier from a labelled source domain to an unlabelled target domain.

commands:
{commands}

options:
  -h, --help   this text; 'cst COMMAND --help' explains one command
  --version    the version
"""


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `cst`."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        status = _run(words)
    except BrokenPipeError:  # the reader of our output, 'head' for instance, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    except (ValueError, OSError) as error:
        print(f"cst: {as_flags(_sentence(error), words)}", file=sys.stderr)
        status = 2
    except (FloatingPointError, RunError) as error:
        print(f"cst: {error}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt as stop:
        again = {"demo": "continue with --resume", "bench": "the same command continues"}
        advice = str(stop) or again.get(words[0], "")
        print(f"\ncst: interrupted{': ' * bool(advice)}{advice}.", file=sys.stderr)
        status = 130
    sys.exit(status)


def _run(words: list[str]) -> int:
    from cst import __version__
    from cst.spelling import unknown

    if not words or words[0] in ("-h", "--help", "help"):
        listed = "\n".join(f"  {name:<12} {_summary(kind)}" for name, kind in COMMANDS.items())
        print(USAGE.format(commands=listed), end="")
        return 0 if words else 2
    if words[0] == "--version":
        print(f"cst {__version__}")
        return 0
    if words[0] not in COMMANDS:
        raise ValueError(unknown("command", words[0], COMMANDS))
    kind: Any = COMMANDS[words[0]]
    values = parse(kind, f"cst {words[0]}", words[1:])
    command = Train.of(values) if kind is Train else kind(**values)
    command.run()
    return 0


_OPTION = re.compile(r"(?<![\w/.\-])([a-z_]+)=(?:True\b)?(?=(.?)(.?))")
"""How the library names an option: ``out=``, ``epochs=3``, ``resume=True``."""
_QUOTED = re.compile(r"((?<!\w)'[^']*')")


def as_flags(sentence: str, words: Sequence[str] = ()) -> str:
    """A sentence of the library with its options written as flags; what the user typed or quotes hold stays as it is.

    >>> as_flags("choose another out=, or a batch_size= of at most 3; freeze=9 is too much")
    'choose another --out, or a --batch-size of at most 3; --freeze 9 is too much'
    >>> as_flags("There is nothing at text=dir/new.csv: check target=.", ["--target", "text=dir/new.csv"])
    'There is nothing at text=dir/new.csv: check --target.'
    """

    def flag(match: re.Match[str]) -> str:
        name, after, then = match.groups()
        if name not in OPTIONS:
            return match[0]
        ends = after in ("", " ", ",", ";", ":", ")") or (after == "." and not re.match(r"[\w/]", then))
        return f"--{name.replace('_', '-')}" + " " * (not ends)

    typed = [word for word in words if "=" in word and not word.startswith("--")]
    kept = re.compile("|".join(["(?!)", *map(re.escape, sorted(typed, key=len, reverse=True))]))
    parts = [piece for part in _QUOTED.split(sentence) for piece in re.split(f"({kept.pattern})", part)]
    return "".join(part if part in typed or _QUOTED.fullmatch(part) else _OPTION.sub(flag, part) for part in parts)


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split())
