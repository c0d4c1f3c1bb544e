"""The report of a run: one page that opens anywhere, and the same as Markdown, CSV, LaTeX and figures."""

from tasks.reporting.report import write_report

__all__ = ["write_report"]
