"""The command line: `dat`."""

import sys
from gc import set_threshold


def main() -> None:
    """Run the command line; a person's mistake is a message and an exit code, never a stack trace."""
    # A plan makes many small objects and no rings of them: looking for rings cost it a quarter of its time.
    set_threshold(100_000)
    from flows.cli.terminal.interruption import INTERRUPTED, leave

    try:
        from flows.cli.unchanged import answered

        code = 0
        if not answered(sys.argv[1:]):
            from flows.cli.app import run

            code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    leave(code)
