"""One spelling for values that enter a key: equal values give equal text, anything else is an error."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from data_catalog.errors import UserError

_MOST_BITS = 1024
"""Of an integer: no float is larger."""


def canonical(value: Any, name: str = "value") -> Any:
    """Return `value` as plain JSON data, the same for equal values.

    Integral floats become integers (a strength of 10 and of 10.0 is one strength), tuples become lists,
    infinities get a name. What has no such form (arrays, functions, NaN, mappings with keys that are not
    strings) raises an error that names it by its path, such as `params.density.k`.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise UserError(f"{name} is a number of {value.bit_length():,} bits, too large to be part of a key")
        return int(value)
    if isinstance(value, float):
        return _canonical_float(float(value), name)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise UserError(f"{name} has a key that is no text: {key!r}", remedy="use text keys")
        return {key: canonical(value[key], f"{name}.{key}") for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [canonical(item, f"{name}[{position}]") for position, item in enumerate(value)]
    raise UserError(
        f"{name} is {_describe(value)}, which cannot be part of a key",
        remedy="use text, numbers, true or false, lists or tables",
    )


def _canonical_float(value: float, name: str) -> Any:
    if math.isnan(value):
        raise UserError(f"{name} is NaN, which cannot be part of a key", remedy="use a number")
    if math.isinf(value):
        return {"float": "inf" if value > 0 else "-inf"}
    return int(value) if value.is_integer() else value


def _describe(value: Any) -> str:
    kind = type(value)
    return f"of type {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")


def canonical_text(value: Any, name: str = "value") -> str:
    """Return the one JSON text of `value`."""
    return _dump(canonical(value, name))


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest_text(text: str) -> str:
    """Return the sha256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_value(value: Any, name: str = "value") -> str:
    """Return the sha256 of the canonical text of `value`."""
    return digest_text(canonical_text(value, name))


def digest_json(value: Any) -> str:
    """Return the sha256 of plain JSON data as it stands (floats untouched), keys sorted."""
    return digest_text(_dump(value))
