"""The names in a suite: one that does not exist is an error at the line of the file that says it."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from data_catalog.errors import UserError
from data_catalog.specs.collection import Specs
from data_catalog.specs.toml import place_of, read_text
from tasks.graph.diagnostics import kind_of, split_settings
from tasks.graph.inspections import Diagnosis, TheoryCheck
from tasks.graph.methods import check_method, method_with
from tasks.graph.theory import theory_cell

if TYPE_CHECKING:
    from tasks.graph.experiments import Asked

Table = tuple[str, int]
"""A table of a suite: `("grid", 0)` is the first [[grid]]."""


class SuiteNames:
    """Compares what a suite names with what there is, each name of a table once."""

    def __init__(self, name: str, specs: Specs) -> None:
        self.suite, self._path, self._specs = specs.suite(name), specs.path("suites", name), specs
        self._check_name, self._check_prompts = cache(self._name), cache(self._prompts)
        self._is_taken = lru_cache(maxsize=None, typed=True)(_is_taken)

    def check(self, table: Table, asked: "Asked", given: Collection[str]) -> None:
        """Raise a `UserError` with file and line when a name does not exist.

        `asked` is one of the things that a table lists. `given` are the settings that a person set beside the suite:
        those are not the file's.
        """
        own = {name: value for name, value in asked.overrides.items() if name not in given}
        if isinstance(asked, TheoryCheck):
            with self._at(*table, "checks", says=asked.check):
                theory_cell(replace(asked, overrides={}))
            self._check_settings(table, own, lambda some: theory_cell(replace(asked, overrides=some)))
            return
        self._check_name(table, "datasets", asked.dataset)
        self._check_name(table, "backbones", asked.backbone)
        self._check_name(table, "methods", asked.method)
        if asked.prompts and "prompts" not in given:
            self._check_prompts(table, asked.dataset, asked.prompts)
        if isinstance(asked, Diagnosis):
            with self._at(*table, "kinds", says=asked.kind):
                kind_of(asked)
            self._check_settings(table, own, lambda some: split_settings(replace(asked, overrides=some)))
            own = split_settings(replace(asked, overrides=own))[1]
        if not all(self._is_taken(asked.method, name, value) for name, value in own.items()):
            usual = self._specs.settings(asked.method, asked.dataset)
            self._check_settings(table, own, lambda some: method_with(asked.method, {**usual, **some}))

    def _name(self, table: Table, kind: Literal["datasets", "backbones", "methods"], name: str) -> None:
        # Methods that a table has of the suite are written at the top.
        of_suite = kind == "methods" and self._part(table).methods == self.suite.methods
        with self._at(*(() if of_suite else table), kind, says=name):
            if kind == "methods":
                check_method(name)
            else:
                self._specs.path(kind, name)

    def _prompts(self, table: Table, dataset: str, chosen: str) -> None:
        swept = ["set"] if "prompts" in self._part(table).set else []
        with self._at(*table, *swept, "prompts", says=chosen):
            self._specs.path("prompts", self._specs.prompts_of(dataset, chosen))

    def _part(self, table: Table) -> Any:
        return getattr(self.suite, table[0])[table[1]]

    def _check_settings(
        self, table: Table, settings: Mapping[str, Any], attempt: Callable[[Mapping[str, Any]], object]
    ) -> None:
        """Raise what an attempt with these settings raises, at the one of them that is its cause."""
        problem = _problem(attempt, settings)
        if not problem or _problem(attempt, {}):  # without any, the fault is not the suite's
            return
        cause = [name for name, value in settings.items() if _problem(attempt, {name: value}) == problem]
        with self._at(*table, "set", *cause[:1]):
            attempt(settings)

    @contextmanager
    def _at(self, *field: str | int, says: str = "") -> Iterator[None]:
        """Give an error that does not say where it is from the file and the line of a field."""
        try:
            yield
        except UserError as error:
            if error.where is not None:
                raise
            place = place_of(read_text(self._path), field, says)
            raise UserError(f"{place}: {error.problem}", where=str(self._path), remedy=error.remedy) from error


def _problem(attempt: Callable[[Mapping[str, Any]], object], settings: Mapping[str, Any]) -> str:
    """Return what is wrong with settings, empty for nothing."""
    try:
        attempt(settings)
    except UserError as error:
        return error.problem
    return ""


def _is_taken(method: str, setting: str, value: Any) -> bool:
    """Whether a method takes a setting with this value where all others are as by default."""
    return not _problem(lambda some: method_with(method, some), {setting: value})
