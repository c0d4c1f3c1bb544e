"""Prefect's settings for a person at a terminal: a server of its own unless one is named, and nothing sent outside."""

import os
import tomllib
from pathlib import Path

from data_catalog.home import Home

_QUIET = {
    # Our own progress is on the terminal; Prefect's log goes to its server.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
}
_EMBEDDED = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # On a busy machine its 20 seconds have been seen to run out.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    # What a temporary server needs for nothing costs half of its start.
    "PREFECT_SERVER_API_BLOCKS_REGISTER_ON_START": "false",
    "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
}


def prepare_prefect(home: Home) -> None:
    """Set what is not set already. To be called before Prefect is imported.

    With a server named by `PREFECT_API_URL` or the active profile, flows report to it. Without one, Prefect starts a
    temporary server whose database is in `DAT_HOME`, so that nothing lands in a person's home folder unasked.
    """
    settings = _QUIET
    if not server_address():
        settings = {**_QUIET, **_EMBEDDED, "PREFECT_HOME": str(home.root / "prefect")}
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def server_address() -> str | None:
    """Return the address of the server that a person has named, without importing Prefect; None when there is none."""
    address = os.environ.get("PREFECT_API_URL")
    if address:
        return address
    folder = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    try:
        profiles = tomllib.loads((folder / "profiles.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    name = os.environ.get("PREFECT_PROFILE") or profiles.get("active")
    found = profiles.get("profiles", {}).get(name, {}).get("PREFECT_API_URL")
    return found if isinstance(found, str) else None
