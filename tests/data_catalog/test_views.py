"""What the views say of a handful of results whose numbers are chosen here, none of them computed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from data_catalog.canonical import digest_text
from data_catalog.home import Home
from data_catalog.index.reader import Questions
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest, Parent
from data_catalog.store.runs import recorded_run

BASIS = {"samples": "samples 1", "image_embeddings": "images 1", "weights": "weights 1"}
GROUPS = {"groups": "class_attribute", "classes": ["land", "water"], "attributes": ["wood", "sea"]}


@dataclass
class Catalog:
    """Writes manifests as steps do, each a second newer than the one before, and answers questions."""

    home: Home
    questions: Questions
    made: dict[str, Manifest] = field(default_factory=dict)

    def add(self, step: str, address: Mapping[str, Any], *, content: str = "", **fields: Any) -> Manifest:
        """Commit an artifact of no rows; parents are given as {role: content}, or as manifests."""
        number = len(self.made)
        given = fields.pop("parents", {})
        parents = {
            role: Parent(parent.key, parent.content)
            if isinstance(parent, Manifest)
            else Parent(digest_text(parent), parent)
            for role, parent in given.items()
        }
        manifest = Manifest(
            key=digest_text(str(number)),
            step=step,
            cell="/".join([step, *(str(value) for value in address.values() if value)]),
            address=address,
            code={},
            params=fields.pop("params", {}),
            facts={},
            parents=parents,
            content=content or f"content {number}",
            rows=0,
            files=(),
            created=(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat(),
            **fields,
        )
        self.made[manifest.key] = manifest
        return Store(self.home).commit(manifest)

    def result(
        self, method: str, wg: float, avg: float = 90.0, *, basis: Mapping[str, str] = BASIS, **more: Any
    ) -> tuple[Manifest, Manifest]:
        """Commit the predictions and metrics of a method; the interval of wg is two points to either side."""
        named = {name: more.pop(name, usual) for name, usual in (("dataset", "birds"), ("backbone", "clip"))}
        address = {**named, "method": method, "variant": more.pop("variant", ""), "seed": more.pop("seed", 0)}
        predictions = self.add(
            "predictions", address, parents=basis, summary={"notes": more.pop("notes", {})}, cost={"seconds": 1.5}
        )
        figures = {"wg": wg, "avg": avg, "avg_adjusted": avg + 1, "gap": avg - wg, "wg_low": wg - 2, "wg_high": wg + 2}
        figures |= {"avg_low": avg - 0.5, "avg_high": avg + 0.5, "worst_group": "land, sea", "samples": 400}
        metrics = self.add(
            "metrics", address, parents={"predictions": predictions}, params=GROUPS, summary={**figures, **more}
        )
        return predictions, metrics

    def compare(self, ours: Manifest, theirs: Manifest, difference: float, low: float, high: float) -> None:
        """Commit a comparison of worst groups."""
        figure = {"figure": "wg", "difference": difference, "low": low, "high": high, "higher": 0.9}
        self.add(
            f"over_{theirs.address['method']}",
            ours.address,
            parents={"predictions": ours, "baseline": theirs},
            summary={"figures": [figure]},
        )

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Answer a question; what is added after the first one goes unseen."""
        return self.questions.ask(sql).rows


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    home = Home(tmp_path / "home")
    home.prepare()
    with Questions(home) as questions:
        yield Catalog(home, questions)


def test_a_result_has_each_figure_under_its_own_name(catalog: Catalog) -> None:
    catalog.result("dat", 80.0, 88.5, notes={"active_groups": 4})
    columns = "wg, avg, avg_adjusted, gap, wg_low, wg_high, avg_low, avg_high, worst_group, samples, notes"
    expected = (80.0, 88.5, 89.5, 8.5, 78.0, 82.0, 88.0, 89.0, "land, sea", 400, '{"active_groups":4}')
    assert catalog.ask(f"SELECT {columns} FROM results") == [expected]


def test_what_is_not_applicable_is_no_result_and_has_its_reason(catalog: Catalog) -> None:
    address = {"dataset": "birds", "backbone": "clip", "method": "dat", "variant": "", "seed": 0}
    for step in ("predictions", "metrics"):
        catalog.add(step, address, summary={"not_applicable": "no group has enough references"})
    assert catalog.ask("SELECT * FROM results") == []
    assert catalog.ask("SELECT * FROM leaderboard") == []
    assert catalog.ask("SELECT method, reason FROM not_applicable") == [("dat", "no group has enough references")]


def test_the_leaderboard_ranks_by_worst_group_average_and_gap(catalog: Catalog) -> None:
    for method, wg, avg in (("zero_shot", 40.0, 92.0), ("tie", 70.0, 80.0), ("dat", 75.0, 91.0)):
        catalog.result(method, wg, avg)
    rows = catalog.ask("SELECT method, rank, avg_rank, gap_rank, avg_adjusted, differs FROM leaderboard")
    assert rows == [("dat", 1, 2, 2, 92.0, None), ("tie", 2, 3, 1, 81.0, None), ("zero_shot", 3, 1, 3, 93.0, None)]


def test_gains_are_over_the_baseline_that_they_are_named_after(catalog: Catalog) -> None:
    zero_shot, _ = catalog.result("zero_shot", 40.0)
    tie, _ = catalog.result("tie", 70.0)
    dat, _ = catalog.result("dat", 75.0)
    catalog.compare(dat, zero_shot, 35.0, 30.0, 39.0)
    catalog.compare(dat, tie, 5.0, -1.0, 11.0)
    gains = "over_zero_shot, over_zero_shot_low, over_zero_shot_high, over_tie, over_tie_low, over_tie_high"
    assert catalog.ask(f"SELECT {gains} FROM leaderboard WHERE method = 'dat'") == [(35, 30, 39, 5, -1, 11)]
    assert catalog.ask(f"SELECT {gains} FROM leaderboard WHERE method = 'tie'") == [(30, None, None, 0, None, None)]


def test_seeds_are_averaged_and_counted(catalog: Catalog) -> None:
    for seed, wg in enumerate((70.0, 71.0, 75.0)):
        catalog.result("dat", wg, avg=90.0 + seed, seed=seed)
    columns = "wg, avg, avg_adjusted, gap, wg_low, wg_high, seeds"
    assert catalog.ask(f"SELECT {columns} FROM leaderboard") == [(72, 91, 92, 19, 70, 74, 3)]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"weights": "weights 2"}, "weights"),
        ({"samples": "samples 2"}, "samples"),
        ({"image_embeddings": "images 2", "weights": "weights 2"}, "weights, image embeddings"),
    ],
)
def test_results_on_other_data_are_ranked_apart_and_say_in_what_they_differ(
    catalog: Catalog, changed: dict[str, str], named: str
) -> None:
    catalog.result("tie", 90.0)
    catalog.result("zero_shot", 40.0, basis={**BASIS, **changed})
    catalog.result("dat", 60.0, basis={**BASIS, **changed})
    rows = catalog.ask("SELECT method, rank, over_zero_shot, over_tie, differs FROM leaderboard")
    assert rows == [("dat", 1, 20, None, None), ("zero_shot", 2, 0, None, None), ("tie", 1, None, 0, named)]
    assert catalog.ask("SELECT count(DISTINCT basis) FROM leaderboard") == [(2,)]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.0, 9.0, "higher"), (-9.0, -1.0, "lower"), (-1.0, 9.0, "unsure"), (0.0, 9.0, "unsure")],
)
def test_a_comparison_is_sure_where_its_interval_leaves_out_zero(
    catalog: Catalog, low: float, high: float, verdict: str
) -> None:
    tie, _ = catalog.result("tie", 70.0)
    dat, _ = catalog.result("dat", 75.0)
    catalog.compare(dat, tie, 5.0, low, high)
    assert catalog.ask("SELECT method, baseline, figure, verdict FROM comparisons") == [("dat", "tie", "wg", verdict)]


def test_our_number_stands_beside_the_papers_of_the_same_settings_alone(catalog: Catalog) -> None:
    place = {"dataset": "waterbirds", "backbone": "clip-vit-l-14"}
    catalog.result("dat", 83.0, 89.5, **place)
    catalog.result("dat", 60.0, 70.0, variant="terms=group", **place)
    rows = catalog.ask(
        "SELECT variant, wg, paper_wg, wg_difference, wg_in_interval, why FROM vs_paper "
        "WHERE source IN ('table:waterbirds', 'figure:aggregation') ORDER BY source DESC, variant"
    )
    near = pytest.approx
    assert rows == [
        ("", 83.0, 83.33, near(-0.33), True, "within our intervals"),
        ("", 83.0, 83.33, near(-0.33), True, "within our intervals"),
        ("terms=group", 60.0, 74.14, near(-14.14), False, "not known"),
    ]
    assert catalog.ask("SELECT count(*) FROM vs_paper WHERE backbone <> 'clip-vit-l-14' OR method <> 'dat'") == [(0,)]


def test_a_known_reason_is_told_where_the_papers_number_lies_outside_our_interval(catalog: Catalog) -> None:
    catalog.result("perception_clip", 10.0, 20.0, dataset="waterbirds", backbone="clip-vit-b-32")
    ((comparable, why, note),) = catalog.ask("SELECT comparable, why, note FROM vs_paper")
    assert comparable is False
    assert "train" in why
    assert why == note


def test_a_run_counts_what_came_of_its_cells(catalog: Catalog) -> None:
    outcomes = {"computed": 3, "reproduced": 2, "drifted": 1, "up to date": 5, "failed": 1, "blocked": 2}
    outcomes |= {"not applicable": 1}
    told = [{"cell": f"{name} {n}", "outcome": name} for name, count in outcomes.items() for n in range(count)]
    with recorded_run(catalog.home, "run") as record:
        record.decisions({"step": "metrics", "address": {}, **one} for one in told)
        record.end("failed")
    columns = "status, computed, up_to_date, failed, not_applicable"
    assert catalog.ask(f"SELECT {columns} FROM runs") == [("failed", 6, 5, 3, 1)]
    drifted = "SELECT cell FROM drift WHERE drifted"
    assert catalog.ask(drifted) == [("drifted 0",)]
    assert catalog.ask("SELECT count(*) FROM drift") == [(3,)]


def test_a_sweep_has_a_row_for_each_setting_with_the_spread_over_seeds(catalog: Catalog) -> None:
    for seed, wg in enumerate((60.0, 64.0)):
        catalog.result("dat", wg, variant="k=20, terms=group", seed=seed)
    columns = "setting, value, number, others, seeds, wg, wg_lowest, wg_highest, wg_deviation"
    spread = (2, 62.0, 60.0, 64.0, pytest.approx(8**0.5))
    assert catalog.ask(f"SELECT {columns} FROM sweeps ORDER BY setting") == [
        ("k", "20", 20.0, "terms=group", *spread),
        ("terms", "group", None, "k=20", *spread),
    ]


def test_sensitivity_tells_prompts_references_and_corruption_apart(catalog: Catalog) -> None:
    catalog.result("dat", 80.0)
    for name, wg in (("t1", 60.0), ("t2", 70.0), ("t3", 75.0)):
        catalog.result("dat", wg, variant=f"prompts={name}")
    for seed, wg in enumerate((50.0, 54.0)):
        catalog.result("dat", wg, variant="references=random", seed=seed)
        catalog.result("dat", wg - 10, variant="corruption=0.1", seed=seed)
    catalog.result("dat", 1.0, variant="k=20")
    columns = "source, results, wg_lowest, wg_quarter, wg_median, wg_three_quarters, wg_highest, wg_usual"
    assert catalog.ask(f"SELECT {columns} FROM sensitivity ORDER BY source") == [
        ("corruption=0.1", 2, 40.0, 41.0, 42.0, 43.0, 44.0, 80.0),
        ("prompts", 4, 60.0, 67.5, 72.5, 76.25, 80.0, 80.0),
        ("references", 2, 50.0, 51.0, 52.0, 53.0, 54.0, 80.0),
    ]


def test_the_newest_artifact_of_a_cell_is_the_current_one(catalog: Catalog) -> None:
    for wg in (60.0, 70.0):
        catalog.result("dat", wg)
    assert catalog.ask("SELECT wg FROM results") == [(70.0,)]
    current = "SELECT (summary ->> 'wg')::DOUBLE, current FROM artifacts WHERE step = 'metrics' ORDER BY 1"
    assert catalog.ask(current) == [(60.0, False), (70.0, True)]
