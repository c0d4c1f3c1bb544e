"""The command line: `dat`."""

import sys


def main() -> None:
    """Run the command line; a person's mistake is a message and exit code 2, never a stack trace."""
    from flows.cli.app import run

    sys.exit(run())
