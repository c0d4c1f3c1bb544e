"""Finding the checks of the theory by name: the modules beside this one list theirs in `CHECKS`.

They are imported by name at run time, so code that looks up a check does not depend on every check.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PACKAGE = "dat_lib.theory"


@dataclass(frozen=True)
class Check:
    """A function that returns rows, given settings and a seed, and those of their columns that say a claim holds."""

    name: str
    function: Callable[..., Any]
    claims: tuple[str, ...] = ()


@functools.cache
def checks() -> dict[str, Check]:
    """Return all checks by name."""
    package = importlib.import_module(_PACKAGE)
    modules = [importlib.import_module(f"{_PACKAGE}.{entry.name}") for entry in pkgutil.iter_modules(package.__path__)]
    return {check.name: check for module in modules for check in getattr(module, "CHECKS", ())}
