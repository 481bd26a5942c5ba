"""The catalogue of methods and the grammar that combines them; it reads like the paper's tables.

A method is a sum of terms and an update rule. ``cycle+tsallis``, ``cst+sam`` and
``source+cycle+tsallis(alpha=1.5)`` are methods; a word is a name from the catalogue, a term, or an
update rule. The supervised loss ``source`` is part of every method without being named.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from cst.spelling import unknown
from cst.terms import TERMS
from cst.updates import UPDATES


@dataclass(frozen=True)
class Part:
    """A term or an update rule by name, with its weight and options."""

    name: str
    weight: float = 1.0
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={_plain(value)}" for key, value in self.options.items())
        weight = f"{self.weight:g} " if self.weight != 1 else ""
        return f"{weight}{self.name}({options})" if options else weight + self.name


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def term(name: str, weight: float = 1.0, **options: Any) -> Part:
    """A summand."""
    return Part(name, weight, options)


@dataclass(frozen=True)
class Method:
    """Terms, an update rule, and defaults for configuration fields that the user left open."""

    name: str
    terms: tuple[Part, ...]
    update: Part = Part("sgd")
    defaults: dict[str, Any] = field(default_factory=dict)
    summary: str = ""
    reference: str = ""
    tables: str = ""

    @property
    def formula(self) -> str:
        """The method as a sum."""
        by = "" if self.update.name == "sgd" else f", updated by {self.update}"
        return " + ".join(str(part) for part in self.terms) + by


_SOURCE = term("source")
_PAPER = "Liu, Wang, Long: Cycle Self-Training for Domain Adaptation, NeurIPS 2021"
_CST = (_SOURCE, term("cycle"), term("tsallis"))

CATALOGUE = {
    method.name: method
    for method in (
        Method("source-only", (_SOURCE,), summary="Training on the source, nothing else.", tables="Sentiment"),
        Method(
            "self-training",
            (_SOURCE, term("self-training")),
            summary="Equation 2: the source model labels the target once, then both train the model.",
            reference="Lee: Pseudo-Label, ICML workshops 2013",
            tables="Figure 2",
        ),
        Method(
            "cst",
            _CST,
            summary="Cycle Self-Training as the paper has it: alpha selected each epoch, no threshold.",
            reference=_PAPER,
            tables="Office-Home, Sentiment, VisDA, Ablation, Digits, DomainNet",
        ),
        Method(
            "cst+sam",
            _CST,
            update=Part("sam"),
            summary="CST with sharpness-aware minimisation.",
            reference=f"{_PAPER}; Foret et al.: Sharpness-Aware Minimization, ICLR 2021",
            tables="VisDA",
        ),
        Method(
            "cycle",
            (_SOURCE, term("cycle")),
            summary="CST without Tsallis entropy.",
            reference=_PAPER,
            tables="Ablation",
        ),
        Method(
            "cst+entropy",
            (_SOURCE, term("cycle"), term("entropy")),
            summary="CST with the Gibbs entropy in place of Tsallis.",
            reference=_PAPER,
            tables="Ablation",
        ),
        Method(
            "cst-official",
            (
                _SOURCE,
                term("cycle", 2.0, normalize=True, centred=True),
                term("confusion", alpha=1.9, temperature=2.5),
                term("fixmatch", 0.5, threshold=0.97),
            ),
            update=Part("sam", options={"adaptive": True, "rho": 0.5}),
            defaults={"bottleneck": 256, "schedule": "inverse"},
            summary="What the authors' published code runs; not what the paper describes.",
            reference=_PAPER + " (the published code)",
        ),
    )
}

_WORD = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def parse_method(text: str) -> Method:
    """The method that a name or a sum stands for."""
    if text in CATALOGUE:
        return CATALOGUE[text]
    words = _words(text)
    terms: dict[str, Part] = {"source": _SOURCE}
    update, defaults = Part("sgd"), {}
    while words:
        method, words = _catalogued(words)
        if method is not None:
            terms.update({part.name: part for part in method.terms})
            update = method.update if method.update.name != "sgd" else update
            defaults.update(method.defaults)
            continue
        part, words = _part(words[0]), words[1:]
        if part.name in UPDATES:
            update = part
        else:
            terms[part.name] = part
    return Method(text, tuple(terms.values()), update, defaults)


def _catalogued(words: list[str]) -> tuple[Method | None, list[str]]:
    """The longest run of words, from the first, that the catalogue knows, and the words after it."""
    for count in range(len(words), 0, -1):
        name = "+".join(words[:count])
        if name in CATALOGUE:
            return CATALOGUE[name], words[count:]
    return None, words


def _words(text: str) -> list[str]:
    """Split at the plus signs that stand outside parentheses."""
    words, depth = [""], 0
    for sign in text:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "+" and depth == 0:
            words.append("")
        else:
            words[-1] += sign
    words = [word.strip() for word in words]
    if depth != 0 or not all(words):
        raise ValueError(f"Method '{text}' is not a sum of terms: write it like cycle+tsallis or tsallis(alpha=1.5).")
    return words


def _part(word: str) -> Part:
    match = _WORD.fullmatch(word)
    name = match[1] if match else word
    if match is None or (name not in TERMS and name not in UPDATES):
        known = dict.fromkeys([*TERMS, *UPDATES, *CATALOGUE])
        raise ValueError(unknown("term", name, known))
    options = [_setting(item, name) for item in match[2].split(",")] if match[2] else []
    return Part(name, options=dict(options))


def _setting(text: str, where: str) -> tuple[str, Any]:
    """``alpha=1.5`` -> ``("alpha", 1.5)``."""
    import yaml

    key, equals, value = (piece.strip() for piece in text.partition("="))
    if not (key and equals and value):
        raise ValueError(f"'{text.strip()}' of {where} is not a setting: write name=value.")
    parsed = yaml.safe_load(value)
    if isinstance(parsed, str):  # YAML 1.1 reads 1e-3 as text
        try:
            parsed = float(parsed)
        except ValueError:
            return key, parsed
    return key, parsed


def adjusted(method: Method, weights: Iterable[str] = (), options: Iterable[str] = ()) -> Method:
    """``method`` with weights such as ``cycle=2`` and options such as ``cycle.l2=0.01`` put in."""
    parts = {part.name: part for part in (*method.terms, method.update)}
    terms = [part.name for part in method.terms]
    for text in weights:
        name, value = _setting(text, "--weight")
        if name not in terms:
            raise ValueError(f"--weight {text}: {unknown('term', name, terms)}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"--weight {text}: '{value}' is not a number.")
        parts[name] = dataclasses.replace(parts[name], weight=float(value))
    for text in options:
        path, value = _setting(text, "--option")
        name, dot, option = path.partition(".")
        if not dot:
            raise ValueError(f"--option {text}: write term.option=value, for instance cycle.l2=0.01.")
        if name not in parts:
            raise ValueError(f"--option {text}: {unknown('term', name, parts)}")
        parts[name] = dataclasses.replace(parts[name], options={**parts[name].options, option: value})
    return dataclasses.replace(method, terms=tuple(parts[name] for name in terms), update=parts[method.update.name])


def make(part: Part, *arguments: Any) -> Any:
    """The term or update rule that ``part`` names, made with ``arguments`` and its options."""
    import inspect

    module, _, name = {**TERMS, **UPDATES}[part.name].partition(":")
    kind = getattr(import_module(module), name)
    known = list(inspect.signature(kind).parameters)[len(arguments) :]
    for option in part.options:
        if option not in known:
            listed = unknown("option", option, known) if known else f"it has no options, but got '{option}'."
            raise ValueError(f"{part.name}: {listed}")
    return kind(*arguments, **part.options)
