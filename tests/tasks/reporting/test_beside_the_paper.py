"""The report on datasets and backbones that the paper has: its numbers, points and bars stand beside ours."""

import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from tasks.engine.run import run_benchmark
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph
from tasks.reporting.document import Figure, Report, Section
from tasks.reporting.report import gather

pytestmark = pytest.mark.xdist_group("beside")

# The simulated world under the names of the paper's, so that its numbers are looked up; they will not agree.
SPECS = {
    "datasets/waterbirds": 'prompts = "simbirds"\n[source]\nkind = "simulated"\nsettings = { seed = 0 }\n',
    "backbones/clip-vit-b-32": 'kind = "simulated"\ndimension = 64\n',
    "backbones/clip-vit-l-14": 'kind = "simulated"\ndimension = 64\n',
    "suites/beside": """
[[grid]]
datasets = ["waterbirds"]
backbones = ["clip-vit-b-32", "clip-vit-l-14"]
methods = ["zero_shot", "tie", "dat"]

[[grid]]
datasets = ["waterbirds"]
backbones = ["clip-vit-b-32", "clip-vit-l-14"]
methods = ["dat"]
set = { terms = ["group", "average", "both"] }

[[grid]]
datasets = ["waterbirds"]
backbones = ["clip-vit-l-14"]
methods = ["dat"]
set = { strength = [1.0, 4.0, 10.0] }

[[grid]]
datasets = ["waterbirds"]
backbones = ["clip-vit-l-14"]
methods = ["dat"]
set = { density = ["slof", "knn"], k = [6, 10, 14] }
""",
}


@dataclass(frozen=True)
class World:
    home: Home
    report: Report


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    folder = tmp_path_factory.mktemp("beside")
    shutil.copytree(Path(str(resources.files("data_catalog.specs"))), folder / "specs")
    for name, text in SPECS.items():
        (folder / "specs" / f"{name}.toml").write_text(text)
    specs, home = Specs((folder / "specs",)), Home(folder / "home")
    cells = Graph(specs).cells(select(Selection(suite="beside"), specs)[0])
    assert not run_benchmark(cells, Store(home), request="beside").failed
    return World(home, gather(home, cells, title="beside"))


@pytest.fixture
def home(world) -> Home:
    return world.home


@pytest.fixture
def report(world) -> Report:
    return world.report


def figure(report: Report, slug: str) -> Figure:
    return next(figure for figure in report.figures if figure.slug == slug)


def section(report: Report, slug: str) -> Section:
    return next(section for section in report.sections if section.slug == slug)


def test_every_number_of_the_paper_stands_beside_ours(home, report) -> None:
    (table,) = section(report, "paper").tables
    printed = query(
        home,
        "SELECT count(*) FROM paper p JOIN results r USING (dataset, backbone, method, variant) WHERE p.wg IS NOT NULL",
    ).rows
    assert len(table.records) >= printed[0][0] > 20
    terms = [row for row in table.records if row["variant"] == "terms=group" and row["backbone"] == "clip-vit-l-14"]
    assert [row["paper_wg"] for row in terms] == [74.14]
    assert terms[0]["wg_difference"] == pytest.approx(terms[0]["wg"] - 74.14)
    agreement = figure(report, "agreement")
    inside = sum(bool(row["wg_in_interval"]) for row in table.records)
    assert f"{inside} of the paper's lie in our 95 % interval" in agreement.alternative
    assert 0 <= inside < len(table.records)
    said = f"{inside} of the paper's {printed[0][0]} worst-group accuracies lie in our 95 % interval."
    assert section(report, "paper").text == [said]
    weights = [
        row["why"] for row in table.records if row["method"] == "zero_shot" and row["backbone"] == "clip-vit-l-14"
    ]
    assert any("laion2b" in why for why in weights), "the checkpoint is named as a reason"


def test_the_papers_points_are_drawn_into_a_sweep(report) -> None:
    words = figure(report, "sweep-strength-waterbirds-clip-vit-l-14").alternative
    assert "dat (paper) goes from 82.7 % at 1 to 83.3 % at 10" in words
    assert "zero_shot is at" in words
    assert "tie is at" in words


def test_the_aggregation_terms_are_bars_with_the_papers_marks(home, report) -> None:
    drawn = figure(report, "bars-terms-waterbirds")
    for backbone, variant, wg, gap in query(
        home,
        "SELECT backbone, variant, wg, gap FROM results WHERE method = 'dat' AND variant IN ('', 'terms=group', "
        "'terms=average')",
    ).rows:
        value = variant.removeprefix("terms=") or "both"
        assert f"{value} {wg:.1f} and {gap:.1f} on {backbone}" in drawn.alternative
    assert drawn.alternative.count(" and ") == 1 + 6, "the usual value, listed in the suite as well, is one bar"
    assert "the paper's" in drawn.svg


def test_a_swept_value_that_equals_the_usual_one_is_a_point_like_any_other(home, report) -> None:
    """`density=slof` is the usual estimator: its cells share artifacts with those that do not name it."""
    words = figure(report, "sweep-k-dat-waterbirds-clip-vit-l-14").alternative
    ends = query(
        home,
        "SELECT wg FROM results WHERE variant IN ('density=slof, k=6', 'density=slof, k=14') ORDER BY variant DESC",
    ).rows
    assert f"density=slof goes from {ends[0][0]:.1f} % at 6 to {ends[1][0]:.1f} % at 14" in words
