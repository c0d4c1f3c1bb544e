"""Settings as text: how variants are named in addresses, and how a person writes them."""

from collections.abc import Iterable, Mapping
from typing import Any

from data_catalog.errors import UserError


def spelled_out(settings: Mapping[str, Any]) -> str:
    """Return settings as `parse_overrides` reads them, such as `k=20, terms=group`."""
    return ", ".join(f"{name}={_plain(value)}" for name, value in sorted(settings.items()))


def parse_variant(variant: str) -> dict[str, Any]:
    """Return the settings that a variant spells out."""
    return parse_overrides(filter(None, variant.split(", ")))


def parse_overrides(pairs: Iterable[str]) -> dict[str, Any]:
    """Read `name=value` pairs as TOML would: numbers, true and false, lists, else text."""
    import tomllib

    overrides: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--set {pair}: expected name=value", remedy="for example --set k=20")
        try:
            overrides[name.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            overrides[name.strip()] = text.strip()
    return overrides


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(repr(item) if isinstance(item, str) else _plain(item) for item in value)}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
