"""What a report is about: the results that a request asks for."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from data_catalog.home import Home
from data_catalog.index.reader import Questions
from data_catalog.planning.cell import Cell
from tasks.reporting.document import Column, Record, Table

_NAMES = ("dataset", "backbone", "method", "variant")


@dataclass(frozen=True)
class Scope:
    """The results asked for, by (dataset, backbone, method, variant, seed), the steps, and whom to ask about them."""

    questions: Questions
    results: frozenset[tuple[str, str, str, str, int]]
    steps: frozenset[str]

    @classmethod
    def of(cls, questions: Questions, cells: Iterable[Cell]) -> "Scope":
        """Return the scope of some cells: the results among them, and their steps."""
        cells = list(cells)
        found = (cell.address for cell in cells if cell.step == "metrics")
        results = frozenset((*(str(a[name]) for name in _NAMES), int(a["seed"])) for a in found)
        return cls(questions, results, frozenset(cell.step for cell in cells))  # type: ignore[arg-type]

    @property
    def home(self) -> Home:
        """Where everything lies."""
        return self.questions.home

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Datasets and backbones, as pairs."""
        return sorted({result[:2] for result in self.results})

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets."""
        return sorted({result[0] for result in self.results})

    def where(self, *, variants: bool | None = None, shared: bool = False, of: str = "") -> str:
        """Return a condition on dataset, backbone, method and variant.

        `variants` True or False is for variants or main settings alone; `shared` lets in what belongs to no method.
        `of` is the table whose columns are meant.
        """
        chosen = {result[:4] for result in self.results if variants is None or bool(result[3]) is variants}
        places = {name: sorted({address[i] for address in chosen}) for i, name in enumerate(_NAMES)}
        table = f"{of}." if of else ""
        if shared:
            del places["variant"]
            places = {name: ["", *values] for name, values in places.items()}
        elif len(chosen) < math.prod(map(len, places.values())):
            names = ", ".join(f"{table}{name}" for name in _NAMES)
            return f"({names}) IN (\n    " + ",\n    ".join(f"({_list(address)})" for address in sorted(chosen)) + "\n)"
        return " AND ".join(f"{table}{name} IN ({_list(values)})" for name, values in places.items())

    def ask(self, sql: str) -> list[Record]:
        """Return the answer to a question."""
        return list(self.questions.ask(sql).records())

    def table(
        self,
        slug: str,
        title: str,
        sql: str,
        columns: Iterable[Column],
        *,
        caption: str = "",
        within: tuple[str, ...] = (),
    ) -> Table:
        """Return a table of the answer to a question."""
        return Table(slug, title, sql, tuple(columns), self.ask(sql), caption, within)


def literal(text: str) -> str:
    """Return a text as it stands in SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(text: str) -> str:
    """Return a name as it stands in SQL."""
    return '"' + text.replace('"', '""') + '"'


def _list(values: Iterable[str]) -> str:
    return ", ".join(map(literal, values)) or "NULL"


def slugged(*words: str) -> str:
    """Return a name for files and places in a page, made of letters, digits and hyphens."""
    import hashlib
    import re

    text = "-".join(words)
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    # Names that differ only in other characters must not share a file.
    mark = "" if plain == text else "-" + hashlib.sha256(text.encode()).hexdigest()[:6]
    return plain + mark
