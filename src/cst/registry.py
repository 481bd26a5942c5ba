"""What can be named: terms, update rules, sampling rules, backbones, kinds of data; ours and other packages'.

A registry knows names and imports what they stand for when it is first asked for it. A package adds names of its own
by an entry point, for instance in its pyproject.toml::

    [project.entry-points."cst.terms"]
    coral = "their_package.coral:CORAL"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cst.spelling import unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Registry(Mapping[str, Any]):
    """Names of one sort of thing; a value is the thing itself, or ``"module:attribute"`` until it is first used.

    >>> rules = Registry("rule", "cst.rules", {"root": "math:sqrt"})
    >>> rules["root"](9)
    3.0
    >>> rules["rot"]
    Traceback (most recent call last):
    ValueError: Unknown rule 'rot': did you mean 'root'? Known rules: root.
    """

    def __init__(self, sort: str, group: str, entries: Mapping[str, Any]) -> None:
        self.sort, self.group = sort, group
        self._entries: dict[str, Any] = dict(entries)
        self.added: dict[str, Any] = {}
        self._complete = False

    def add(self, name: str, thing: Any) -> None:
        """Add a name; one that stands for something else already is refused, a new version of the same is not."""
        if name in self and _origin(self[name]) != _origin(thing):
            raise ValueError(f"There is a {self.sort} called '{name}' already: choose another name.")
        self.take({name: thing})

    def take(self, things: Mapping[str, Any]) -> None:
        """Add names without a question, such as another process of the same run has."""
        self.added.update(things)
        self._entries.update(things)

    def __getitem__(self, name: str) -> Any:
        thing = self._all().get(name)
        if thing is None:
            raise ValueError(unknown(self.sort, name, self))
        if isinstance(thing, str):
            module, _, attribute = thing.partition(":")
            thing = self._entries[name] = getattr(import_module(module), attribute)
        elif isinstance(thing, _Theirs):
            thing = self._entries[name] = thing.load()
        return thing

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Any]:
        """Our own names, then those of installed packages; ours win."""
        if not self._complete:
            from importlib.metadata import entry_points  # not before it is needed: it takes a while

            self._complete = True
            for point in entry_points(group=self.group):
                self._entries.setdefault(point.name, _Theirs(point))
        return self._entries


def _origin(thing: Any) -> tuple[Any, Any]:
    """Where a class or function was defined; a cell of a notebook may be run again."""
    return getattr(thing, "__module__", None), getattr(thing, "__qualname__", thing)


@dataclass(frozen=True)
class _Theirs:
    """What another package names, not yet imported."""

    point: EntryPoint

    def load(self) -> Any:
        try:
            return self.point.load()
        except Exception as error:
            origin = self.point.dist.name if self.point.dist else self.point.value
            raise ValueError(
                f"'{self.point.name}' of the package {origin} cannot be imported ({type(error).__name__}: {error})."
            ) from error
