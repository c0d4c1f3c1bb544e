"""Limits of a question in SQL: how long it may take, how much memory it may use and how many rows it returns."""

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from data_catalog.errors import FailureError, UserError
from data_catalog.machine_memory import machine_memory

TIMEOUT_VARIABLE = "DAT_SQL_TIMEOUT"
MEMORY_VARIABLE = "DAT_SQL_MEMORY"
ROWS_VARIABLE = "DAT_SQL_MAX_ROWS"

_UNITS = {"B": 1}
_UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", start=1)}
_UNITS |= {f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", start=1)}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT]?I?B)", re.IGNORECASE)
_LEAST_MEMORY = 16 * 1024**2


class LimitError(FailureError):
    """A question was ended because it went over one of its limits. It was a valid question, and had begun."""


@dataclass(frozen=True)
class Limits:
    """What one question may use; None is no limit.

    `seconds` is the time until its rows are there, `memory` the bytes that DuckDB may use, and as much again for the
    rows that are returned. `rows` is how many rows are returned: more are only counted, which is no error.
    """

    seconds: float | None = None
    memory: int | None = None
    rows: int | None = None


UNLIMITED = Limits()


def parse_seconds(text: str) -> float:
    """Return a time limit from an option or variable; a `UserError` where it is none."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise _refused("a time limit", text, "a number of seconds above 0, such as 60", "--timeout", TIMEOUT_VARIABLE)
    return seconds


def parse_memory(text: str) -> int:
    """Return a memory limit in bytes from text such as `4GB`; a `UserError` where it is none."""
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found.group(1)) * _UNITS[found.group(2).upper()]) if found else 0
    if size < _LEAST_MEMORY:
        wanted = "a size of at least 16MiB with its unit, such as 500MB or 4GiB"
        raise _refused("a memory limit", text, wanted, "--memory", MEMORY_VARIABLE)
    return size


def parse_rows(text: str) -> int:
    """Return a number of rows from an option or variable, 0 for all; a `UserError` where it is none."""
    if not re.fullmatch(r"\d{1,15}", text.strip(), re.ASCII):
        raise _refused("a number of rows", text, "a whole number, 0 for all rows", "--max-rows", ROWS_VARIABLE)
    return int(text)


def default_memory() -> int:
    """Return a quarter of the memory that this machine, or its container, has."""
    return max(machine_memory() // 4, _LEAST_MEMORY)


def resident_memory() -> int:
    """Return the bytes of memory that this process holds now, or 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def out_of_time(seconds: float) -> LimitError:
    """Return the error for a question that took too long."""
    return LimitError(
        f"the question took longer than {seconds:g} seconds and was stopped",
        where="SQL",
        remedy=f"raise the limit with --timeout SECONDS or {TIMEOUT_VARIABLE}, or ask for less",
    )


def out_of_memory(limit: int | None, why: str) -> LimitError:
    """Return the error for a question that needs too much memory."""
    size = "there is" if limit is None else f"{limit / 1024**2:,.0f} MiB"
    return LimitError(
        f"the question needs more memory than {size} and was stopped: {why}",
        where="SQL",
        remedy=f"raise the limit with --memory SIZE (such as 8GB) or {MEMORY_VARIABLE}, or ask for less",
    )


def _refused(what: str, text: str, wanted: str, option: str, variable: str) -> UserError:
    return UserError(f"{text!r:.80} is not {what}", where=f"{option} or {variable}", remedy=f"give {wanted}")
