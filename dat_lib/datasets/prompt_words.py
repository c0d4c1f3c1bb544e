"""Labels and attributes that somebody wrote down, as positions in the words of a prompt set."""

from collections.abc import Callable, Sequence

from dat_lib.arrays import NO_ATTRIBUTE
from dat_lib.datasets.source import DataError


def positions(
    texts: Sequence[str], words: Sequence[str], name: str, at: Callable[[int], str], *, none_allowed: bool = False
) -> list[int]:
    """Return the position of each text: all texts are words, or all are positions from 0 written as integers.

    With `none_allowed`, -1 stands for none of the words. `at(i)` says where text i stands, for the message about the
    first that is wrong. Words that are themselves integers can be meant either way, and are an error where it matters.
    """
    by_word = {word: position for position, word in enumerate(words)}
    by_number = {str(position): position for position in range(len(words))}
    if none_allowed:
        none = {str(NO_ATTRIBUTE): NO_ATTRIBUTE}
        by_word, by_number = by_word | none, by_number | none
    distinct = dict.fromkeys(texts)
    as_words = {text: by_word[text] for text in distinct if text in by_word}
    as_numbers = {text: by_number[text] for text in distinct if text in by_number}
    if len(as_words) == len(as_numbers) == len(distinct) and as_words != as_numbers:
        raise DataError(
            f"{at(0)}: the {name} can be read as a word and as a position; name the {name} by words that are no numbers"
        )
    chosen = as_words if len(as_words) >= len(as_numbers) else as_numbers
    for row, text in enumerate(texts):
        if text not in chosen:
            raise DataError(
                f'{at(row)}: the {name} "{text}" is unknown; give all of them as words ({", ".join(words)}) or all as '
                f"positions (0 to {len(words) - 1}" + (f", {NO_ATTRIBUTE} for none)" if none_allowed else ")")
            )
    return [chosen[text] for text in texts]
