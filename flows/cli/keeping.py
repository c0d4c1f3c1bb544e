"""`dat validate`, `dat verify`, `dat gc`, `dat catalog rebuild` and `dat doctor`: keeping the house in order."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.specs.paths import expanded
from data_catalog.store.artifacts import Store
from data_catalog.store.garbage import SCOPES, Scope, collect
from data_catalog.store.verification import verify as verify_store
from data_catalog.store.verification import verify_sources
from flows.cli.escaping import escape, shortened
from flows.cli.live import LiveReading
from flows.cli.output import AsJson, console, errors, print_json, print_table, size_text

_SHOWN = 20


def validate(
    files: Annotated[list[Path] | None, typer.Argument(help="Spec files; all there are when none is given.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check spec files: their form, and that every name in them exists.

    Examples:

        dat validate
        dat validate specs/datasets/mine.toml
    """
    from data_catalog.specs.collection import Specs
    from tasks.validation import check_specs

    specs = Specs.from_environment(Home.from_environment())
    checked, problems = check_specs(specs, [expanded(path) for path in files] if files else None)
    if as_json:
        print_json({"checked": len(checked), "problems": [{"file": p.where, "problem": p.problem} for p in problems]})
    else:
        for problem in problems:
            errors.print(f"[red]{escape(shortened(str(problem.where)))}[/]: {escape(shortened(problem.problem))}")
            if problem.remedy:
                errors.print(f"  [dim]→[/] {escape(shortened(problem.remedy))}")
        console.print(f"{len(checked)} specs checked, {len(problems)} problems")
    if problems:
        raise typer.Exit(2)


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


def rebuild(as_json: AsJson = False) -> None:
    """Make the index anew from the manifests and run records."""
    home = Home.from_environment()
    started = time.perf_counter()
    home.prepare()
    update_index(home, anew=True)
    count = sum(1 for _ in Store(home).listing())
    seconds = time.perf_counter() - started
    if as_json:
        print_json({"artifacts": count, "seconds": seconds, "index": str(home.index)})
    else:
        console.print(f"{escape(str(home.index))}: {count} artifacts indexed in {seconds:.1f} s")


def doctor(as_json: AsJson = False) -> None:
    """Check this machine: what is installed, GPU, disk, network, whether `DAT_HOME` can be written, the index.

    Exit code 1 when something would keep a run from working.
    """
    from flows.doctor import examine

    findings = examine(Home.from_environment())
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        marks = {"good": "ok", "note": "note", "bad": "BAD"}
        print_table(("", "what", "found"), [(marks[f.state], f.what, f.found) for f in findings])
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(1)


def _scopes(given: list[str]) -> list[Scope]:
    known = "; ".join(f"{name}: {meaning}" for name, meaning in SCOPES.items())
    if not given:
        raise UserError("say what to collect with --scope", remedy=known)
    for name in given:
        if name not in SCOPES:
            raise UserError(f"there is no scope {name}", remedy=known)
    return [name for name in SCOPES if name in given]
