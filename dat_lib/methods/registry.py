"""Finding methods by name.

Our own are found by file: every other module of `dat_lib.methods` lists its classes in `METHODS`. Other packages offer
theirs by an entry point of the group `dat_bench.methods`, name = "package.module:Class". The modules are imported by
name at run time, so code that uses the registry does not depend on every method.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, cast

from dat_lib.methods.support.contract import Method
from dat_lib.methods.support.settings import coerced, setting_types
from dat_lib.suggestions import did_you_mean

GROUP = "dat_bench.methods"
PACKAGE = "dat_lib.methods"


def method_names() -> list[str]:
    """All names that `method_class` knows, sorted. Those of other packages are listed without an import."""
    return sorted([*_own(), *_third_party()])


def method_class(name: str) -> type[Method]:
    """The class registered under `name`.

    Raises:
        ValueError: no such method (with the nearest name), or another package's entry point cannot be loaded.
    """
    if name in _own():
        return _own()[name]
    if name not in _third_party():
        raise ValueError(f'there is no method "{name}"{did_you_mean(name, method_names())}')
    return _loaded(_third_party()[name])


def make_method(name: str, settings: Mapping[str, Any] | None = None) -> Method:
    """The method `name` with these settings, the others at their defaults.

    Raises:
        ValueError: unknown method, unknown setting (with the known ones), or a wrong type or value.
    """
    chosen = method_class(name)
    known = setting_types(chosen)
    given = {}
    for setting, value in (settings or {}).items():
        if setting not in known:
            raise ValueError(f'{name} has no setting "{setting}"{did_you_mean(setting, known)}')
        given[setting] = coerced(name, setting, known[setting], value)
    return chosen(**given)


def method_module(name: str) -> str:
    """The dotted name of the module that defines the method `name`."""
    return method_class(name).__module__


@functools.cache
def _own() -> dict[str, type[Method]]:
    found: dict[str, type[Method]] = {}
    package = importlib.import_module(PACKAGE)
    for entry in pkgutil.iter_modules(package.__path__):
        if entry.ispkg or f"{PACKAGE}.{entry.name}" == __name__:
            continue
        module = importlib.import_module(f"{PACKAGE}.{entry.name}")
        classes = getattr(module, "METHODS", None)
        if not classes:
            raise ValueError(f"{module.__name__} lists no methods: add METHODS = (YourMethod,) at its end")
        for one in classes:
            if one.name in found:
                raise ValueError(f'two methods are named "{one.name}": {found[one.name]} and {one}')
            found[one.name] = one
    return found


@functools.cache
def _third_party() -> dict[str, importlib.metadata.EntryPoint]:
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        if point.name in _own() or found.get(point.name, point) != point:
            raise ValueError(f'the entry point {GROUP} "{point.name}" = {point.value} takes a name that is in use')
        found[point.name] = point
    return found


def _loaded(point: importlib.metadata.EntryPoint) -> type[Method]:
    where = f'the entry point {GROUP} "{point.name}" = {point.value}'
    try:
        offered = point.load()
    except Exception as error:  # whatever another package raises on import, the user is told which package it was
        raise ValueError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if not (isinstance(offered, type) and is_dataclass(offered) and hasattr(offered, "predict")):
        raise ValueError(f"{where} is not a dataclass with a predict method")
    if getattr(offered, "name", None) != point.name:
        raise ValueError(f"{where} gives a method named {getattr(offered, 'name', None)!r}, expected {point.name!r}")
    return cast(type[Method], offered)
