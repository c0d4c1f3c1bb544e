"""Writing a report to a folder, whole or not at all."""

import csv
import io
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from data_catalog.errors import FailureError, UserError
from data_catalog.store.locking import lock
from tasks.reporting.document import Report, Table
from tasks.reporting.html import as_html
from tasks.reporting.latex import as_document, as_latex, in_papers
from tasks.reporting.markdown import as_markdown

_MARK = ".dat-report"
_DRAFT = ".dat-report-draft-"


def publish(report: Report, folder: Path) -> Path:
    """Write a report beside the folder and move it into place, and return its `index.html`.

    Reports beside each other are written one at a time, so that drafts which lie there are those of killed processes.
    """
    if folder.exists() and not (folder / _MARK).exists() and any(folder.iterdir()):
        raise UserError(
            "the folder holds something that is no report, and would be replaced",
            where=str(folder),
            remedy="name another folder: --output DIR",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with lock(folder.parent / f"{_MARK}.lock"):
            _remove_drafts(folder.parent)
            try:
                draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=folder.parent))
                draft.chmod(0o755)
                _write(report, draft)
                _replace(folder, draft)
            finally:
                _remove_drafts(folder.parent)
    except OSError as error:
        raise FailureError(f"the report cannot be written: {error}", where=str(folder)) from error
    return folder / "index.html"


def _replace(folder: Path, draft: Path) -> None:
    """Have a draft be the folder. The old one is moved away first: nobody sees it half removed, or half of each."""
    if folder.exists():
        folder.rename(Path(tempfile.mkdtemp(prefix=_DRAFT, dir=folder.parent)))
    draft.rename(folder)


def _remove_drafts(parent: Path) -> None:
    for draft in parent.glob(f"{_DRAFT}*"):
        shutil.rmtree(draft, ignore_errors=True)


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
