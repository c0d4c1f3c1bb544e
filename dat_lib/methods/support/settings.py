"""Checking the settings of a method against the types and bounds it declares."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, Literal


def setting_types(method: type) -> dict[str, Any]:
    """The settings of a method class, each with its declared type, in order of declaration."""
    if method not in _TYPES:
        hints = typing.get_type_hints(method)
        _TYPES[method] = {field.name: hints[field.name] for field in fields(method) if field.init}
    return _TYPES[method]


# Working types out takes half a millisecond, and a plan asks for them thousands of times.
_TYPES: dict[type, dict[str, Any]] = {}


def coerced(owner: str, name: str, wanted: Any, value: object) -> Any:
    """`value` as the declared type: an int is taken for a float, nothing else is converted.

    Raises:
        ValueError: wrong type or not among the choices; names the setting, the value and what is allowed.
    """
    origin = typing.get_origin(wanted)
    if origin is Literal:
        if value in typing.get_args(wanted):
            return value
    elif origin in (typing.Union, types.UnionType):
        for option in typing.get_args(wanted):
            try:
                return coerced(owner, name, option, value)
            except ValueError:
                continue
    elif origin is tuple:
        if isinstance(value, list | tuple):
            item = typing.get_args(wanted)[0]
            return tuple(coerced(owner, name, item, one) for one in value)
    elif wanted is type(None):
        if value is None:
            return None
    elif wanted is bool or isinstance(value, bool):
        if wanted is bool and isinstance(value, bool):
            return value
    elif wanted is int:
        if isinstance(value, Integral):
            return int(value)
    elif wanted is float:
        with suppress(OverflowError):  # of an int beyond all floats
            if isinstance(value, Real) and math.isfinite(value):
                return float(value)
    elif isinstance(wanted, type) and isinstance(value, wanted):
        return value
    raise ValueError(f"{owner}: setting {name} = {value!r} is not allowed; it takes {describe(wanted)}")


def describe(wanted: Any) -> str:
    """A declared type in words, for a message."""
    origin = typing.get_origin(wanted)
    if origin is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(wanted))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(describe(option) for option in typing.get_args(wanted))
    if origin is tuple:
        return f"a list, each {describe(typing.get_args(wanted)[0])}"
    words = {
        bool: "true or false",
        int: "a whole number",
        float: "a finite number",
        str: "a text",
        type(None): "nothing",
    }
    return words.get(wanted, getattr(wanted, "__name__", str(wanted)))


def check_settings(
    method: Any,
    *,
    at_least: Mapping[str, float] | None = None,
    above: Mapping[str, float] | None = None,
) -> None:
    """Check, and coerce in place, every setting of a frozen dataclass; call it from `__post_init__`.

    `at_least` and `above` give lower bounds (inclusive and strict) by name; a tuple is bounded item by item.

    Raises:
        ValueError: names the method, the setting, the value and what is allowed.
    """
    for name, wanted in setting_types(type(method)).items():
        object.__setattr__(method, name, coerced(method.name, name, wanted, getattr(method, name)))
    for name, bound in (at_least or {}).items():
        if any(value < bound for value in _items(getattr(method, name))):
            raise ValueError(f"{method.name}: setting {name} = {getattr(method, name)!r} must be at least {bound}")
    for name, bound in (above or {}).items():
        if any(value <= bound for value in _items(getattr(method, name))):
            raise ValueError(f"{method.name}: setting {name} = {getattr(method, name)!r} must be above {bound}")


def _items(value: Any) -> tuple[float, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)
