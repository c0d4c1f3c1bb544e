"""`python -m tests.faults [--seed S] [--minutes M | --rounds N] [FAULT ...]` disturbs runs in every way there is.

It ends with a table of what was tried, what met a run, and what survived; each failure has a command that repeats it.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.faults.campaign import FAULTS, QUICK, Tally, Trial, a_world, campaign

_SHOWN = 3000
console = Console(highlight=False, soft_wrap=True)


def main() -> int:
    """Run the campaign; return 1 when something did not survive."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Disturb runs and judge what is left.")
    parser.add_argument(
        "faults",
        nargs="*",
        metavar="FAULT",
        help=f"some of: {', '.join(FAULTS)} (default: all, or with --rounds the quick ones)",
    )
    parser.add_argument("--seed", type=int, help="of the first round (default: a random one)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--rounds", type=int, help="how often each fault is tried (default: 1)")
    length.add_argument("--minutes", type=float, help="how long faults are tried in turn")
    parser.add_argument("--runs", type=int, default=100, help="how many runs are a long row of them")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.faults) - set(FAULTS)):
        parser.error(f"there is no fault {', '.join(unknown)}; there are: {', '.join(FAULTS)}")
    seed = random.randrange(10**6) if arguments.seed is None else arguments.seed
    console.print(f"seed {seed}")
    with a_world() as world:
        names = arguments.faults or list(FAULTS if arguments.minutes else QUICK)
        world.many = arguments.runs
        tally = campaign(world, names, seed, enough=_enough(arguments.minutes, arguments.rounds or 1), tell=_tell)
        _print(tally, world.questions)
    return 1 if tally.failed else 0


def _enough(minutes: float | None, rounds: int) -> Callable[[int], bool]:
    end = time.monotonic() + 60 * (minutes or 0)
    return lambda number: time.monotonic() > end if minutes else number >= rounds


def _tell(trial: Trial) -> None:
    word = "[red]HARM[/]" if trial.complaints else "survived" if trial.took_effect else "[dim]missed[/]"
    console.print(f"{word} {trial.fault} {trial.seed} ({trial.seconds:.1f} s) [dim]{escape(trial.what)}[/]")
    for complaint in trial.complaints:
        console.print(f"    {escape(complaint[-_SHOWN:])}")
    if trial.complaints:
        console.print(f"    [bold]{escape(trial.command)}[/]")


def _print(tally: Tally, questions: int) -> None:
    table = Table(box=SIMPLE_HEAD, header_style="bold")
    for name in ("fault", "tried", "took effect", "survived", "harm"):
        table.add_column(name, justify="left" if name == "fault" else "right")
    for name in dict.fromkeys(trial.fault for trial in tally.trials):
        table.add_row(name, *_counts([trial for trial in tally.trials if trial.fault == name]))
    table.add_section()
    table.add_row("all", *_counts(tally.trials))
    console.print(table)
    console.print(f"meanwhile readers were answered {questions:,} questions")
    for name, reason in tally.cannot.items():
        console.print(f"{name} cannot be tried here: {escape(reason)}")
    for trial in tally.failed:
        console.print(f"[red]harm:[/] {escape(trial.command)}")


def _counts(trials: list[Trial]) -> list[str]:
    met = [trial for trial in trials if trial.took_effect]
    survived, harmed = sum(trial.survived for trial in trials), sum(bool(trial.complaints) for trial in trials)
    return [str(len(trials)), str(len(met)), str(survived), f"[red]{harmed}[/]" if harmed else "0"]


if __name__ == "__main__":
    sys.exit(main())
