"""`dat gc`."""

from dataclasses import asdict
from typing import Annotated

import typer

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.store.garbage import SCOPES, Scope, collect
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, print_json, print_table, size_text


def gc(
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="superseded, orphans or quarantine; may be repeated.", show_default=False),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Remove; without it, only show what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove what nobody needs any more. Shows only, unless `--apply` is given; never while a run is under way.

    Examples:

        dat gc --scope superseded
        dat gc --scope superseded --scope orphans --apply
    """
    chosen = _scopes(scope or [])
    garbage = collect(Home.from_environment(), chosen, apply=apply)
    if as_json:
        print_json({"applied": apply, "garbage": [asdict(item) for item in garbage]})
        return
    if garbage:
        rows = [(item.scope, item.path, item.cell, size_text(item.bytes)) for item in garbage]
        print_table(("scope", "path", "cell", "size"), rows)
    total = size_text(sum(item.bytes for item in garbage))
    if apply:
        console.print(f"removed {len(garbage)} files, {total}")
    else:
        console.print(f"{len(garbage)} files, {total}, would go; --apply removes them")


def _scopes(given: list[str]) -> list[Scope]:
    known = "; ".join(f"{name}: {meaning}" for name, meaning in SCOPES.items())
    if not given:
        raise UserError("say what to collect with --scope", remedy=known)
    for name in given:
        if name not in SCOPES:
            raise UserError(f"there is no scope {name}", remedy=known)
    return [name for name in SCOPES if name in given]
