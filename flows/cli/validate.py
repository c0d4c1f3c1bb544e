"""`dat validate`."""

from pathlib import Path
from typing import Annotated

import typer

from data_catalog.home import Home
from data_catalog.specs.paths import expanded
from flows.cli.terminal.escaping import escape, shortened
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, errors, print_json


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
