"""A cell: one artifact that should exist, and the key that says whether it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from data_catalog.canonical import canonical, digest_json

FORMAT = 1
"""Version of manifests and keys. A reader refuses newer ones and knows how to read older ones."""

ADDRESS_FIELDS = ("dataset", "backbone", "method", "variant", "seed")


@dataclass(frozen=True)
class Cell:
    """One artifact that should exist.

    `address` says what it is for a person (dataset, backbone, method, variant, seed) and stays the same when code or
    settings change; `params`, `facts`, the code of `modules` and the content of `parents` decide the result. What a
    step needs but what cannot change its result (folders, batch sizes, devices) goes into `resources`. `together` are
    other cells of the plan, with the same modules, facts and parents, that the step can make together with this one.
    `explain` is given the store and an earlier artifact and says of some facts how they have changed since.
    """

    step: str
    address: Mapping[str, str | int]
    modules: tuple[str, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    together: tuple["Cell", ...] = field(default=(), compare=False, repr=False)
    explain: Callable[[Any, Any], Mapping[str, str]] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def name(self) -> str:
        """The readable, unique name, such as `predictions/waterbirds/clip-vit-l-14/dat/k=20`."""
        parts = [str(self.address[name]) for name in ADDRESS_FIELDS[:4] if self.address.get(name)]
        if self.address.get("seed"):
            parts.append(f"seed={self.address['seed']}")
        return "/".join([self.step, *parts])

    @cached_property
    def canonical_params(self) -> dict[str, Any]:
        """`params` in the form that enters the key."""
        result: dict[str, Any] = canonical(self.params, "params")
        return result

    @cached_property
    def canonical_facts(self) -> dict[str, Any]:
        """`facts` in the form that enters the key."""
        result: dict[str, Any] = canonical(self.facts, "facts")
        return result

    def key(self, code: str, parent_contents: Mapping[str, str]) -> str:
        """Return the key: same key, same result. `code` is the version of the code of `modules`."""
        return digest_json(
            {
                "format": FORMAT,
                "step": self.step,
                "code": code,
                "params": self.canonical_params,
                "facts": self.canonical_facts,
                "parents": dict(sorted(parent_contents.items())),
            }
        )
