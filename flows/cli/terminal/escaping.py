"""Texts that somebody else wrote, as they may stand on a terminal and in a spreadsheet: shown, never obeyed."""

import re

from rich.markup import escape as _escape_markup

_LONGEST, _LONGEST_LINE = 12_000, 600
"""Characters of a message, and of one line of it; what is longer is cut."""

# Control characters but the end of a line and the tab, marks that turn the direction of writing, and halves of pairs.
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_FORMULA = re.compile(r"[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?")


def shown(text: str) -> str:
    """Return a text in which characters that command a terminal stand as their codes, such as \\x1b."""
    return _COMMANDS.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def escape(text: str) -> str:
    """Return a text that rich prints as it is, without what would command it or the terminal."""
    return _escape_markup(shown(text))


def shortened(text: str) -> str:
    """Return a text that a person may still read: the beginnings of lines that are endless, and of an endless text."""
    text = "\n".join(_cut(line, _LONGEST_LINE) for line in text[: 100 * _LONGEST].split("\n"))
    return _cut(text, _LONGEST)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def no_formula(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula: with an apostrophe before it, if need be."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
