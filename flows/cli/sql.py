"""`dat sql`."""

import csv
import sys
from enum import StrEnum
from typing import Annotated, Any

import typer

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.question_limits import (
    MEMORY_VARIABLE,
    ROWS_VARIABLE,
    TIMEOUT_VARIABLE,
    Limits,
    default_memory,
    parse_memory,
    parse_rows,
    parse_seconds,
)
from data_catalog.index.reader import Answer, query
from flows.cli.terminal.escaping import no_formula, shown
from flows.cli.terminal.interruption import one_interruption, orderly_termination
from flows.cli.terminal.output import complain, console, json_records, note, print_json, print_table, warn

_SHOWN_ROWS = 40


class Format(StrEnum):
    """How `dat sql` prints."""

    table = "table"
    csv = "csv"
    json = "json"


def sql(
    question: Annotated[
        str | None, typer.Argument(help="One SELECT, DESCRIBE or SUMMARIZE.", show_default=False)
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print the answer.")] = Format.table,
    shell: Annotated[bool, typer.Option("--shell", help="Ask one question after the other.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where data behind the answer is damaged, missing or unverified.")
    ] = False,
    timeout: Annotated[
        str | None,
        typer.Option(envvar=TIMEOUT_VARIABLE, metavar="SECONDS", help="Stop a question that takes longer."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            envvar=MEMORY_VARIABLE,
            metavar="SIZE",
            help="Memory for a question, and as much again for its rows, such as 4GB; by default a quarter of all.",
        ),
    ] = None,
    max_rows: Annotated[
        str | None,
        typer.Option(
            envvar=ROWS_VARIABLE,
            metavar="N",
            help=f"Rows to show, 0 for all; by default {_SHOWN_ROWS} in a table on a terminal, else all.",
        ),
    ] = None,
) -> None:
    """Ask the catalog a question in SQL. Ctrl-C stops it.

    Views: results, group_accuracy, predictions, comparisons, leaderboard, paper, vs_paper, artifacts, lineage, runs,
    decisions, drift, costs and others: `--shell` and `.views` lists them all. `DESCRIBE results` lists columns; `SELECT
    column_name, comment FROM duckdb_columns() WHERE table_name = 'results'` explains them. In CSV, a text that a
    spreadsheet would take for a formula has an apostrophe before it; JSON has it as it is. A question that goes over
    its time or memory is stopped, with exit code 1.

    Data files are checked by their digests before they are first asked about, when they have changed, and once a day.
    What is damaged, missing or unverified behind an answer is named in warnings on standard error. `--strict` prints no
    such answer and ends with exit code 1.

    Examples:

        dat sql "SELECT method, wg, avg FROM leaderboard WHERE dataset = 'simbirds'"
        dat sql "SELECT * FROM results" --format csv > results.csv
        dat sql "SELECT cell, reason FROM decisions WHERE outcome = 'computed'" --format json
        dat sql --shell
    """
    home = Home.from_environment()
    limits = _limits(timeout, memory, max_rows, output)
    if shell:
        from flows.cli.sql_shell import run_shell

        with orderly_termination():
            run_shell(home, lambda answer: _print_answer(answer, output, strict=strict), limits)
    elif question is None:
        raise UserError("what is the question?", remedy='dat sql "SELECT * FROM leaderboard", or dat sql --shell')
    else:
        with orderly_termination(), one_interruption():
            printed = _print_answer(query(home, question, limits=limits), output, strict=strict)
        if not printed:
            raise typer.Exit(1)


def _limits(timeout: str | None, memory: str | None, max_rows: str | None, output: Format) -> Limits:
    """Return the limits that options or variables set, else the default ones."""
    by_default = _SHOWN_ROWS if output is Format.table and console.is_terminal else 0
    rows = parse_rows(max_rows) if max_rows else by_default
    return Limits(
        parse_seconds(timeout) if timeout else None,
        parse_memory(memory) if memory else default_memory(),
        rows or None,
    )


def _print_answer(answer: Answer, output: Format, *, strict: bool = False) -> bool:
    """Print an answer and its warnings; return whether it was printed, which `strict` allows without warnings only."""
    _mention_index(answer)
    warn(answer.warnings)
    if strict and answer.warnings:
        complain(UserError("this answer cannot be vouched for", where="--strict", remedy="see the warnings above"))
        return False
    if output is Format.json:
        print_json(json_records(answer))
    elif output is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows([[_csv_cell(value) for value in row] for row in answer.rows])
    else:
        print_table(answer.columns, answer.rows, too_wide="records")
        if console.is_terminal and answer.total == len(answer.rows):
            console.print(f"[dim]{answer.total} rows[/]")
    if answer.total != len(answer.rows):
        of_all = "; there are more" if answer.total is None else f" of {answer.total:,}"
        note(f"the first {len(answer.rows):,} rows{of_all} (--max-rows 0 shows all)")
    return True


def _csv_cell(value: Any) -> Any:
    """Return a value as it stands in CSV: exactly, save what a spreadsheet, a terminal or UTF-8 would stumble over."""
    if not isinstance(value, str):
        return value
    harmless = no_formula(value)
    return shown(harmless) if sys.stdout.isatty() else harmless.encode("utf-8", "backslashreplace").decode()


def _mention_index(answer: Answer) -> None:
    if answer.index not in ("file", "behind", "absent"):
        note(f"the index file is {answer.index}; answered from the manifests (`dat catalog rebuild` mends it)")
