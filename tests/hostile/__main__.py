"""`python -m tests.hostile [--seed S] [--minutes M] [KIND ...]`: hostile input for as long as you like."""

import argparse
import sys
import time

from rich.console import Console
from rich.table import Table

from tests.hostile.kinds import KINDS
from tests.hostile.trying import Tally, tried


def main() -> int:
    """Try until the time is over; return 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"one of: {', '.join(KINDS)} (default: all)")
    parser.add_argument("--seed", type=int, default=None, help="of the first case; by default a new one every time")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all kinds together (10)")
    parser.add_argument("--cases", type=int, default=None, help="stop after so many of each kind")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.kinds) - set(KINDS))
    if unknown:
        parser.error(f"there is no kind {', '.join(unknown)}; there are: {', '.join(KINDS)}")
    seed = int(time.time()) * 1000 if arguments.seed is None else arguments.seed
    chosen = arguments.kinds or list(KINDS)
    tallies = {}
    for name in chosen:
        tallies[name] = tried(name, seed, 60 * arguments.minutes / len(chosen), arguments.cases)
        print(
            f"{name}: {tallies[name].tried} commands, {len(tallies[name].failures)} failed", file=sys.stderr, flush=True
        )
    _show(tallies, seed)
    return 1 if any(tally.failures for tally in tallies.values()) else 0


def _show(tallies: dict[str, Tally], seed: int) -> None:
    console = Console()
    table = Table("kind", "tried", "refused cleanly", "accepted", "failed", title=f"seed {seed}")
    for name, tally in tallies.items():
        table.add_row(name, *map(str, (tally.tried, tally.refused, tally.accepted, len(tally.failures))))
    console.print(table)
    for name, tally in tallies.items():
        for case, words in tally.failures:
            console.print(f"\n{name}: {words}", markup=False, highlight=False)
            console.print(f"  again: python -m tests.hostile {name} --seed {case} --cases 1", markup=False)


if __name__ == "__main__":
    sys.exit(main())
