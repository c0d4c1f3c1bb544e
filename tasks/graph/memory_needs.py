"""How much memory scoring a dataset takes, so that one that is too large is refused before it is tried."""

from data_catalog.errors import UserError
from data_catalog.machine_memory import machine_memory
from data_catalog.specs.models import Groups
from data_catalog.specs.prompts import PromptSet

# Those of `tasks.tables.blocks` and `tasks.graph.graph`: the first takes long to import, the second imports this.
BLOCK_ROWS = 32_768
RESAMPLES = 2000

_NUMBER = 8
_TABLES_OF_RESAMPLES = 12
"""Numbers for each resample and group that a paired comparison holds at its peak."""
_TABLES_OF_SCORES = 6
"""Numbers for each image and group that the hungriest method holds at its peak."""
_COPIES_OF_VECTORS = 3
_TEXT = 500
"""Bytes of a prompt's text, in the cells and manifests that name it."""
_USUAL_DIMENSION = 512


def check_memory(
    words: PromptSet, groups: Groups, *, where: str, tested: int = 1, dimension: int | None = None
) -> None:
    """Raise a `UserError` where scoring would take more memory than the machine has.

    The estimate is of the largest tables: scores of the `tested` images that are at hand together, resamples of the
    groups, and prompts with their vectors. What is not known yet counts as the least it can be.
    """
    n_classes, n_attributes = len(words.classes), len(words.attributes)
    pairs = n_classes * n_attributes
    measured = n_attributes if groups == "attribute" else pairs
    prompts = n_classes + n_attributes + pairs
    scores = _TABLES_OF_SCORES * _NUMBER * pairs * min(tested, BLOCK_ROWS)
    resamples = _TABLES_OF_RESAMPLES * _NUMBER * RESAMPLES * measured
    vectors = prompts * (_TEXT + _COPIES_OF_VECTORS * 4 * (dimension or _USUAL_DIMENSION))
    needed, there = max(scores, resamples) + vectors, machine_memory()
    if needed > there:
        raise UserError(
            f"{n_classes:,} classes x {n_attributes:,} attributes would take about {_gigabytes(needed)} of memory to "
            f"score, and this machine has {_gigabytes(there)}",
            where=where,
            remedy="name fewer classes or attributes, or use a machine with more memory",
        )


def _gigabytes(size: int) -> str:
    return f"{size / 2**30:,.1f} GB"
