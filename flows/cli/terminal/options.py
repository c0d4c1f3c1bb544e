"""Arguments and options that several commands take."""

from typing import Annotated

import typer

Suite = Annotated[str | None, typer.Argument(help="Name of a suite (`dat ls suites`).", show_default=False)]
Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="Only this dataset; may be repeated.")]
Backbones = Annotated[list[str] | None, typer.Option("--backbone", help="Only this backbone; may be repeated.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="Only this method; may be repeated.")]
Overrides = Annotated[list[str] | None, typer.Option("--set", help="A setting, as name=value; may be repeated.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
