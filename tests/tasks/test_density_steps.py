"""DAT in steps: the same numbers as the library by hand, each step made once, whoever asks for it."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from filelock import FileLock

from dat_lib.attributes import infer_attributes
from dat_lib.density.densities import slof
from dat_lib.estimator import DAT, DATStar
from dat_lib.toyworld.simulation import simulate
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.planning.code_version import CodeVersions
from data_catalog.planning.planner import Planner
from data_catalog.store.artifacts import Store
from tasks.engine.computation import Bridge
from tasks.step import Work
from tasks.steps import densities
from tasks.tables.columns import vector_column, vectors_of
from tests.tasks.density_world import SMALL, WORLD, by_hand, cells_of, computed, experiment, run, stored

ROOT = Path(__file__).parents[2]
SETTINGS = [
    {},
    {"k": 7},
    {"n": 9},
    {"n": 70, "shortage": "use"},
    {"strength": 1.0, "terms": "group"},
    {"terms": "average"},
    {"score": "logit"},
    {"strength": 1e5},
    {"density": "knn"},
    {"density": "dao", "lid": "mom"},
    {"metric": "cosine"},
    {"references": "random"},
    {"corruption": 0.25},
    {"corruption": 0.25, "n": 70},
    {"corruption": 0.25, "references": "random", "n": 30, "k": 9, "shortage": "use"},
]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which every setting has been run, with two seeds; not to be changed."""
    home = Home(tmp_path_factory.mktemp("swept") / "home")
    methods = ("dat", "dat_star")
    run(home, [experiment(method, seed, **s) for method in methods for s in SETTINGS for seed in (0, 3)])
    run(home, [experiment("density_only", **s) for s in ({}, {"density": "dao"}, {"n": 70, "shortage": "use"})])
    return home


@pytest.mark.parametrize("method", ["dat", "dat_star"])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: ",".join(settings) or "main")
@pytest.mark.parametrize("seed", [0, 3])
def test_predictions_in_steps_are_those_of_the_library_by_hand(swept: Home, method, settings, seed) -> None:
    wanted = experiment(method, seed, **settings)
    assert_as_by_hand(swept, wanted)


@pytest.mark.parametrize("settings", [{}, {"density": "dao"}, {"n": 70, "shortage": "use"}])
def test_density_only_reads_the_same_densities(swept: Home, settings) -> None:
    assert_as_by_hand(swept, experiment("density_only", **settings))


def assert_as_by_hand(home: Home, wanted) -> None:
    labels, margins, notes = stored(home, wanted)
    expected = by_hand(wanted)
    np.testing.assert_array_equal(labels, expected.labels)
    if expected.scores is None:
        assert np.isnan(margins).all()
    else:
        ordered = np.sort(expected.scores, axis=1)
        np.testing.assert_array_equal(margins, ordered[:, -1] - ordered[:, -2])
    assert notes == expected.notes


def test_the_settings_tell_the_numbers_apart(swept: Home) -> None:
    """Otherwise the comparison with the library would prove little."""
    margins = [stored(swept, experiment("dat", 0, **settings))[1].tolist() for settings in SETTINGS]
    assert len({str(values) for values in margins}) == len(SETTINGS)
    seeds = [stored(swept, experiment("dat", seed, corruption=0.25))[1].tolist() for seed in (0, 3)]
    assert seeds[0] != seeds[1]


def test_dat_and_dat_star_are_the_estimators(swept: Home) -> None:
    world = simulate(**WORLD)
    pool, test = world.part("train"), world.part("test")
    text = {"class_text": world.text["class"], "group_text": world.text["group"]}
    dat = DAT(**SMALL).fit(world.embeddings[pool], world.labels[pool], world.attributes[pool], **text)
    star = DATStar(**SMALL).fit(
        world.embeddings[pool], world.labels[pool], attribute_text=world.text["attribute"], **text
    )
    for method, model in (("dat", dat), ("dat_star", star)):
        np.testing.assert_array_equal(stored(swept, experiment(method))[0], model.predict(world.embeddings[test]))


def test_groups_that_are_dropped_are_told_with_the_result(home: Home) -> None:
    wanted = experiment(n=70)
    run(home, [wanted])
    notes = stored(home, wanted)[2]
    assert notes["dropped_groups"], "this world has groups of fewer than 70"
    assert notes == by_hand(wanted).notes
    (row,) = query(home, "SELECT notes FROM results").rows
    assert '"dropped_groups"' in row[0]


def test_sweeps_of_strength_and_terms_make_no_new_densities(home: Home) -> None:
    first = run(home, [experiment()])
    assert computed(home, first.run_id)["densities"] == 1
    sweep = [
        experiment(strength=strength, terms=terms) for strength in (1.0, 2.0, 5.0) for terms in ("group", "average")
    ]
    second = run(home, [experiment(), *sweep, experiment(score="logit")])
    assert computed(home, second.run_id) == {"predictions": 7, "metrics": 7}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The neighbourhoods of each distance pass that this process makes."""
    found = []
    made = densities.ReferenceDensity

    def counted(references, ks, **more):
        found.append(tuple(ks))
        return made(references, ks, **more)

    monkeypatch.setattr(densities, "ReferenceDensity", counted)
    return found


def test_a_sweep_of_k_is_one_computation_and_one_distance_pass(home: Home, passes) -> None:
    ks = (2, 4, 6, 8, 10)
    result = run(home, [experiment(method, k=k) for method in ("dat", "density_only") for k in ks])
    assert computed(home, result.run_id)["densities"] == 1
    assert [sorted(passed) for passed in passes] == [list(ks)]
    makers = query(home, "SELECT summary ->> 'made_with' FROM artifacts WHERE step = 'densities'").rows
    assert sorted(makers, key=str) == [*[("densities/small/simclip/k=2, n=12",)] * 4, (None,)]


def test_another_k_later_computes_that_one_and_nothing_else(home: Home, passes) -> None:
    run(home, [experiment(k=k) for k in (2, 4)])
    del passes[:]
    all_three = [experiment(k=k) for k in (2, 4, 6)]
    result = run(home, all_three)
    assert passes == [(6,)]
    assert computed(home, result.run_id) == {"densities": 1, "predictions": 1, "metrics": 1}
    (name,) = query(
        home,
        "SELECT cell FROM decisions WHERE run_id = ? AND outcome = 'computed' AND step = 'densities'",
        [result.run_id],
    ).rows[0]
    assert name == "densities/small/simclip/k=6, n=12"


def test_a_narrower_or_wider_request_finds_the_same_densities(home: Home) -> None:
    run(home, [experiment(k=k) for k in (2, 4, 6)])
    for ks in ((4,), (2, 6), (6, 4, 2)):
        decisions = Planner(Store(home)).plan(cells_of(home, [experiment(k=k) for k in ks]))
        assert {decision.action for decision in decisions} == {"up to date"}


def test_neighbourhoods_that_keep_different_groups_are_each_right(home: Home) -> None:
    wanted = [experiment(n=70, k=k, shortage="use") for k in (4, 30, 60)]
    result = run(home, wanted)
    assert computed(home, result.run_id)["densities"] == 1
    actives = set()
    for one in wanted:
        assert_as_by_hand(home, one)
        actives.add(stored(home, one)[2]["active_groups"])
    assert len(actives) > 1, "the groups of this world must differ in what they serve"


def test_a_sweep_of_n_herds_once(home: Home) -> None:
    result = run(home, [experiment(n=n) for n in (8, 12, 25, 64)])
    assert computed(home, result.run_id)["references"] == 1
    assert computed(home, result.run_id)["densities"] == 4
    for n in (8, 12, 25, 64):
        assert_as_by_hand(home, experiment(n=n))


def test_corruption_of_any_rate_and_seed_shares_one_herding(home: Home) -> None:
    first = run(home, [experiment()])
    assert computed(home, first.run_id)["references"] == 1
    noisy = [experiment(seed=seed, corruption=rate) for seed in (0, 1, 2) for rate in (0.1, 0.5)]
    second = run(home, noisy)
    assert computed(home, second.run_id)["references"] == len(noisy)
    question = "SELECT DISTINCT parent_cell FROM lineage WHERE cell LIKE 'references/%corruption%'"
    assert query(home, question).rows == [("references/small/simclip/n=64",)]


def test_a_seed_that_has_no_say_makes_no_references_or_densities_of_its_own(home: Home) -> None:
    run(home, [experiment(seed=0)])
    again = run(home, [experiment(seed=1)])
    assert computed(home, again.run_id)["references"] == computed(home, again.run_id)["densities"] == 0


def test_attributes_are_told_for_every_sample_and_shared(home: Home) -> None:
    result = run(home, [experiment("dat_star"), experiment("dat_star", n=9, k=3)])
    assert computed(home, result.run_id)["attributes"] == 1
    world = simulate(**WORLD)
    expected = infer_attributes(world.embeddings, world.text["attribute"])
    (manifest,) = Store(home).manifests("attributes")
    table = Store(home).read(manifest)
    assert table.column("sample_id").to_pylist() == world.sample_ids.tolist()
    np.testing.assert_array_equal(table.column("attribute").to_numpy(), expected.attributes)
    np.testing.assert_array_equal(table.column("margin").to_numpy(), expected.margin)


def test_references_are_listed_best_first(home: Home) -> None:
    run(home, [experiment()])
    (manifest,) = Store(home).manifests("references")
    table = Store(home).read(manifest).to_pylist()
    world = simulate(**WORLD)
    row_of = {sample: row for row, sample in enumerate(world.sample_ids.tolist())}
    for row in table:
        place = row_of[row["sample_id"]]
        assert (world.labels[place], world.attributes[place]) == (row["label"], row["attribute"])
    for label, attribute in ((0, 0), (0, 1), (1, 0), (1, 1)):
        ranks = [row["rank"] for row in table if (row["label"], row["attribute"]) == (label, attribute)]
        members = world.part("train") & (world.labels == label) & (world.attributes == attribute)
        assert ranks == list(range(min(64, int(members.sum()))))


def test_a_test_sample_that_is_a_reference_is_not_among_its_own_neighbours() -> None:
    """A leak of the test split into the training split must not make its samples look at home there."""
    rng = np.random.default_rng(0)
    ids, splits = [*(f"s{row}" for row in range(8)), "s0", "t"], ["train"] * 8 + ["test"] * 2
    vectors = rng.normal(size=(10, 4)).astype(np.float32)
    vectors[8] = vectors[0]
    samples = {"sample_id": ids, "split": splits, "label": [0] * 10, "attribute": [0] * 10}
    references = {"sample_id": ids[:8], "label": [0] * 8, "attribute": [0] * 8, "rank": list(range(8))}
    inputs = {
        "samples": pa.table(samples),
        "image_embeddings": pa.table({"sample_id": ids, "embedding": vector_column(vectors)}),
        "references": pa.table(references),
    }
    asked = {"n": 8, "k": 3, "density": "slof", "lid": "mle", "metric": "euclidean", "shortage": "drop"}
    params = {**asked, "n_classes": 1, "n_attributes": 1, "pool_split": "train"}
    ((_, table),) = densities.compute(Work(inputs, params)).shards
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    by_id, blind = (
        slof(unit[8:], unit[:8], 3, **known) for known in ({"query_ids": ids[8:], "reference_ids": ids[:8]}, {})
    )
    np.testing.assert_allclose(np.exp(vectors_of(table, "log_density")[:, 0]), by_id, rtol=1e-5)
    assert by_id[0] > blind[0] * 1.01
    assert by_id[1] == blind[1]


def test_a_step_reaches_the_code_that_decides_it_and_no_other() -> None:
    code = CodeVersions()
    reached = {step: set(code.closure([f"tasks.steps.{step}"])) for step in ("attributes", "references", "densities")}
    scoring = set(code.closure(["tasks.steps.predictions", "dat_lib.methods.dat"]))
    assert "dat_lib.density.outlier_factors" in reached["densities"]
    assert "dat_lib.herding" in reached["references"]
    for modules in (reached["references"], reached["attributes"], scoring):
        assert "dat_lib.density.outlier_factors" not in modules
        assert "dat_lib.density.neighbours" not in modules
    for modules in (reached["densities"], reached["attributes"], scoring):
        assert "dat_lib.herding" not in modules
    assert "dat_lib.translation" in scoring
    assert "dat_lib.translation" not in reached["densities"]


@pytest.mark.parametrize(
    ("module", "old", "new", "expected"),
    [
        (
            "density/outlier_factors",
            "SMALLEST_DISTANCE = 1e-12",
            "SMALLEST_DISTANCE = 1e-11",
            {"densities": "code: dat_lib.density.outlier_factors", "predictions": "input: densities"},
        ),
        (
            "herding",
            "TIE = 1e-13",
            "TIE = 1e-12",
            {
                "references": "code: dat_lib.herding",
                "densities": "input: references",
                "predictions": "input: densities, references",
            },
        ),
        ("translation", "SMALLEST_SHARE = 512", "SMALLEST_SHARE = 511", {"predictions": "code: dat_lib.translation"}),
    ],
)
def test_an_edit_makes_its_step_stale_and_what_comes_after(home: Home, tmp_path, module, old, new, expected) -> None:
    wanted = [experiment("dat_star")]
    run(home, wanted)
    for package in ("flows", "tasks", "dat_lib", "data_catalog"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "dat_lib" / f"{module}.py"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    decisions = Planner(Store(home), CodeVersions((tmp_path,))).plan(cells_of(home, wanted))
    stale = {decision.cell.step: decision.reason for decision in decisions if decision.action != "up to date"}
    assert stale == {**expected, "metrics": "input: predictions"}


_KILLED = """
import os, signal, sys
from pathlib import Path
from data_catalog.home import Home
from data_catalog.store.artifacts import Store
from tests.tasks.density_world import experiment, run

commit, left = Store.commit, int(sys.argv[2])

def killed(self, manifest):
    global left
    if manifest.step == sys.argv[3]:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return commit(self, manifest)

Store.commit = killed
run(Home(Path(sys.argv[1])), [experiment("dat_star", k=k) for k in (2, 4, 6)])
"""


@pytest.mark.parametrize(
    ("step", "kept", "expected"),
    [
        ("references", 0, {"references": 1, "densities": 1}),
        ("densities", 0, {"densities": 1}),
        ("densities", 1, {"densities": 1}),
        ("densities", 2, {"densities": 1}),
        ("predictions", 0, {}),
    ],
)
def test_a_run_killed_between_the_steps_goes_on_where_it_was(home: Home, step, kept, expected) -> None:
    words = [sys.executable, "-c", _KILLED, str(home.root), str(kept), step]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(words, env=environment, check=False).returncode == -signal.SIGKILL
    wanted = [experiment("dat_star", k=k) for k in (2, 4, 6)]
    result = run(home, wanted)
    assert computed(home, result.run_id) == {**expected, "predictions": 3, "metrics": 3}
    for one in wanted:
        assert_as_by_hand(home, one)


def test_a_forced_rerun_reproduces_every_step(home: Home) -> None:
    wanted = [experiment("dat_star", k=k, corruption=0.25) for k in (2, 4)]
    run(home, wanted)
    result = run(home, wanted, force=True)
    assert {outcome.outcome for outcome in result.outcomes} == {"reproduced"}


def test_what_another_process_is_making_is_left_to_it(home: Home) -> None:
    """The first of two neighbourhoods is computed while somebody else holds the lock of the second."""
    wanted = [experiment(k=k) for k in (2, 4)]
    cells = [cell for cell in cells_of(home, wanted) if cell.step == "densities"]
    run(home, [experiment(k=6)])
    parents = {
        role: next(manifest for manifest in Store(home).manifests() if manifest.cell == name)
        for role, name in cells[1].parents.items()
    }
    contents = {role: parent.content for role, parent in parents.items()}
    code = CodeVersions()
    key = cells[1].key(code.version(cells[1].modules), contents)
    planner = Planner(Store(home), code)
    with FileLock(home.locks / f"{key}.lock"):
        Bridge(Store(home), code).compute(planner.decide(cells[0], parents), parents)
        assert Store(home).find("densities", key) is None
    assert len(list(Store(home).manifests("densities"))) == 2
    Bridge(Store(home), code).compute(planner.decide(replace(cells[1], together=()), parents), parents)
    assert Store(home).find("densities", key) is not None
