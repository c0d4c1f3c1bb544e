"""What a message about an unknown name proposes."""

from collections.abc import Iterable
from difflib import get_close_matches

_LIKENESS = 0.5


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `did you mean NEAREST? `, to be followed by where all names are listed; nothing when none is near."""
    near = get_close_matches(name, list(known), n=1, cutoff=_LIKENESS)
    return f"did you mean {near[0]}? " if near else ""
