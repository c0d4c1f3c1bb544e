"""Holding a dataset against the group sizes it is published with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from dat_lib.datasets.source import DataError, Samples

Expect = Literal["official", "any"]
"""Whether the published sizes are insisted on: "any" is for excerpts and variants, whose results are their own."""

Group = tuple[str, int | None, int | None]
"""Split, class and attribute; None for all classes or all attributes."""


def check_counts(samples: Samples, official: Mapping[Group, int], expect: str, where: Path, advice: str) -> None:
    """Refuse samples whose group sizes are not the official ones, unless any are expected.

    `advice` ends the message: what such a difference usually comes from and what helps.
    """
    if expect not in get_args(Expect):
        raise ValueError(f'expect must be one of {", ".join(get_args(Expect))}, not "{expect}"')
    if expect == "any":
        return
    found = {group: _count(samples, *group) for group in official}
    wrong = [
        f"{_name(*group)}: {found[group]} instead of {size}" for group, size in official.items() if found[group] != size
    ]
    if wrong:
        raise DataError(f"{where}: the group sizes are not the official ones ({'; '.join(wrong)}). {advice}")


def _count(samples: Samples, split: str, label: int | None, attribute: int | None) -> int:
    chosen = samples.split == split
    if label is not None:
        chosen &= samples.labels == label
    if attribute is not None:
        chosen &= samples.attributes == attribute
    return int(np.count_nonzero(chosen))


def _name(split: str, label: int | None, attribute: int | None) -> str:
    parts = [split]
    if label is not None:
        parts.append(f"class {label}")
    if attribute is not None:
        parts.append(f"attribute {attribute}")
    return " ".join(parts)
