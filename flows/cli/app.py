"""The commands of `dat`. Each module of this package holds those that belong together."""

import sys

import typer

from data_catalog.errors import FailureError, UserError
from flows.cli import computing, importing, keeping, looking, prompting, reporting
from flows.cli.interruption import INTERRUPTED
from flows.cli.output import complain, note

_FAILED, _REFUSED = 1, 2

app = typer.Typer(
    name="dat",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Evaluate and repair vision-language models that lean on spurious correlations.

State lives in `DAT_HOME` (default: `.dat` in the current folder), your own specs in `DAT_SPECS` (default: `specs`).

Exit codes:

- 0: done.
- 1: it began and something failed: cells, a damaged file, a question over its limit, a machine that refuses (full disk,
  no permission, a server that does not answer). What was finished is kept.
- 2: refused before it began: wrong usage, a spec or an input that cannot be used. Nothing was changed.
- 3: something is stale (`dat plan --check`).
- 130: stopped by Ctrl-C.

Begin with `dat run demo`, then `dat sql "SELECT * FROM leaderboard"`.
""",
)

catalog = typer.Typer(no_args_is_help=True, help="The index behind `dat sql`.")
imports = typer.Typer(no_args_is_help=True, help="Bring in what exists already.")
app.add_typer(catalog, name="catalog")
app.add_typer(imports, name="import")
prompts = typer.Typer(no_args_is_help=True, help="Words for prompts.")
app.add_typer(prompts, name="prompts")

app.command()(computing.run)
app.command()(computing.plan)
app.command()(reporting.report)
app.command()(reporting.explain)
app.command()(looking.why)
app.command()(looking.status)
app.command()(looking.sql)
app.command("ls")(looking.list_specs)
app.command()(keeping.validate)
imports.command("embeddings")(importing.embeddings)
prompts.command("wordnet")(prompting.wordnet)
app.command()(keeping.verify)
app.command()(keeping.gc)
catalog.command("rebuild")(keeping.rebuild)
app.command()(keeping.doctor)


def run() -> int:
    """Run one command and return its exit code."""
    try:
        app()
    except UserError as error:
        complain(error)
        return _FAILED if isinstance(error, FailureError) else _REFUSED
    except SystemExit as request:
        if request.code == INTERRUPTED:
            kept = "; finished work is kept, and the same command goes on from there"
            note(f"stopped{kept if sys.argv[1:2] == ['run'] else ''}")
        return int(request.code or 0)
    return 0
