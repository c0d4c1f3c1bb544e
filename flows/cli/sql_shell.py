"""`dat sql --shell`: one question after the other, on the same read-only views."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.question_limits import Limits
from data_catalog.index.reader import Answer, query
from flows.cli.terminal.interruption import one_interruption
from flows.cli.terminal.output import complain, console, note, print_table

_HELP = """Write SQL and end it with a semicolon. Commands:
  .views          what can be asked
  .columns VIEW   its columns, explained
  .help           this
  .quit           or Ctrl-D
Ctrl-C stops a question."""


def run_shell(home: Home, show: Callable[[Answer], object], limits: Limits) -> None:
    """Answer statements from the terminal, or from a pipe, until it ends.

    Neither a wrong question nor one that is stopped or goes over a limit ends the shell.
    """
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401  (gives input() its history)

        console.print("[dim]DAT_HOME, read-only; .help lists commands[/]")
    before = signal.getsignal(signal.SIGINT)
    for statement in _statements():
        if statement in (".quit", ".exit"):
            return
        try:
            with one_interruption():
                _answer(home, statement, show, limits)
        except UserError as error:
            complain(error)
        except KeyboardInterrupt:
            note("stopped")
        finally:
            with suppress(ValueError, TypeError):  # not this thread's to set, or not set by Python
                signal.signal(signal.SIGINT, before)


def _answer(home: Home, statement: str, show: Callable[[Answer], object], limits: Limits) -> None:
    command, _, argument = statement.partition(" ")
    if command == ".views":
        sql = "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY ALL"
        print_table(("view", "one row for each"), query(home, sql).rows)
    elif command == ".columns":
        sql = "SELECT column_name, comment FROM duckdb_columns() WHERE schema_name = 'main' AND table_name = ?"
        print_table(("column", "meaning"), query(home, sql, [argument.strip()]).rows)
    elif command.startswith("."):
        console.print(_HELP)
    else:
        show(query(home, statement, limits=limits))


def _statements() -> Iterator[str]:
    """Yield what is written: lines that begin with a dot, and SQL up to a semicolon that ends a line."""
    written = ""
    while True:
        prompt = ("dat> " if not written else "...> ") if sys.stdin.isatty() else ""
        try:
            line = input(prompt)
        except KeyboardInterrupt:
            written = ""
            console.print()
            continue
        except EOFError:
            if written.strip():
                yield written.strip()
            return
        if not written and line.strip().startswith("."):
            yield line.strip()
            continue
        written += line + "\n"
        if line.rstrip().endswith(";"):
            yield written.strip()
            written = ""
        elif not written.strip():
            written = ""
