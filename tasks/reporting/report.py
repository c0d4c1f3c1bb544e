"""Gathering a report from the catalog and writing it to a folder."""

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data_catalog.cell import Cell
from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.reader import Questions
from tasks.reporting.ablations import ablations_section
from tasks.reporting.diagnostics import diagnostics_section
from tasks.reporting.document import Record, Report, Table
from tasks.reporting.examples import examples_section
from tasks.reporting.groups import groups_section
from tasks.reporting.html import as_html
from tasks.reporting.latex import as_document, as_latex, in_papers
from tasks.reporting.markdown import as_markdown
from tasks.reporting.paper import paper_section
from tasks.reporting.results import headline, ranking, results_section
from tasks.reporting.scope import Scope
from tasks.reporting.theory import theory_section
from tasks.reporting.upkeep import changes_section, costs_section, failures_section, provenance_section

_MARK = ".dat-report"


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
            costs_section(scope),
            failures,
            changes_section(scope),
            provenance_section(scope),
        ]
        sentences = headline(ranked) or (theory.text[:1] if theory else ["No result is there yet."])
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


def publish(report: Report, folder: Path) -> Path:
    """Write a report beside the folder and move it into place."""
    if folder.exists() and not (folder / _MARK).exists() and any(folder.iterdir()):
        raise UserError(
            "the folder holds something that is no report, and would be replaced",
            where=str(folder),
            remedy="name another folder: --output DIR",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            draft.chmod(0o755)
            _write(report, draft)
            if folder.exists():
                shutil.rmtree(folder)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise UserError(f"the report cannot be written: {error}", where=str(folder)) from error
    return folder / "index.html"


def _write(report: Report, folder: Path) -> None:
    for name in ("csv", "latex", "figures"):
        (folder / name).mkdir()
    for table in report.tables:
        (folder / "csv" / f"{table.slug}.csv").write_text(_as_csv(table), encoding="utf-8")
    for table in in_papers(report):
        (folder / "latex" / f"{table.slug}.tex").write_text(as_latex(table), encoding="utf-8")
    for figure in report.figures:
        (folder / "figures" / f"{figure.slug}.svg").write_text(figure.svg, encoding="utf-8")
        (folder / "figures" / f"{figure.slug}.pdf").write_bytes(figure.pdf)
    (folder / "tables.tex").write_text(as_document(report), encoding="utf-8")
    (folder / "report.md").write_text(as_markdown(report), encoding="utf-8")
    (folder / "index.html").write_text(as_html(report), encoding="utf-8")
    (folder / _MARK).write_text(json.dumps({"title": report.title, "made": report.made.isoformat()}) + "\n")


def _as_csv(table: Table) -> str:
    """Return all that the question answers, in full precision, also what the page leaves out."""
    text = io.StringIO()
    names = list(table.records[0]) if table.records else [column.name for column in table.columns]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_harmless, names))
    writer.writerows([[_harmless(record[name]) for name in names] for record in table.records])
    return text.getvalue()


def _harmless(value: Any) -> Any:
    """Return a value that a spreadsheet does not take for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r", "\n") else value
