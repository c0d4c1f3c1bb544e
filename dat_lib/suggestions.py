"""What a message about an unknown name ends with."""

import difflib
from collections.abc import Iterable

_LISTED = 30


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if any, and all of them.

    Where there are many and one is near, the others are left out.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near and len(names) > _LISTED:
        return f'; did you mean "{near[0]}"?'
    hint = f'; did you mean "{near[0]}"?' if near else ";"
    return f"{hint} Known: {', '.join(names) or 'none'}"
