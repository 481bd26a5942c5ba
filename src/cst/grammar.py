"""The grammar of methods: from ``cycle+tsallis(alpha=1.5)+sam`` to terms, an update rule and a sampling rule.

A word is a name from the catalogue, a term, an update rule, or a sampling rule. The supervised loss
``source`` is part of every method without being named.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any, get_type_hints

from cst.data import SAMPLERS
from cst.methods import CATALOGUE, Method, Part, term
from cst.spelling import unknown
from cst.terms import TERMS
from cst.types import described, fits
from cst.updates import UPDATES

_WORD = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)


def parse_method(text: str) -> Method:
    """The method that a name or a sum stands for."""
    if text in CATALOGUE:
        return CATALOGUE[text]
    words = _words(text)
    terms: dict[str, Part] = {"source": term("source")}
    update, sampling, defaults = Part("sgd"), Part("uniform"), {}
    while words:
        method, words = _next_method(words)
        terms.update({part.name: part for part in method.terms if part.name != "source"})
        update = _only_one(update, method.update, "sgd", text)
        sampling = _only_one(sampling, method.sampling, "uniform", text)
        defaults.update(method.defaults)
    if sampling.name == "ia" and "mdd" in terms:  # implicit alignment masks the classes it did not draw
        terms["mdd"] = dataclasses.replace(terms["mdd"], options={"present": True, **terms["mdd"].options})
    return Method(text, tuple(terms.values()), update, sampling, defaults)


def _only_one(first: Part, second: Part, neutral: str, text: str) -> Part:
    """The rule that two parts of a sum agree on."""
    if neutral in (first.name, second.name) or first.name == second.name:
        return first if second.name == neutral else second
    raise ValueError(f"Method '{text}' asks for {first.name} and {second.name} at once: leave one of them out.")


def _next_method(words: list[str]) -> tuple[Method, list[str]]:
    """What the first words stand for, as many of them as the catalogue knows together, and the words after them."""
    for count in range(len(words), 0, -1):
        name = "+".join(words[:count])
        if name in CATALOGUE:
            return CATALOGUE[name], words[count:]
    part = _part(words[0])
    method = Method(part.name, ())
    if part.name in UPDATES:
        method = dataclasses.replace(method, update=part)
    elif part.name in SAMPLERS:
        method = dataclasses.replace(method, sampling=part)
    elif part.name in CATALOGUE:  # a method of that name, its main term with options
        method = CATALOGUE[part.name]
        method = adjusted(method, options=[f"{part.name}.{key}={value}" for key, value in part.options.items()])
    else:
        method = dataclasses.replace(method, terms=(part,))
    return method, words[1:]


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
    if name in CATALOGUE and name not in TERMS and match and match[2]:
        raise ValueError(
            f"Method '{name}' takes no options of its own: give them to its terms, {CATALOGUE[name].formula}."
        )
    if match is None or name not in {**TERMS, **UPDATES, **SAMPLERS}:
        known = dict.fromkeys([*TERMS, *UPDATES, *SAMPLERS, *CATALOGUE])
        raise ValueError(unknown("term", name, known))
    options = [_setting(item, name) for item in match[2].split(",")] if match[2] else []
    return Part(name, options=dict(options))


def _setting(text: str, where: str) -> tuple[str, Any]:
    """``alpha=1.5`` -> ``("alpha", 1.5)``."""
    import yaml

    key, equals, value = (piece.strip() for piece in text.partition("="))
    if not (key and equals and value):
        raise ValueError(f"'{text.strip()}' of {where} is not a setting: write name=value.")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError:
        raise ValueError(
            f"'{text.strip()}' of {where} is not a setting: write name=value with a plain value."
        ) from None
    if isinstance(parsed, str):  # YAML 1.1 reads 1e-3 as text
        try:
            parsed = float(parsed)
        except ValueError:
            return key, parsed
    return key, parsed


def adjusted(method: Method, weights: Iterable[str] = (), options: Iterable[str] = ()) -> Method:
    """``method`` with weights such as ``cycle=2`` and options such as ``cycle.l2=0.01`` put in."""
    parts = {part.name: part for part in (*method.terms, method.update, method.sampling)}
    terms = [part.name for part in method.terms]
    for text in weights:
        name, value = _setting(text, "--weight")
        if name not in terms:
            raise ValueError(f"--weight {text}: {unknown('term', name, terms)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"--weight {text}: '{value}' is not a number of at least 0.")
        parts[name] = dataclasses.replace(parts[name], weight=float(value))
    for text in options:
        path, value = _setting(text, "--option")
        name, dot, option = path.partition(".")
        if not dot:
            raise ValueError(f"--option {text}: write term.option=value, for instance cycle.l2=0.01.")
        if name not in parts:
            raise ValueError(f"--option {text}: {unknown('term', name, parts)}")
        parts[name] = dataclasses.replace(parts[name], options={**parts[name].options, option: value})
    return dataclasses.replace(
        method,
        terms=tuple(parts[name] for name in terms),
        update=parts[method.update.name],
        sampling=parts[method.sampling.name],
    )


def make(part: Part, *arguments: Any) -> Any:
    """The term, update rule or sampling rule that ``part`` names, made with ``arguments`` and its options."""
    import inspect

    module, _, name = {**TERMS, **UPDATES, **SAMPLERS}[part.name].partition(":")
    kind = getattr(import_module(module), name)
    known = list(inspect.signature(kind).parameters)[len(arguments) :]
    hints = get_type_hints(kind.__init__)
    for option, value in part.options.items():
        if option not in known:
            listed = unknown("option", option, known) if known else f"it has no options, but got '{option}'."
            raise ValueError(f"{part.name}: {listed}")
        if not fits(value, hints[option]):
            raise ValueError(f"{part.name}: {option} must be {described(hints[option])}, got {value!r}.")
    return kind(*arguments, **part.options)
