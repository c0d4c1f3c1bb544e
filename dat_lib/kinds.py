"""Kinds that specs may name, each a module that says what it is in its `KIND`.

Our own are found by file: a module of the package that begins a line with `KIND = SomeKind("name"` is of that name, and
is imported when it is asked for. Other packages offer theirs by an entry point, name = "package.module". Code that
looks up a kind therefore depends on none of them.
"""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Generic, Protocol, TypeVar

from dat_lib.suggestions import did_you_mean

_DECLARED = re.compile(r'^KIND = \w+\(\s*"([^"]+)"', re.MULTILINE)


class Declaration(Protocol):
    """What a module says of itself in `KIND`."""

    @property
    def name(self) -> str:
        """What specs call it."""
        ...

    @property
    def offers(self) -> tuple[str, ...]:
        """The functions that its module must have."""
        ...


D = TypeVar("D", bound=Declaration)


@dataclass(frozen=True)
class Kinds(Generic[D]):
    """Kinds of one sort: `what` names it in messages, `declaration` is the class of their `KIND`."""

    what: str
    package: str
    group: str
    declaration: type[D]

    def names(self) -> list[str]:
        """All names, sorted; nothing is imported for it."""
        return sorted([*self._own, *self._third_party])

    def __contains__(self, name: str) -> bool:
        return name in self._own or name in self._third_party

    def kind(self, name: str) -> D:
        """What the module registered under `name` says of itself; raises as `module` does."""
        declared: D = self.module(name).KIND
        return declared

    def module(self, name: str) -> ModuleType:
        """The module registered under `name`.

        Raises:
            ValueError: no such kind (with the nearest name), or another package's entry point cannot be loaded.
        """
        if name in self._own:
            return importlib.import_module(self._own[name])
        if name not in self._third_party:
            raise ValueError(f'there is no {self.what} kind "{name}"{did_you_mean(name, self.names())}')
        return self._load(self._third_party[name])

    @functools.cached_property
    def _own(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in sorted(Path(str(importlib.import_module(self.package).__file__)).parent.glob("*.py")):
            declared = _DECLARED.search(path.read_text(encoding="utf-8"))
            if declared:
                found[declared.group(1)] = f"{self.package}.{path.stem}"
        return found

    @functools.cached_property
    def _third_party(self) -> dict[str, metadata.EntryPoint]:
        found: dict[str, metadata.EntryPoint] = {}
        for point in metadata.entry_points(group=self.group):
            if point.name in self._own or found.get(point.name, point) != point:
                raise ValueError(f"{self._entry(point)} takes a name that is in use")
            found[point.name] = point
        return found

    def _load(self, point: metadata.EntryPoint) -> ModuleType:
        try:
            module = point.load()
        except Exception as error:  # whatever another package raises on import, the user is told which package it was
            raise ValueError(f"{self._entry(point)} cannot be loaded: {type(error).__name__}: {error}") from error
        kind = getattr(module, "KIND", None)
        if not isinstance(module, ModuleType) or not isinstance(kind, self.declaration):
            raise ValueError(f"{self._entry(point)} is not a module with a KIND = {self.declaration.__name__}(...)")
        if kind.name != point.name:
            raise ValueError(f'{self._entry(point)} gives the kind "{kind.name}", expected "{point.name}"')
        for function in kind.offers:
            if not callable(getattr(module, function, None)):
                raise ValueError(f"{self._entry(point)} has no function {function}")
        return module

    def _entry(self, point: metadata.EntryPoint) -> str:
        return f'the entry point {self.group} "{point.name}" = {point.value}'
