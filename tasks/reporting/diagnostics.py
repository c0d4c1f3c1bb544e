"""Whatever else the catalog has views of: a table each, and the diagnostics' figures."""

from tasks.reporting.diagnostic_figures import diagnostic_figures
from tasks.reporting.document import Section
from tasks.reporting.scope import Scope
from tasks.reporting.view_tables import view_tables

# Those that other sections, or figures, show.
_SHOWN_ELSEWHERE = frozenset(
    {
        "artifacts",
        "comparisons",
        "costs",
        "decisions",
        "diagnostic_margin_histograms",
        "drift",
        "group_accuracy",
        "leaderboard",
        "lineage",
        "paper",
        "predictions",
        "results",
        "runs",
        "sweeps",
        "vs_paper",
    }
)


def diagnostics_section(scope: Scope) -> Section:
    """Return a table for each further view that has rows for these datasets and backbones."""
    tables, text = view_tables(scope, lambda view: view not in _SHOWN_ELSEWHERE and not view.startswith("theory_"))
    figures = list(diagnostic_figures(scope))
    remark = "" if tables or text or figures else "The catalog has no diagnostics of these datasets and backbones."
    return Section("diagnostics", "Diagnostics", text, tables, figures, remark=remark)
