"""`dat verify`."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import Progress

from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.store.artifacts import Store
from data_catalog.store.verification import verify as verify_store
from data_catalog.store.verification import verify_sources
from flows.cli.terminal.escaping import escape
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, errors, print_json, size_text
from flows.cli.terminal.progress import LiveReading

_SHOWN = 20


def verify(
    sources: Annotated[
        bool,
        typer.Option("--sources", help="Read the files of datasets and models instead, whatever their times."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read every artifact again, compare it with its digest, and set aside what is damaged.

    Exit code 1 when something was damaged; `dat run` then computes just that again.

    With `--sources`, images, tables and weights are read again that were looked at before. A plan reads those that have
    a new size or time; this finds what has changed without. Exit code 1 when something has; `dat plan` then names what
    depends on it.

    Examples:

        dat verify
        dat verify --sources
    """
    home = Home.from_environment()
    if sources:
        _verify_sources(home, as_json=as_json)
        return
    with Progress(console=errors, disable=not errors.is_terminal, transient=True) as bar:
        task = bar.add_task("verifying")
        found = verify_store(Store(home), progress=lambda done, total: bar.update(task, completed=done, total=total))
    if found.damaged:
        update_index(home)
    if as_json:
        print_json(asdict(found))
    else:
        for damage in found.damaged:
            name = damage.cell or f"{damage.step} {damage.key[:12]}"
            console.print(f"[red]damaged[/] {escape(damage.file)} ({escape(name)}): {escape(damage.problem)}")
        console.print(f"{found.artifacts} artifacts, {size_text(found.bytes)} read, {len(found.damaged)} damaged")
    if found.damaged:
        raise typer.Exit(1)


def _verify_sources(home: Home, *, as_json: bool) -> None:
    with LiveReading() as live:
        found = verify_sources(home, live)
    unnoticed = [path for source in found.values() for path in source.unnoticed]
    if as_json:
        print_json({name: asdict(source) for name, source in found.items()})
    else:
        for path in unnoticed[:_SHOWN]:
            console.print(f"[red]changed[/] {escape(path)}: other content, although its size and times are the same")
        if len(unnoticed) > _SHOWN:
            console.print(f"… and {len(unnoticed) - _SHOWN:,} more")
        files, changed = (sum(getattr(source, name) for source in found.values()) for name in ("files", "changed"))
        console.print(
            f"{files:,} files of {len(found)} datasets, models and imports read, {changed:,} changed, "
            f"{len(unnoticed):,} of them without a trace"
        )
    if unnoticed:
        raise typer.Exit(1)
