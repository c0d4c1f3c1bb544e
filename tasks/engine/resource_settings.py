"""Settings of the environment that say what a machine can take. They decide no number."""

import os


def at_least(least: int, name: str, default: int) -> int:
    """Return a variable of the environment as a whole number; `ValueError` that names it for anything else."""
    text = os.environ.get(name, "").strip() or str(default)
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {text!r}")
    return int(text)
