"""The report on checks of the theory: what holds is counted from the catalog, and nothing is said of results."""

import pytest

from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from tasks.engine.run import run_benchmark
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph
from tasks.reporting.report import gather


@pytest.fixture
def checked(tmp_path):
    """Return the cells of two checks, and a home where they have run."""
    home = Home(tmp_path / "home")
    path = home.specs / "suites/two-checks.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[[theory]]\nchecks = ["cosine_ties", "fidelity_points"]\n')
    specs = Specs.from_environment(home)
    cells = Graph(specs).cells(select(Selection(suite="two-checks"), specs)[0])
    assert not run_benchmark(cells, Store(home), request="two-checks").failed
    return home, cells


def test_claims_are_counted_and_the_fit_is_drawn(checked) -> None:
    home, cells = checked
    report = gather(home, cells)
    sections = {section.slug: section for section in report.sections}
    assert "results" not in sections, "no results were asked for"
    held = {row["claim"]: (row["held"], row["cases"]) for row in sections["theory"].tables[0].records}
    for construction, met, tried in query(
        home,
        "SELECT construction, count(*) FILTER (holds), count(*) FROM theory_cosine_ties WHERE beta <> 0 GROUP BY ALL",
    ).rows:
        (claim,) = (claim for claim in held if construction in claim)
        assert held[claim] == (met, tried)
    assert len(held) == 3
    assert report.headline == ["Of 3 claims that were tried, 2 held in every case, 0 in some, and 1 in none."]
    slope, r2 = query(
        home,
        "SELECT regr_slope(log_sparsity, -log_density), regr_r2(log_sparsity, -log_density) "
        "FROM theory_fidelity_points",
    ).rows[0]
    (figure,) = sections["theory"].figures
    assert f"slope {slope:.3f} explains {100 * r2:.0f} %" in figure.alternative


def test_theory_that_was_not_asked_for_is_not_shown(checked) -> None:
    home, cells = checked
    report = gather(home, [cell for cell in cells if not cell.step.startswith("theory_")])
    assert "theory" not in {section.slug for section in report.sections}
    assert not any("theory" in table.slug for table in report.tables)
