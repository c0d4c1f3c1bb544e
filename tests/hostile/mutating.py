"""Harm to a valid file: to its bytes, its text, its structure, and to the place it lies in."""

import csv
import datetime
import io
import json
import os
import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

TEXTS = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "\x9b31m",
    "\u202egnp.exe",
    "e\u0301\u200b\ufeff",
    "\U0010ffff\U0001f426",
    "\r\n",
    "two\nlines",
    "x" * 5_000,
    "y" * 300_000,
    "..",
    "../../../../proc/version",
    "/proc/version",
    "/dev/zero",
    "/proc/self/mem",
    "~",
    "C:\\x",
    "a/b",
    "-",
    "--help",
    "'; DROP TABLE x; --",
    '"',
    "{class}",
    "{a class} {attribute}",
    "{0.__class__}",
    "%s%n",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "\\input{/proc/version}",
    "$x_1$ \\frac",
    "[bold]x[/bold]",
    "[/]",
    "`x` | **y** [z](javascript:alert(1))",
    "nan",
    "-1",
    "1e999",
    "null",
    "true",
)
NUMBERS = (
    0,
    1,
    -1,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**30,
    0.0,
    -0.0,
    0.5,
    1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    True,
    False,
)
_INTERESTING = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00" * 8,
)


def harmed_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with a few places overwritten, cut, doubled, moved or put in."""
    harmed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        place = chance.randrange(len(harmed) + 1)
        if chance.random() < 0.3:
            place = max(0, len(harmed) - chance.randrange(1, 600))  # where Parquet and zip keep what matters
        match chance.randrange(8):
            case 0:
                harmed[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                if place < len(harmed):
                    harmed[place] ^= 1 << chance.randrange(8)
            case 2:
                del harmed[place : place + chance.choice((1, 4, 100, 10_000))]
            case 3:
                harmed[place:place] = chance.choice(_INTERESTING)
            case 4:
                some = chance.choice(_INTERESTING)
                harmed[place : place + len(some)] = some
            case 5:
                harmed[place:place] = harmed[place : place + chance.randrange(1, 200)]
            case 6:
                harmed[place : place + 16] = chance.randbytes(16)
            case 7 if chance.random() < 0.3:
                harmed = harmed[: chance.choice((0, 1, 4, place))]
    return bytes(harmed)


def harmed_text(text: str, chance: random.Random) -> bytes:
    """Return a text file as other programs, other systems and careless hands leave it."""
    lines = text.splitlines(keepends=True) or [""]
    line = chance.randrange(len(lines))
    match chance.randrange(14):
        case 0:
            return b"\xef\xbb\xbf" + text.encode()
        case 1:
            return text.replace("\n", chance.choice(("\r\n", "\r", "\n\r", "\x0b", "\u2028"))).encode()
        case 2:
            return text.encode(chance.choice(("utf-16", "utf-16-le", "utf-32", "cp037")))
        case 3:
            return text.replace("a", "ä").encode("latin-1", "replace")
        case 4:
            lines.insert(line, lines[line])
        case 5:
            del lines[line]
        case 6:
            lines.insert(line, chance.choice(TEXTS) + "\n")
        case 7:
            place = chance.randrange(len(text) + 1)
            return (text[:place] + chance.choice(TEXTS) + text[place:]).encode()
        case 8:
            return text[: chance.randrange(len(text) + 1)].encode()
        case 9:
            return b""
        case 10:
            return chance.choice((b"\x00", b"\xff\xfe", b"\n" * 1000, b" " * 100_000, chance.randbytes(300)))
        case 11:
            chance.shuffle(lines)
        case 12:
            return text.encode().replace(b"\n", b"\x00\n", 1)
        case 13:
            return harmed_bytes(text.encode(), chance)
    return "".join(lines).encode()


def harmed_toml(text: str, chance: random.Random) -> bytes:
    """Return a TOML file with a value, a name or the text itself changed."""
    match chance.randrange(10):
        case 0 | 1:
            return harmed_text(text, chance)
        case 2:
            depth = chance.choice((40, 3000))
            deep = chance.choice(
                (
                    f"deep = {'[' * depth}{']' * depth}",
                    f"deep = {'{a=' * depth}1{'}' * depth}",
                    ".".join("a" * depth) + "=1",
                )
            )
            return f"{deep}\n{text}".encode()
        case 3:
            numbers = ("9" * 5000, "0x" + "f" * 5000, "1e400", "-inf", "1_0.0", "9223372036854775808", "1979-05-27")
            lines = text.splitlines()
            values = [number for number, line in enumerate(lines) if "=" in line]
            chosen = chance.choice(values)
            lines[chosen] = f"{lines[chosen].partition('=')[0]}= {chance.choice(numbers)}"
            return "\n".join(lines).encode()
    tree = harmed_tree(tomllib.loads(text), chance)
    return tomli_w.dumps(_for_toml(tree if isinstance(tree, dict) else {"a": tree})).encode("utf-8", "replace")


def _for_toml(tree: Any) -> Any:
    """Return a tree without what TOML cannot say."""
    if isinstance(tree, dict):
        return {name: _for_toml(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_for_toml(value) for value in tree]
    return "" if tree is None else tree


def harmed_json(text: str, chance: random.Random) -> bytes:
    """Return a JSON file with a value, a name or the text itself changed."""
    match chance.randrange(8):
        case 0:
            return harmed_text(text, chance)
        case 1:
            depth = 100_000
            return chance.choice(("[" * depth + "]" * depth, '{"a":' * depth, "9" * 5000, '"\\ud800"', "NaN")).encode()
        case 2:
            return text.replace("{", '{"key": 1, "key": 2,', 1).encode()
    return json.dumps(harmed_tree(json.loads(text), chance)).encode()


def harmed_tree(tree: Any, chance: random.Random) -> Any:
    """Return nested tables and lists with one to three places changed."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        tree = _harmed_once(tree, chance)
    return tree


def _harmed_once(tree: Any, chance: random.Random) -> Any:
    if isinstance(tree, dict) and tree and chance.random() < 0.85:
        name = chance.choice(list(tree))
        match chance.randrange(12):
            case 0:
                return {other: value for other, value in tree.items() if other != name}
            case 1:
                return {**tree, chance.choice((*TEXTS[:30], name.upper(), name + "s")): tree[name]}
            case 2:
                return {(chance.choice(TEXTS) if other == name else other): value for other, value in tree.items()}
        return {**tree, name: _harmed_once(tree[name], chance)}
    if isinstance(tree, list) and tree and chance.random() < 0.7:
        place = chance.randrange(len(tree))
        match chance.randrange(8):
            case 0:
                return tree[:place] + tree[place + 1 :]
            case 1:
                return [*tree, tree[place]]
            case 2:
                return tree * 200
        return [*tree[:place], _harmed_once(tree[place], chance), *tree[place + 1 :]]
    return _other_value(tree, chance)


def _other_value(value: Any, chance: random.Random) -> Any:
    deep: Any = "deep"
    for _ in range(60):
        deep = [deep]
    others: tuple[Callable[[], Any], ...] = (
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice(NUMBERS),
        lambda: chance.choice(([], {}, [[]], [{}], {"": ""}, deep, [0] * 2000, ["a", 1, [2]])),
        lambda: [value],
        lambda: {"a": value},
        lambda: str(value),
        lambda: datetime.datetime(1, 1, 1).isoformat() if isinstance(value, str) else -value if value else value,
    )
    try:
        return chance.choice(others)()
    except TypeError:
        return None if not isinstance(value, str) else ""


def harmed_csv(text: str, chance: random.Random) -> bytes:
    """Return a CSV file with cells, rows, columns or the text itself changed."""
    if chance.random() < 0.2:
        return harmed_text(text, chance)
    if chance.random() < 0.2:
        return exported_csv(text, chance.choice(EXPORTS))
    rows = list(csv.reader(io.StringIO(text)))
    for _ in range(chance.choice((1, 1, 2, 5))):
        row, column = chance.randrange(len(rows)), chance.randrange(len(rows[0]))
        match chance.randrange(8):
            case 0:
                rows[row] = rows[row][:-1]
            case 1:
                rows[row] = [*rows[row], "more"]
            case 2:
                rows.insert(row, rows[chance.randrange(len(rows))])
            case 3:
                rows = [[*line, line[column] if column < len(line) else ""] for line in rows]
            case 4:
                rows = [line[:column] + line[column + 1 :] for line in rows]
                if not rows[0]:
                    return b""
            case _:
                if column < len(rows[row]):
                    rows[row] = [*rows[row][:column], str(chance.choice((*TEXTS, *NUMBERS))), *rows[row][column + 1 :]]
    written = io.StringIO()
    csv.writer(
        written,
        delimiter=chance.choice((*",,,,,", ";", "\t")),
        quoting=chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
        lineterminator=chance.choice(("\n", "\n", "\r\n")),
    ).writerows(rows)
    return written.getvalue().encode("utf-8", "replace")


EXPORTS = ("heading only", "heading without end", "semicolons", "tabs", "capitals", "byte-order mark", "UTF-16")
"""Ways in which programs write a CSV file that is otherwise sound."""


def exported_csv(text: str, way: str) -> bytes:
    """Return a sound CSV file as another program writes it."""
    heading, _, rows = text.partition("\n")
    match way:
        case "heading only":
            return f"{heading}\n".encode()
        case "heading without end":
            return heading.encode()
        case "semicolons":
            return text.replace(",", ";").encode()
        case "tabs":
            return text.replace(",", "\t").encode()
        case "capitals":
            return f"{heading.title()}\n{rows}".encode()
        case "byte-order mark":
            return text.encode("utf-8-sig")
        case _:
            return text.encode("utf-16")


PLACES = ("nothing", "folder", "fifo", "zero", "random", "memory", "loop", "dangling", "outside", "empty")


def displace(path: Path, chance: random.Random, outside: Path) -> None:
    """Put something else in a file's place."""
    put_in_place(path, chance.choice(PLACES), outside)


def put_in_place(path: Path, what: str, outside: Path | None = None) -> None:
    """Put one of `PLACES` where a file may be."""
    path.unlink(missing_ok=True)
    targets = {"zero": "/dev/zero", "random": "/dev/urandom", "memory": "/proc/self/mem", "loop": path.name}
    if what == "folder":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    elif what in targets:
        path.symlink_to(targets[what])
    elif what == "dangling":
        path.symlink_to(path.parent / "nowhere")
    elif what == "outside":
        assert outside is not None
        path.symlink_to(outside)
    elif what == "empty":
        path.write_bytes(b"")
