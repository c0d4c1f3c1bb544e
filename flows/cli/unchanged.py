"""The quick way through `dat run` and `dat plan` when nothing at all has changed since they last found nothing to do.

The answer is then what it was, and is printed again, before anything large is imported. A run is noted as confirmed.
"""

import json
import os
import sys
import time

from data_catalog.planning.stamps import Stamps

_COMMANDS = ("run", "plan")
_PREFIXES = ("DAT_", "PYTHON", "LC_", "TTY_", "JUPYTER")
_NAMES = ("LANG", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
"""Variables that shape what is computed or how it is printed."""


def answered(words: list[str]) -> bool:
    """Give the answer of the same command again, if nothing has changed since. False when it must be worked out."""
    if not words or words[0] not in _COMMANDS:
        return False
    home = os.path.abspath(os.path.expanduser(os.environ.get("DAT_HOME") or ".dat"))
    answer = Stamps(home).find(question(words))
    if answer is None or (answer["run_id"] and not _confirmed(home, str(answer["run_id"]), words)):
        return False
    sys.stderr.write(str(answer["remarks"]))
    sys.stdout.write(str(answer["printed"]))
    sys.stdout.flush()
    return True


def question(words: list[str]) -> dict[str, object]:
    """Return what is asked with all around it, beside files, that shapes the answer."""
    return {
        "words": words,
        "folder": os.getcwd(),
        "variables": {
            name: value for name, value in sorted(os.environ.items()) if name.startswith(_PREFIXES) or name in _NAMES
        },
        "streams": [_shape(number) for number in range(3)],
        "encodings": [sys.stdout.encoding, sys.stderr.encoding],
    }


def _shape(stream: int) -> list[int] | bool:
    """Return the size of the terminal that a stream goes to, or False."""
    try:
        return list(os.get_terminal_size(stream)) if os.isatty(stream) else False
    except OSError:
        return False


def _confirmed(home: str, run_id: str, words: list[str]) -> bool:
    """Note that a run's decisions still stand, in one line; False when it cannot be noted."""
    line = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "run_id": run_id, "words": words}
    try:
        with open(os.path.join(home, "runs", "confirmed.jsonl"), "a", encoding="utf-8") as stream:
            stream.write(json.dumps({**line, "host": os.uname().nodename, "pid": os.getpid()}) + "\n")
    except OSError:
        return False
    return True
