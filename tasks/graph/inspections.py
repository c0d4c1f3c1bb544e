"""Inspections: the diagnostics and the checks of the theory that a suite asks for beside its experiments."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from data_catalog.specs.models import Diagnostics, Theory
from tasks.graph.variants import spelled_out


@dataclass(frozen=True)
class Diagnosis:
    """One kind of diagnostic of a dataset's embeddings by a backbone, or of what a method makes of them.

    `overrides` are settings of the diagnostic or of the method, `prompts` a prompt set in place of the dataset's own.
    """

    dataset: str
    backbone: str
    kind: str
    method: str = "dat"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    prompts: str = ""

    @property
    def variant(self) -> str:
        """The overrides as text, empty for none."""
        return spelled_out({**self.overrides, **({"prompts": self.prompts} if self.prompts else {})})

    @property
    def place(self) -> tuple[Any, ...]:
        """What sets it apart from all others."""
        return ("diagnosis", self.dataset, self.backbone, self.kind, self.method, self.variant, self.seed)


@dataclass(frozen=True)
class TheoryCheck:
    """One check of the theory; `overrides` are its arguments."""

    check: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    @property
    def variant(self) -> str:
        """The overrides as text, empty for none."""
        return spelled_out(self.overrides)

    @property
    def place(self) -> tuple[Any, ...]:
        """What sets it apart from all others."""
        return ("theory", self.check, self.variant, self.seed)


def diagnoses(asked: Diagnostics) -> Iterator[Diagnosis]:
    """Yield every combination of what is listed."""
    swept = {name: value if isinstance(value, list) else [value] for name, value in asked.set.items()}
    names = product(asked.datasets, asked.backbones, asked.kinds, asked.methods)
    for (dataset, backbone, kind, method), prompts in product(names, asked.prompts or [""]):
        for values, seed in product(product(*swept.values()), asked.seeds):
            overrides = dict(zip(swept, values, strict=True))
            yield Diagnosis(dataset, backbone, kind, method, overrides, seed, prompts)


def theory_checks(asked: Theory) -> Iterator[TheoryCheck]:
    """Yield every check with every seed."""
    for check, seed in product(asked.checks, asked.seeds):
        yield TheoryCheck(check, asked.set, seed)
