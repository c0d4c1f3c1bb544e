"""`dat ls`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from data_catalog.errors import UserError
from data_catalog.home import Home
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, print_json, print_table


class Listing(StrEnum):
    """What `dat ls` lists."""

    datasets = "datasets"
    backbones = "backbones"
    methods = "methods"
    prompts = "prompts"
    suites = "suites"


def ls(
    kind: Annotated[Listing, typer.Argument(help="What to list.")],
    as_json: AsJson = False,
) -> None:
    """List datasets, backbones, methods, prompt sets or suites.

    Examples:

        dat ls suites
        dat ls methods --json
    """
    records = _method_records() if kind is Listing.methods else _spec_records(Home.from_environment(), kind)
    if as_json:
        print_json(records)
    elif records:
        print_table(tuple(records[0]), [tuple(record.values()) for record in records])
    else:
        console.print(f"there are no {kind.value} yet")


def _spec_records(home: Home, kind: Listing) -> list[dict[str, Any]]:
    from data_catalog.specs.collection import Specs

    specs = Specs.from_environment(home)
    records = []
    for name in specs.names(kind.value):
        try:
            path = specs.path(kind.value, name)
            reader = {"datasets": specs.dataset, "backbones": specs.backbone, "suites": specs.suite}
            spec = reader.get(kind.value, specs.prompt_set)(name)
            title = getattr(spec, "title", "") or getattr(spec, "source", "")
            records.append({"name": name, "file": _near(path), "title": title})
        except UserError as error:
            records.append({"name": name, "file": str(error.where), "title": f"BROKEN: {error.problem}"})
    return records


def _method_records() -> list[dict[str, Any]]:
    from dat_lib.methods.registry import make_method
    from tasks.graph.methods import known_methods

    records = []
    for name in known_methods():
        method = make_method(name)
        needs = method.needs.in_full()
        reads = [f"{role} prompts" for role in needs.text]
        pool = [
            what for what, needed in (("labels", needs.pool_labels), ("attributes", needs.pool_attributes)) if needed
        ]
        if needs.pool:
            reads.append(f"reference images{' with ' if pool else ''}{' and '.join(pool)}")
        if needs.test_attributes:
            reads.append("test attributes")
        records.append({"name": name, "title": method.title, "reads": ", ".join(reads)})
    return records


def _near(path: Path) -> str:
    """Return `shipped` for a file of ours, else its path, from here where it is below."""
    if "data_catalog" in path.parts:
        return "shipped"
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
