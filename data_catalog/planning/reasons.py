"""Why a cell is stale: what differs between its last artifact and what is asked for now."""

from collections.abc import Callable, Mapping
from typing import Any

from data_catalog.store.manifest import Manifest

_LONGEST = 60


def changes(
    previous: Manifest,
    *,
    code: Mapping[str, str],
    params: Mapping[str, Any],
    facts: Mapping[str, Any],
    parents: Mapping[str, str],
    explain: Callable[[], Mapping[str, str]] = dict,
) -> str:
    """Return the differences in one line, such as `code: dat_lib.density.densities; params: k 10 -> 20`.

    `explain` is asked, where facts differ, for those that can be described better than by their names.
    """
    differing = _differing(previous.facts, facts)
    told = explain() if differing else {}
    former_parents = {role: parent.content for role, parent in previous.parents.items()}
    parts = [
        ("code", ", ".join(_rewritten(previous.code, code))),
        ("params", ", ".join(_spelled_out(previous.params, params))),
        ("facts", ", ".join(told.get(name, name) for name in differing)),
        ("input", ", ".join(_differing(former_parents, parents))),
    ]
    found = [f"{kind}: {names}" for kind, names in parts if names]
    # Keys differ although all parts agree only when the key's own recipe has changed.
    return "; ".join(found) or "format"


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    absent = object()
    names = before.keys() | after.keys()
    return sorted(name for name in names if before.get(name, absent) != after.get(name, absent))


def _rewritten(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the modules whose code is on one side only; one that was moved has the same code under another name."""
    both = set(before.values()) & set(after.values())
    return sorted({name for side in (before, after) for name, digest in side.items() if digest not in both})


def _spelled_out(before: Mapping[str, Any], after: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return `name old -> new` for each leaf that differs."""
    found = []
    for name in _differing(before, after):
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _spelled_out(old, new, f"{prefix}{name}.")
        else:
            found.append(f"{prefix}{name} {_short(old)} -> {_short(new)}")
    return found


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
