"""The commands of `dat`. Each is in the module that is named as it is."""

import sys

import typer

from data_catalog.errors import FailureError, UserError
from flows.cli.catalog import rebuild
from flows.cli.doctor import doctor
from flows.cli.explain import explain
from flows.cli.gc import gc
from flows.cli.import_embeddings import embeddings
from flows.cli.ls import ls
from flows.cli.plan import plan
from flows.cli.prompts import wordnet
from flows.cli.report import report
from flows.cli.run import run as run_suite
from flows.cli.sql import sql
from flows.cli.status import status
from flows.cli.terminal.interruption import INTERRUPTED
from flows.cli.terminal.output import complain, note
from flows.cli.validate import validate
from flows.cli.verify import verify
from flows.cli.why import why

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

app.command("run")(run_suite)
app.command()(plan)
app.command()(report)
app.command()(explain)
app.command()(why)
app.command()(status)
app.command()(sql)
app.command()(ls)
app.command()(validate)
imports.command("embeddings")(embeddings)
prompts.command("wordnet")(wordnet)
app.command()(verify)
app.command()(gc)
catalog.command("rebuild")(rebuild)
app.command()(doctor)


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
