"""What is said about a prediction whose queries came in blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dat_lib.methods.support.contract import Prediction


def joined_notes(blocks: Sequence[Prediction]) -> dict[str, Any]:
    """The notes of all blocks, of which there is one at least, as if their queries had come at once.

    Raises:
        ValueError: a note differs from block to block, and the method does not say that it is a mean or a count.
    """
    notes = dict(blocks[0].notes)
    if len(blocks) == 1:
        return notes
    if any(block.notes.keys() != notes.keys() for block in blocks):
        raise ValueError("the notes differ from block to block")
    for name in notes:
        values: list[Any] = [block.notes[name] for block in blocks]
        if name in blocks[0].averaged:
            notes[name] = float(np.average(values, weights=[len(block.labels) for block in blocks]))
        elif name in blocks[0].added:
            notes[name] = np.sum(values, axis=0).tolist()
        elif any(value != values[0] for value in values):
            raise ValueError(f"the note {name} differs from block to block: it must be `averaged` or `added`")
    return notes
