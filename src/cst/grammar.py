"""The grammar of methods: from ``cycle+tsallis(alpha=1.5)+sam`` to terms, an update rule and a sampling rule.

A word is a name from the catalogue, a term, an update rule, or a sampling rule. The supervised loss
``source`` is part of every method without being named.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import re
import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_type_hints

from cst.files import load_yaml
from cst.methods import AUTO, CATALOGUE, Method, Part, term
from cst.sampling import SAMPLINGS
from cst.spelling import unknown
from cst.terms import TERMS
from cst.types import described, fits
from cst.updates import UPDATES

if TYPE_CHECKING:
    from cst.terms.contract import Term

_WORD = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
PLAIN, UNIFORM = Part("sgd"), Part("uniform")
LONGEST = 2000
"""Characters of a method; a longer one is no method."""
LARGEST = 1e30
"""What an option may be; larger numbers have no square in 32 bits, and some no 32 bits at all."""


def parse_method(text: str) -> Method:
    """The method that a name or a sum stands for.

    >>> print(parse_method("cycle+tsallis(alpha=1.5)+sam").formula)
    source + cycle + tsallis(alpha=1.5), updated by sam
    """
    if text == AUTO.name:
        return AUTO
    return CATALOGUE[text] if text in CATALOGUE else _sum(text, _methods_in(text))


def as_method(method: str | Term | Iterable[str | Term]) -> Method:
    """A name, a sum, a term as an object, or several of these, as one method."""
    if isinstance(method, str):
        return parse_method(method)
    parts = list(method) if isinstance(method, Iterable) else [method]
    if not parts:
        raise ValueError("method is empty: name a method, or give at least one term.")
    methods = []
    for part in parts:
        methods += _methods_in(part) if isinstance(part, str) else [_method_of_term(part)]
    return _sum("+".join(part if isinstance(part, str) else _described(part) for part in parts), methods)


def _described(thing: Any) -> str:
    """What a term object is called in a run's settings: its class, with those options that it keeps as plain values."""
    kept = {name: getattr(thing, name, None) for name in inspect.signature(type(thing)).parameters}
    options = ", ".join(
        f"{name}={value}" for name, value in kept.items() if isinstance(value, bool | int | float | str)
    )
    return f"{type(thing).__name__}({options})" if options else type(thing).__name__


def _method_of_term(thing: Any) -> Method:
    from cst.terms.contract import Term

    if not isinstance(thing, Term):
        raise ValueError(f"method must be a name, a sum, or terms, got {type(thing).__name__}.")
    name = next((name for name in TERMS if TERMS[name] is type(thing)), type(thing).__name__)
    return Method(name, (Part(name, term=thing),))


def _methods_in(text: str) -> list[Method]:
    """What the words of a sum stand for, one after the other."""
    words, methods = _words(text), []
    twice = [word for word, count in Counter(_name(word) for word in words).items() if count > 1]
    if twice:
        raise ValueError(f"Method '{text[:80]}' has '{twice[0]}' twice: name it once, with weight= for more of it.")
    while words:
        method, words = _next_method(words)
        methods.append(method)
    return methods


def _name(word: str) -> str:
    """Of a word, without its options."""
    return word.partition("(")[0].strip()


def _sum(name: str, methods: Iterable[Method]) -> Method:
    """Several methods as one, which begins with the source's loss."""
    terms: dict[str, Part] = {"source": term("source")}
    update, sampling, defaults = PLAIN, UNIFORM, {}
    for method in methods:
        for part in method.terms:
            if part.term is not None and part.name in terms:
                raise ValueError(f"Two terms are called '{part.name}': give the class of one of them another name.")
        terms.update({part.name: part for part in method.terms if part.name != "source"})
        update = _only_one(update, method.update, "sgd", name)
        sampling = _only_one(sampling, method.sampling, "uniform", name)
        defaults.update(method.defaults)
    if sampling.name == "ia" and "mdd" in terms:  # implicit alignment masks the classes it did not draw
        terms["mdd"] = dataclasses.replace(terms["mdd"], options={"present": True, **terms["mdd"].options})
    return Method(name, tuple(terms.values()), update, sampling, defaults)


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
    elif part.name in SAMPLINGS:
        method = dataclasses.replace(method, sampling=part)
    elif part.name in CATALOGUE:  # a method of that name, its main term with options
        method = CATALOGUE[part.name]
        method = adjusted(method, options={f"{part.name}.{key}": value for key, value in part.options.items()})
    else:
        method = dataclasses.replace(method, terms=(part,))
    return method, words[1:]


def _words(text: str) -> list[str]:
    """Split at the plus signs that stand outside parentheses."""
    if len(text) > LONGEST:
        raise ValueError(f"The method has {len(text):,} characters, more than {LONGEST:,}: name fewer terms.")
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
    if match is None or not any(name in names for names in (TERMS, UPDATES, SAMPLINGS)):
        raise ValueError(unknown("term", name, dict.fromkeys([*TERMS, *UPDATES, *SAMPLINGS, *CATALOGUE])))
    options = [parse_setting(item, name) for item in match[2].split(",")] if match[2] else []
    return Part(name, options=dict(options))


def parse_setting(text: str, where: str) -> tuple[str, Any]:
    """A setting in text as a name and a value.

    >>> parse_setting("alpha=1.5", "tsallis")
    ('alpha', 1.5)
    """
    key, equals, value = (piece.strip() for piece in text.partition("="))
    if not (key and equals and value):
        raise ValueError(f"'{text.strip()}' of {where} is not a setting: write NAME=VALUE.")
    try:
        parsed = load_yaml(value)
    except ValueError:
        raise ValueError(
            f"'{text.strip()}' of {where} is not a setting: write NAME=VALUE with a plain value."
        ) from None
    if isinstance(parsed, str):  # YAML 1.1 reads 1e-3 as text
        try:
            parsed = float(parsed)
        except ValueError:
            return key, parsed
    return key, parsed


def adjusted(
    method: Method, weights: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
) -> Method:
    """``method`` with weights such as ``{"cycle": 2}`` and options such as ``{"cycle.l2": 0.01}`` put in."""
    parts = {part.name: part for part in (*method.terms, method.update, method.sampling)}
    terms = [part.name for part in method.terms]
    for name, value in (weights or {}).items():
        if name not in terms:
            raise ValueError(f"weight=: {unknown('term', name, terms)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"weight=: {name} must have a number of at least 0, got '{str(value)[:LONGEST]}'.")
        if value > LARGEST:
            raise ValueError(f"weight=: {name} must be at most {LARGEST:g}, got {reprlib.repr(value)}.")
        parts[name] = dataclasses.replace(parts[name], weight=float(value))
    for path, value in (options or {}).items():
        name, dot, option = path.partition(".")
        if not dot:
            raise ValueError(f"option=: '{path}' names no term; write term.option=value, for instance cycle.l2=0.01.")
        if name not in parts:
            raise ValueError(f"option=: {unknown('term', name, parts)}")
        if parts[name].term is not None:
            raise ValueError(f"option=: '{name}' is an object; give it '{option}' where you make it.")
        parts[name] = dataclasses.replace(parts[name], options={**parts[name].options, option: value})
    return dataclasses.replace(
        method,
        terms=tuple(parts[name] for name in terms),
        update=parts[method.update.name],
        sampling=parts[method.sampling.name],
    )


def make(part: Part, *arguments: Any) -> Any:
    """The term, update rule or sampling rule that ``part`` names, made with ``arguments`` and its options."""
    if part.term is not None:
        return copy.deepcopy(part.term)  # the user's object is left alone
    registry = next(names for names in (TERMS, UPDATES, SAMPLINGS) if part.name in names)
    maker = registry[part.name]
    known = list(inspect.signature(maker).parameters)[len(arguments) :]
    hints = get_type_hints(maker.__init__)
    for option, value in part.options.items():
        if option not in known:
            listed = unknown("option", option, known) if known else f"it has no options, but got '{option}'."
            raise ValueError(f"{part.name}: {listed}")
        if option in hints and not fits(value, hints[option]):
            raise ValueError(f"{part.name}: {option} must be {described(hints[option])}, got {value!r}.")
    made = maker(*arguments, **part.options)  # which knows narrower limits
    for option, value in part.options.items():
        if isinstance(value, int | float) and abs(value) > LARGEST:
            raise ValueError(f"{part.name}: {option} must be at most {LARGEST:g}, got {reprlib.repr(value)}.")
    return made
