"""Reading a TOML file into a spec, with errors that name file, line and field."""

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from data_catalog.errors import UserError

S = TypeVar("S", bound=BaseModel)
_HEADER = re.compile(r"^\s*\[(\[)?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*("[^"]+"|'[^']+'|[A-Za-z0-9_\-]+)\s*(?=[.=])""")


def read_toml(path: Path, model: type[S]) -> S:
    """Return the spec in a file; `UserError` with file, line and field when it cannot be."""
    text = read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{path}, line {line.group(1)}" if line else str(path)
        raise UserError(f"is not valid TOML: {error}", where=place) from error
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits, and brackets within brackets by the thousand.
        raise UserError(f"cannot be read as TOML: {error}", where=str(path)) from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UserError("\n  ".join(_problems(error, text)), where=str(path)) from error
    except RecursionError as error:
        raise UserError("is nested too deeply", where=str(path)) from error


def read_text(path: Path) -> str:
    """Return the text of a file; `UserError` when it cannot be read."""
    try:
        if path.exists() and not path.is_file():
            raise UserError("is not a file", where=str(path))  # a pipe would be waited for, a device never ends
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError("is not UTF-8 text", where=str(path)) from error
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from error


def _problems(error: ValidationError, text: str) -> list[str]:
    problems = []
    for problem in error.errors(include_url=False):
        field = tuple(part for part in problem["loc"] if not str(part).startswith(("function-", "list[")))
        message = problem["msg"].removeprefix("Value error, ")
        place = place_of(text, field)
        problems.append(f"{place}: {message}" if place else message)
    return list(dict.fromkeys(problems))


def place_of(text: str, field: tuple[Any, ...], says: str = "") -> str:
    """Return the line at which a field is written, or says something, and its name: `line 3, grid.0.datasets`."""
    line = line_of(text, field, says)
    return ", ".join(filter(None, (f"line {line}" if line else "", ".".join(map(str, field)))))


def line_of(text: str, field: tuple[Any, ...], says: str = "") -> int | None:
    """Return the line on which a field, or the nearest table around it, is written.

    Where it `says` a text on a later line, as a list over several lines may, that line is returned.
    """
    lines = text.splitlines()
    table: tuple[Any, ...] = ()
    counts: dict[tuple[Any, ...], int] = {}
    best: tuple[int, int] | None = None
    for number, line in enumerate(lines, start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            *outer, last = (part.strip().strip("\"'") for part in header.group(2).split("."))
            table = ()
            for name in outer:  # [grid.set] is of the last [[grid]] before it
                table = (*table, name)
                table = (*table, counts[table]) if table in counts else table
            table = (*table, last)
            if header.group(1):
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            path = table
        elif key:
            path = (*table, key.group(1).strip("\"'"))
        else:
            continue
        if path == field[: len(path)] and (best is None or len(path) > best[0]):
            best = (len(path), number)
    if best is None:
        return None
    for number, line in enumerate(lines[best[1] - 1 :], start=best[1]):
        if number > best[1] and (_HEADER.match(line) or _KEY.match(line)):
            break
        if says and (f'"{says}"' in line or f"'{says}'" in line):
            return number
    return best[1]
