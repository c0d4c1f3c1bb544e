"""The paper's theory in numbers: what holds, how often, and what the eye sees of it."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from tasks.reporting.document import Column, Figure, Record, Section
from tasks.reporting.figures import QUIET, SERIES, draw, legend_above
from tasks.reporting.scope import Scope
from tasks.reporting.view_tables import view_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Each claim, in how many of the cases tried it held, and out of how many.
_CLAIMS = """SELECT 'Proposition 1' AS statement,
    'A pair that cosine ties and density tells apart, ' || construction || ' (beta not 0)' AS claim,
    count(*) FILTER (holds) AS held, count(*) AS cases
FROM theory_cosine_ties WHERE beta <> 0 GROUP BY construction
UNION ALL
SELECT 'Assumption 1', 'log D rises with -log p, ' || density || ' of ' || queries || ' samples',
    count(*) FILTER (increasing), count(*)
FROM theory_fidelity GROUP BY density, queries
UNION ALL
SELECT 'Assumption 1', 'Errors are smaller than what the line explains, ' || density || ' of ' || queries || ' samples',
    count(*) FILTER (bound_over_signal <= 1), count(*)
FROM theory_fidelity GROUP BY density, queries
UNION ALL
SELECT 'Theorem 1', 'The decomposition and its bound hold, ' || density, count(*) FILTER (holds), count(*)
FROM theory_bayes_alignment GROUP BY density
UNION ALL
SELECT 'Theorem 1', 'Its condition is met by some sample with 2 B0, ' || density,
    count(*) FILTER (uniform_condition > 0), count(*)
FROM theory_bayes_alignment GROUP BY density
UNION ALL
SELECT 'Corollary 1', 'The anisotropy term is seen in log D, ' || density, count(*) FILTER (reinstated), count(*)
FROM theory_anisotropy GROUP BY density
UNION ALL
SELECT 'Surrogate risk', 'The risk falls from the logit to the DAT margin, ' || density,
    count(*) FILTER (decreased), count(*)
FROM theory_surrogate_risks GROUP BY density
UNION ALL
SELECT 'Surrogate risk', 'The condition of the theorem is met, ' || density, count(*) FILTER (condition_met), count(*)
FROM theory_surrogate_risks GROUP BY density
UNION ALL
SELECT 'Surrogate risk', 'Where it is met, the risk falls, ' || density,
    count(*) FILTER (condition_met AND decreased), count(*) FILTER (condition_met)
FROM theory_surrogate_risks GROUP BY density
ORDER BY statement, claim"""
_COLUMNS = (
    Column("statement", "Statement"),
    Column("claim", "Claim"),
    Column("held", "Held", "count"),
    Column("cases", "Of", "count", hint="Worlds, settings or groups that were tried; see the tables below"),
)
_MOST_POINTS = 2000


def theory_section(scope: Scope) -> Section | None:
    """Return what the checks of the theory found; nothing where none was asked for."""
    if not any(step.startswith("theory_") for step in scope.steps):
        return None
    claims = scope.table(
        "theory",
        "What holds",
        _CLAIMS,
        _COLUMNS,
        caption="Counted over exact samples of Kent groups, several dimensions, sizes and seeds.",
    )
    tables, remarks = view_tables(scope, lambda view: view.startswith("theory_"))
    if not (tables or remarks):
        return Section("theory", "Theory", remark="The checks of the theory have not run yet.")
    figures = [*_fidelity(scope), *_approach(scope)]
    return Section("theory", "Theory", [_verdict(claims.records), *remarks], [claims, *tables], figures)


def _verdict(claims: Sequence[Record]) -> str:
    tried = [row for row in claims if row["cases"]]
    always = sum(row["held"] == row["cases"] for row in tried)
    never = sum(row["held"] == 0 for row in tried)
    return (
        f"Of {len(tried)} claims that were tried, {always} held in every case, "
        f"{len(tried) - always - never} in some, and {never} in none."
    )


def _fidelity(scope: Scope) -> Iterator[Figure]:
    """Assumption 1: log D over -log p, of a group's own samples and of the others'."""
    rows = scope.ask(
        "SELECT -log_density AS surprise, log_sparsity, group_index = query_group AS own "
        f"FROM theory_fidelity_points ORDER BY hash(log_density) LIMIT {_MOST_POINTS}"
    )
    if not rows:
        return
    fit = scope.ask(
        "SELECT regr_slope(log_sparsity, -log_density) AS slope, regr_intercept(log_sparsity, -log_density) AS start, "
        "regr_r2(log_sparsity, -log_density) AS r2 FROM theory_fidelity_points"
    )[0]

    def paint(axes: "Axes") -> None:
        for own, colour, label in ((False, QUIET, "samples of other groups"), (True, SERIES[0], "the group's own")):
            chosen = [row for row in rows if row["own"] is own]
            axes.plot(*_columns(chosen, "surprise", "log_sparsity"), ".", color=colour, markersize=2.5, label=label)
        ends = [min(row["surprise"] for row in rows), max(row["surprise"] for row in rows)]
        line = [fit["start"] + fit["slope"] * end for end in ends]
        axes.plot(ends, line, color=SERIES[1], linewidth=1.6, label=f"slope {fit['slope']:.3f}, R² {fit['r2']:.2f}")
        axes.set_xlabel("−log p, the true density of the group")
        axes.set_ylabel("log SLOF")
        legend_above(axes, columns=2)

    words = (
        f"Logarithm of SLOF over minus the logarithm of the true density for {len(rows)} pairs of sample and group: a "
        f"line of slope {fit['slope']:.3f} explains {100 * fit['r2']:.0f} % of the variance."
    )
    yield draw("theory-fidelity", "How well SLOF tells the density (Assumption 1)", words, (4.8, 3.6), paint)


def _approach(scope: Scope) -> Iterator[Figure]:
    """How often decisions are those of the Bayes rule, as references grow."""
    rows = scope.ask(
        "SELECT rule, density, neighbours, dim, n, avg(agreement) AS agreement FROM theory_bayes_approach "
        "WHERE rule <> 'bayes' GROUP BY ALL ORDER BY rule, density, neighbours, n"
    )
    for dim in sorted({row["dim"] for row in rows}):
        here = [row for row in rows if row["dim"] == dim]
        yield _approach_in(dim, here)


def _approach_in(dim: int, rows: Sequence[Record]) -> Figure:
    series: dict[str, list[Record]] = {}
    for row in rows:
        if row["n"] and row["rule"] != "density only":
            neighbours = "k fixed" if row["neighbours"] == "fixed" else "k = √n"
            series.setdefault(f"{row['rule']}, {row['density']}, {neighbours}", []).append(row)
    colours = dict(zip(dict.fromkeys(name.rpartition(", ")[0] for name in series), cycle(SERIES)))
    flat = {str(row["rule"]): 100 * row["agreement"] for row in rows if not row["n"]}

    def paint(axes: "Axes") -> None:
        for name, points in series.items():
            colour = colours[name.rpartition(", ")[0]]
            shape = "-" if name.endswith("fixed") else "--"
            x, y = _columns(points, "n", "agreement")
            axes.plot(x, [100 * value for value in y], shape, color=colour, marker="o", markersize=3, label=name)
        for name, level in flat.items():
            axes.axhline(level, color=QUIET, linestyle=":", label=name)
        axes.set_xscale("log")
        ticks = sorted({row["n"] for row in rows if row["n"]})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("references per group, n")
        axes.set_ylabel("decisions as the Bayes rule, percent")
        legend_above(axes, columns=2)

    told = "; ".join(
        f"{name} from {100 * points[0]['agreement']:.0f} to {100 * points[-1]['agreement']:.0f} %"
        for name, points in series.items()
    )
    words = f"Share of decisions that are those of the Bayes rule as references grow, dimension {dim}: {told}."
    return draw(f"theory-approach-{dim}", f"Approach to the Bayes rule, dimension {dim}", words, (4.8, 4.4), paint)


def _columns(rows: Sequence[Record], *names: str) -> tuple[list[float], ...]:
    return tuple([row[name] for row in rows] for name in names)
