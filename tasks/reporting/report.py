"""Gathering a report from the catalog."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from data_catalog.home import Home
from data_catalog.index.reader import Questions
from data_catalog.planning.cell import Cell
from tasks.reporting.ablations import ablations_section
from tasks.reporting.diagnostics import diagnostics_section
from tasks.reporting.document import Record, Report
from tasks.reporting.examples import examples_section
from tasks.reporting.groups import groups_section
from tasks.reporting.not_applicable import not_applicable_section
from tasks.reporting.paper import paper_section
from tasks.reporting.publication import publish
from tasks.reporting.results import headline, ranking, results_section
from tasks.reporting.scope import Scope
from tasks.reporting.theory import theory_section
from tasks.reporting.upkeep import changes_section, costs_section, damage_section, failures_section, provenance_section


def write_report(
    home: Home, cells: Iterable[Cell], folder: Path, *, title: str = "", remarks: Sequence[str] = ()
) -> Path:
    """Write the report on the results among `cells` into `folder`, and return its `index.html`.

    `remarks` are what a person must know besides, such as methods that were left out. A report that is there already
    is replaced as a whole; a folder that holds something else is refused.
    """
    return publish(gather(home, cells, title=title, remarks=remarks), folder)


def gather(home: Home, cells: Iterable[Cell], *, title: str = "", remarks: Sequence[str] = ()) -> Report:
    """Ask the catalog for everything that a report shows."""
    with Questions(home) as questions:
        scope = Scope.of(questions, cells)
        ranked = ranking(scope)
        failures = failures_section(scope, remarks)
        not_applicable = not_applicable_section(scope) if scope.results else None
        theory = theory_section(scope)
        on_results = (
            results_section(scope, ranked),
            groups_section(scope),
            ablations_section(scope),
            paper_section(scope),
            diagnostics_section(scope),
            examples_section(scope),
        )
        sections = [
            *(on_results if scope.results or theory is None else ()),
            *([theory] if theory else ()),
            *([not_applicable] if not_applicable else ()),
            costs_section(scope),
            failures,
            changes_section(scope),
            provenance_section(scope),
        ]
        sentences = headline(ranked) or (theory.text[:1] if theory else ["No result is there yet."])
        if questions.warnings:
            sections.insert(0, damage_section(questions))
            sentences = ["Data behind this report is missing or damaged: see below.", *sentences]
        failed = sum(len(table.records) for table in failures.tables)
        return Report(
            title or "dat-bench report", datetime.now(UTC), sentences, _tiles(scope, ranked, failed), sections
        )


def _tiles(scope: Scope, ranked: Sequence[Record], failed: int) -> list[tuple[str, str]]:
    if not scope.results:
        return [(str(failed), "failed cells")]
    found = scope.ask(f"SELECT count(*) AS n, max(created) AS newest FROM results WHERE {scope.where()}")[0]
    tiles = [
        (str(len({row["dataset"] for row in ranked})), "datasets"),
        (str(len({row["backbone"] for row in ranked})), "backbones"),
        (str(len({row["method"] for row in ranked})), "methods"),
        (f"{found['n']:,}", "results"),
        (str(failed), "failed cells"),
    ]
    return [*tiles, (found["newest"].strftime("%Y-%m-%d"), "newest result")] if found["newest"] else tiles
