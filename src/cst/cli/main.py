"""`cst`: find the command, run it, turn errors into one sentence."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import Any

from cst.bench import RunError
from cst.cli.analyse import Analyse
from cst.cli.bench import Bench
from cst.cli.compare import Compare
from cst.cli.demo import Demo
from cst.cli.evaluate import Evaluate
from cst.cli.export import Export
from cst.cli.flags import OPTIONS, as_flags, say
from cst.cli.inspect import Inspect
from cst.cli.listings import Methods, Tasks
from cst.cli.options import parse
from cst.cli.predict import Predict
from cst.cli.report import Report
from cst.cli.serve import Serve
from cst.cli.table import MakeTable
from cst.cli.theory import Theory
from cst.cli.train import Train
from cst.ranks.group import Lost, speaks_first
from cst.spelling import printable

COMMANDS = {
    "demo": Demo,
    "inspect": Inspect,
    "train": Train,
    "evaluate": Evaluate,
    "predict": Predict,
    "serve": Serve,
    "export": Export,
    "compare": Compare,
    "analyse": Analyse,
    "report": Report,
    "bench": Bench,
    "table": MakeTable,
    "theory": Theory,
    "methods": Methods,
    "tasks": Tasks,
}

OPTIONS.update(field.name for command in COMMANDS.values() for field in dataclasses.fields(command))

USAGE = """usage: cst COMMAND [OPTIONS]

Adapt a classifier from a labelled source domain to an unlabelled target domain.

commands:
{commands}

options:
  -h, --help   this text; 'cst COMMAND --help' explains one command
  --version    the version
"""


LIBRARIES = ("PIL", "numpy", "scipy", "sklearn", "pandas", "pyarrow", "torch", "transformers", "datasets", "rich")
"""What these say of a file is for programmers."""


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end: a scheduler that takes the machine back, for instance."""


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


def _say_warning(message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Ours are sentences; what libraries say to programmers is not for users."""
    if issubclass(category, UserWarning):
        say(" ".join(str(message).split()))


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `cst`."""
    words = sys.argv[1:] if arguments is None else arguments
    with suppress(ValueError):  # of a thread that is not the first
        signal.signal(signal.SIGTERM, _terminate)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=rf"({'|'.join(LIBRARIES)})(\.|$)")
            warnings.showwarning = _say_warning  # type: ignore[assignment]
            status = _run(words)
    except BrokenPipeError:  # the reader of our output, 'head' for instance, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 141
    except (ValueError, OSError) as error:
        _say_why(printable(as_flags(_sentence(error), words)))
        status = 2
    except (FloatingPointError, RunError, Lost) as error:
        _say_why(printable(str(error)))
        status = 1
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        _say_why("there is not enough memory for this run: lower --batch-size, --image-size or the size of the model.")
        status = 1
    except KeyboardInterrupt as stop:
        the_same = "the same command continues"
        again = {"demo": "continue with --resume", "bench": the_same, "predict": the_same}
        advice = str(stop) or again.get(words[0], "")
        ended = isinstance(stop, Terminated) or isinstance(stop.__cause__, Terminated)
        what = "terminated" if ended else "interrupted"
        _say_why(f"{what}{': ' * bool(advice)}{printable(advice)}.", "\n")
        status = 143 if ended else 130
    sys.exit(status)


def _say_why(sentence: str, before: str = "") -> None:
    """Say why the command ends; of several processes that end one says it."""
    if speaks_first():
        print(f"{before}cst: {sentence}", file=sys.stderr)


def _is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or any(
        sign in str(error) for sign in ("can't allocate memory", "out of memory", "not enough memory")
    )


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


def _summary(kind: type) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split())
