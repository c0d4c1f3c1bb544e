"""The command line: `dat`."""

import gc
import sys


def main() -> None:
    """Run the command line; a person's mistake is a message and exit code 2, never a stack trace."""
    # A plan makes many small objects and no rings of them: looking for rings cost it a quarter of its time.
    gc.set_threshold(100_000)
    from flows.cli.unchanged import answered

    if answered(sys.argv[1:]):
        sys.exit(0)
    from flows.cli.app import run

    sys.exit(run())
