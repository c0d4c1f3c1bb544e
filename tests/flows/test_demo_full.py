"""Every experiment in small: run from images to tables, then held against the library by hand, result by result."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dat_lib.diagnostics.mahalanobis import prompt_distances
from dat_lib.diagnostics.triptych import density_triptych, summarise_triptych
from dat_lib.methods.registry import make_method
from dat_lib.methods.support.contract import Problem
from dat_lib.methods.support.pool_densities import pool_densities, run_on_pool
from dat_lib.metrics import group_metrics
from dat_lib.translation import similarities
from data_catalog.home import Home
from data_catalog.index.reader import Questions, query
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from tasks.engine.run import BenchmarkResult, run_benchmark
from tasks.graph.experiments import Experiment, Selection, select
from tasks.graph.graph import Graph
from tasks.reporting.contact_sheets import contact_sheets
from tasks.reporting.scope import Scope
from tasks.tables.columns import integers, texts, vectors_of
from tasks.tables.prompt_vectors import prompt_vectors

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo-full")]


class Full:
    """The suite as it was run, and its embeddings to go on with by hand."""

    def __init__(self, home: Home) -> None:
        self.home, self.specs = home, Specs.from_environment(home)
        self.asked = select(Selection(suite="demo-full"), self.specs)[0]
        self.result = self.run()
        self._tables: dict[str, Any] = {}

    def run(self) -> BenchmarkResult:
        return run_benchmark(Graph(self.specs).cells(self.asked), Store(self.home), request="demo-full")

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return query(self.home, sql, list(values)).rows

    def table(self, cell: str) -> Any:
        """Return the table that a cell stands for."""
        if cell not in self._tables:
            ((step, key),) = self.rows("SELECT step, key FROM artifacts WHERE cell = ? AND current", cell)
            manifest = Store(self.home).find(step, key)
            assert manifest is not None
            self._tables[cell] = Store(self.home).read(manifest)
        return self._tables[cell]

    def problem(self, experiment: Experiment) -> Problem:
        """Return what a method is given, from stored embeddings and the prompts as the set words them."""
        samples, images = self.table("samples/toybirds"), vectors_of(self.table("image_embeddings/toybirds/toyclip"))
        chosen = f"/prompts={experiment.prompts}" if experiment.prompts else ""
        words = self.specs.prompt_set(self.specs.prompts_of("toybirds", experiment.prompts))
        roles = prompt_vectors(
            words.text_for(experiment.method), self.table(f"text_embeddings/toybirds/toyclip{chosen}")
        )
        split, ids = texts(samples, "split"), texts(samples, "sample_id")
        labels, attributes = integers(samples, "label"), integers(samples, "attribute")
        test, pool = split == "test", split == "train"
        facts = dict(zip(*self.table("weights/toyclip").to_pydict().values(), strict=True))
        return Problem(
            queries=images[test],
            text=roles,
            n_classes=2,
            n_attributes=2,
            query_ids=ids[test],
            query_attributes=attributes[test],
            pool=images[pool],
            pool_ids=ids[pool],
            pool_labels=labels[pool],
            pool_attributes=attributes[pool],
            logit_scale=float(facts["logit_scale"]),
            seed=experiment.seed,
        )

    def truth(self) -> tuple[np.ndarray, np.ndarray]:
        samples = self.table("samples/toybirds")
        test = texts(samples, "split") == "test"
        return integers(samples, "label")[test], integers(samples, "attribute")[test]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Full]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DAT_SPECS", raising=False)
        folder: Path = tmp_path_factory.mktemp("full")
        patch.chdir(folder)
        yield Full(Home(folder / "home"))


def test_everything_runs_and_a_second_run_does_nothing(full: Full) -> None:
    assert not full.result.failed, full.result.failed[0].error
    assert {outcome.outcome for outcome in full.run().outcomes} == {"up to date"}
    experiments = [one for one in full.asked if isinstance(one, Experiment)]
    assert len(full.rows("SELECT key FROM results")) == len(experiments) > 150


def test_every_result_is_that_of_the_library_by_hand(full: Full) -> None:
    labels, attributes = full.truth()
    stored: dict[tuple[Any, ...], list[int]] = {}
    for *place, prediction in full.rows(
        "SELECT method, variant, seed, prediction FROM predictions ORDER BY method, variant, seed, sample_id"
    ):
        stored.setdefault(tuple(place), []).append(prediction)
    order = np.argsort(full.problem(Experiment("toybirds", "toyclip", "zero_shot")).query_ids)
    figures = {tuple(row[:3]): row[3:] for row in full.rows("SELECT method, variant, seed, wg, avg, gap FROM results")}
    for one in full.asked:
        if not isinstance(one, Experiment):
            continue
        place = (one.method, one.variant, one.seed)
        settings = {**full.specs.settings(one.method, "toybirds"), **one.overrides}
        expected = run_on_pool(make_method(one.method, settings), full.problem(one)).labels
        assert stored[place] == expected[order].tolist(), place
        metrics = group_metrics(expected, labels, attributes)
        assert figures[place] == pytest.approx((metrics.worst_group, metrics.average, metrics.gap)), place


def test_the_settings_are_told_apart(full: Full) -> None:
    """Otherwise it would prove little that all are as by hand."""
    different = full.rows("SELECT setting, count(DISTINCT wg) FROM sweeps WHERE method LIKE 'dat%' GROUP BY setting")
    told = dict(different)
    for setting in ("strength", "n", "k", "terms", "density", "lid", "prompts", "corruption", "score", "shortage"):
        assert told[setting] > 1, setting


def test_sweeps_reuse_densities_and_neighbourhoods_share_a_pass(full: Full) -> None:
    decided = full.rows("SELECT variant, outcome FROM decisions WHERE step = 'densities' AND run_id = 'r000001'")
    assert not any("strength" in variant or "terms" in variant or "score" in variant for variant, _ in decided)
    passes = Counter(
        ", ".join(part for part in variant.split(", ") if not part.startswith("k="))
        for variant, outcome in decided
        if outcome == "computed" and "corruption" not in variant and "random" not in variant
    )
    assert {"n=56", "density=knn, n=56", "density=dao, n=56", "density=dao, lid=mom, n=56"} <= set(passes)
    assert set(passes.values()) == {1}, "all k of a set of references in one pass"
    assert sum(variant.endswith("n=56") and variant.startswith("k=") for variant, _ in decided) > 10
    herded = full.rows(
        "SELECT count(*) FROM decisions WHERE step = 'references' AND outcome = 'computed' AND variant = 'n=64'"
    )
    assert herded == [(1,)], "one herded set serves every n up to its size"


def test_noise_has_a_mean_and_a_spread_over_seeds(full: Full) -> None:
    rows = full.rows(
        "SELECT number, seeds, wg, wg_deviation, wg_lowest, wg_highest FROM sweeps "
        "WHERE setting = 'corruption' AND others = '' ORDER BY number"
    )
    assert [row[0] for row in rows] == [0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]
    single = full.rows(
        "SELECT variant, list(wg ORDER BY seed) FROM results WHERE variant LIKE 'corruption=%' GROUP BY 1"
    )
    by_variant = dict(single)
    for number, seeds, mean, deviation, lowest, highest in rows:
        found = by_variant[f"corruption={number:g}"]
        assert seeds == len(found)
        assert (mean, lowest, highest) == pytest.approx((np.mean(found), min(found), max(found)))
        assert (deviation is None) == (len(found) == 1)
        if deviation is not None:
            assert deviation == pytest.approx(np.std(found, ddof=1))
    assert by_variant["corruption=0"] == [
        row[0] for row in full.rows("SELECT wg FROM results WHERE method = 'dat' AND variant = ''")
    ]
    spread = full.rows(
        "SELECT results, wg_lowest, wg_highest FROM sensitivity WHERE source = 'references' AND method = 'dat'"
    )
    random = [
        row[0] for row in full.rows("SELECT wg FROM results WHERE method = 'dat' AND variant = 'references=random'")
    ]
    assert spread == [(len(random), min(random), max(random))]


def test_short_groups_are_dropped_by_one_rule_and_used_by_the_other(full: Full) -> None:
    rows = full.rows(
        "SELECT others, value, dropped_groups FROM sweeps WHERE method = 'dat' AND setting = 'shortage' ORDER BY ALL"
    )
    sizes = Counter(zip(*(values.tolist() for values in _pool_groups(full)), strict=True))
    for others, rule, dropped in rows:
        n = int(others.removeprefix("n="))
        assert dropped == (sum(size < n for size in sizes.values()) if rule == "drop" else 0)
    assert any(dropped for _, _, dropped in rows)


def test_efficiency_tells_encoding_from_scoring(full: Full) -> None:
    counts = Counter(texts(full.table("samples/toybirds"), "split").tolist())
    rows = {
        row[0]: row[1:]
        for row in full.rows(
            "SELECT method, images_encoded, encoding_seconds, scoring_seconds FROM efficiency WHERE variant = ''"
        )
    }
    assert rows["zero_shot"][0] == counts["test"]
    assert rows["tie"][0] == rows["dat"][0] == counts["test"] + counts["train"]
    ((seconds, images),) = full.rows("SELECT seconds, rows FROM costs WHERE step = 'image_embeddings'")
    assert rows["dat"][1] == pytest.approx(seconds * rows["dat"][0] / images)
    steps = full.rows(
        "SELECT sum(seconds) FROM costs WHERE (step, variant, method) IN "
        "(('references', 'n=64', ''), ('densities', 'k=10, n=56', ''), ('predictions', '', 'dat'))"
    )
    assert rows["dat"][2] == pytest.approx(steps[0][0])


def test_diagnostics_are_those_of_the_library_by_hand(full: Full) -> None:
    dat = Experiment("toybirds", "toyclip", "dat")
    problem = full.problem(dat)
    prompts = np.concatenate(
        [problem.text[role].reshape(-1, problem.queries.shape[1]) for role in ("class", "attribute", "group")]
    )
    expected = prompt_distances(
        problem.pool, problem.pool_labels, problem.pool_attributes, prompts, size=56, repeats=5, seed=0
    )
    found = full.rows("SELECT distance FROM diagnostic_prompt_distances ORDER BY distance")
    np.testing.assert_allclose([row[0] for row in found], np.sort(expected.distance), rtol=1e-9)
    method = make_method("dat", full.specs.settings("dat", "toybirds"))
    densities = pool_densities(problem, method.needs.densities)
    similarity = similarities(problem.queries, problem.text["class"], problem.text["group"])
    triptych = density_triptych(
        similarity, densities.log_density, *full.truth(), group=(1, 0), strength=method.strength
    )
    summary = summarise_triptych(triptych)
    rows = full.rows(
        "SELECT quantity, of_group, right_side, overlap FROM diagnostic_triptych_summary "
        "WHERE method = 'dat' AND group_name = 'waterbird, land' ORDER BY ALL"
    )
    by_hand = zip(
        summary.quantity.tolist(), summary.of_group.tolist(), summary.right_side, summary.overlap, strict=True
    )
    for row, wanted in zip(rows, sorted(by_hand), strict=True):
        assert row[:2] == wanted[:2]
        assert row[2:] == pytest.approx(wanted[2:])


def _pool_groups(full: Full) -> tuple[np.ndarray, np.ndarray]:
    problem = full.problem(Experiment("toybirds", "toyclip", "dat"))
    assert problem.pool_labels is not None
    assert problem.pool_attributes is not None
    return problem.pool_labels, problem.pool_attributes


def test_the_references_of_each_group_are_shown_as_images(full: Full) -> None:
    with Questions(full.home) as questions:
        (sheet,) = contact_sheets(Scope.of(questions, Graph(full.specs).cells(full.asked)), "toybirds", "toyclip")
    assert "<image " in sheet.svg
    chosen = full.rows(
        "SELECT sample_id FROM diagnostic_exemplars WHERE method = 'dat' AND variant = '' AND place <= 8 AND seed = 0"
    )
    assert len(chosen) == 4 * 8
    assert all(sample in sheet.alternative for (sample,) in chosen)
