"""Diagnostics and theory as cells: the same tables as the library by hand, by seed, documented and explained."""

import json
from pathlib import Path

import numpy as np
import pytest

from dat_lib.columns import columns
from dat_lib.density.reference_density import ReferenceDensity
from dat_lib.diagnostics.exemplars import describe_exemplars
from dat_lib.diagnostics.mahalanobis import prompt_distances
from dat_lib.diagnostics.margins import margin_histograms, score_margins
from dat_lib.diagnostics.shell import embedding_shell
from dat_lib.diagnostics.triptych import density_triptych, spurious_counterpart, summarise_triptych
from dat_lib.references import select_references
from dat_lib.theory import anisotropy, bayes_alignment, bayes_rule, cosine_tie, fidelity, surrogate_risk
from dat_lib.theory.registry import checks
from dat_lib.toyworld.simulation import simulate
from dat_lib.translation import similarities
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.index.step_views import STEP_VIEWS
from tasks.graph.diagnostics import KINDS
from tasks.graph.inspections import Diagnosis, TheoryCheck
from tests.tasks.density_world import SMALL, WORLD, cells_of, computed, run

TEXT = ("class", "attribute", "group")
GROUPS = ["landbird, land", "landbird, water", "waterbird, land", "waterbird, water"]


def diagnosis(kind: str, method: str = "dat", seed: int = 0, **settings) -> Diagnosis:
    own = {} if kind in ("prompt_distances", "shell") else SMALL
    return Diagnosis("small", "simclip", kind, method, {**own, **settings}, seed)


ASKED = [
    diagnosis("prompt_distances", size=10, repeats=2),
    *(diagnosis(kind) for kind in ("shell", "triptych", "margins", "exemplars")),
    diagnosis("exemplars", "dat_star"),
]


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which every kind has been made; not to be changed."""
    home = Home(tmp_path_factory.mktemp("inspected") / "home")
    run(home, ASKED)
    return home


@pytest.fixture(scope="module")
def world():
    return simulate(**WORLD)


def table(home: Home, view: str, where: str = "true") -> dict[str, np.ndarray]:
    answer = query(home, f"SELECT * FROM {view} WHERE {where}")
    return {name: np.array([row[i] for row in answer.rows]) for i, name in enumerate(answer.columns)}


def assert_holds(found: dict[str, np.ndarray], expected, order: tuple[str, ...], left_out=()) -> None:
    """Every column of the library is in the table, with the same values once both are sorted alike."""
    wanted = {name: values for name, values in columns(expected).items() if name not in left_out}
    first, second = (np.lexsort([part[name] for name in reversed(order)]) for part in (found, wanted))
    assert len(first) == len(second) > 0
    for name, values in wanted.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(found[name][first].astype(float), values[second], rtol=1e-9, atol=1e-12)
        else:
            assert found[name][first].tolist() == values[second].tolist(), name


def densities(world):
    pool, test = world.part("train"), world.part("test")
    references = select_references(
        world.embeddings[pool],
        world.labels[pool],
        world.attributes[pool],
        **SMALL,
        n_classes=2,
        n_attributes=2,
        sample_ids=world.sample_ids[pool],
    )
    log_density = ReferenceDensity(references, (SMALL["k"],)).log_density(world.embeddings[test])[0]
    similarity = similarities(world.embeddings[test], world.text["class"], world.text["group"])
    return references, similarity, log_density


def test_prompt_distances_are_those_of_the_library(inspected: Home, world) -> None:
    pool = world.part("train")
    prompts = np.concatenate([world.text[role].reshape(-1, WORLD["dim"]) for role in TEXT])
    expected = prompt_distances(
        world.embeddings[pool], world.labels[pool], world.attributes[pool], prompts, size=10, repeats=2, seed=0
    )
    found = table(inspected, "diagnostic_prompt_distances")
    texts = [prompt for role in TEXT for prompt in np.ravel(world.prompts[role])]
    found["prompt"] = np.array([texts.index(text) for text in found["prompt_text"]])
    assert_holds(found, expected, ("prompt", "label", "attribute", "repeat"))
    assert set(found["role"]) == set(TEXT)
    assert set(found["group_name"]) == set(GROUPS)


def test_groups_too_small_for_the_distances_are_left_out_and_counted(home: Home) -> None:
    run(home, [diagnosis("prompt_distances", size=100, repeats=1)])
    assert set(table(home, "diagnostic_prompt_distances")["group_name"]) == {GROUPS[0], GROUPS[3]}
    ((summary,),) = query(home, "SELECT summary FROM artifacts WHERE step = 'diagnostic_prompt_distances'").rows
    assert json.loads(summary) == {"groups": 2, "groups_left_out": 2}


def test_the_shell_is_that_of_the_library(inspected: Home, world) -> None:
    test = world.part("test")
    prompts = np.concatenate([world.text[role].reshape(-1, WORLD["dim"]) for role in TEXT])
    shell = embedding_shell(world.embeddings[test], world.labels[test], world.attributes[test], prompts)
    found = table(inspected, "diagnostic_shell_samples")
    assert_holds(found, shell.samples, ("modality", "norm", "distance"), ("row",))
    assert set(found["name"]) >= {str(name) for name in world.sample_ids[test]} | {"a photo of a landbird"}
    assert_holds(table(inspected, "diagnostic_shell_spectrum"), shell.spectrum, ("modality", "rank"))
    assert_holds(table(inspected, "diagnostic_shell_summary"), shell.summary, ("modality", "label", "attribute"))


def test_triptychs_are_those_of_the_library(inspected: Home, world) -> None:
    test = world.part("test")
    truth = (world.labels[test], world.attributes[test])
    _, similarity, log_density = densities(world)
    for number, name in enumerate(GROUPS):
        group = divmod(number, 2)
        other = spurious_counterpart(similarity, *truth, group)
        expected = density_triptych(similarity, log_density, *truth, group=group, counterpart=other, strength=10.0)
        where = f"group_name = '{name}'"
        found = table(inspected, "diagnostic_triptych", where)
        assert set(found["counterpart"]) == {GROUPS[2 * other[0] + other[1]]}
        ids = world.sample_ids[test].tolist()
        found["row"] = np.array([ids.index(sample) for sample in found["sample_id"]])
        assert_holds(found, expected, ("row", "of_group", "against_own"))
        summary = table(inspected, "diagnostic_triptych_summary", where)
        assert_holds(summary, summarise_triptych(expected), ("quantity", "of_group"))


def test_margins_are_those_of_the_library(inspected: Home, world) -> None:
    test = world.part("test")
    _, similarity, log_density = densities(world)
    expected = score_margins(similarity, log_density, world.labels[test], world.attributes[test], strength=10.0)
    found = table(inspected, "diagnostic_margins")
    ids = world.sample_ids[test].tolist()
    found["row"] = np.array([ids.index(sample) for sample in found["sample_id"]])
    found["method"] = found["scored_by"]
    assert_holds(found, expected, ("method", "row"))
    bins = table(inspected, "diagnostic_margin_histograms")
    bins["series"] = bins["scored_by"]
    assert_holds(bins, margin_histograms(expected), ("series", "low"))


def test_exemplars_are_those_of_the_library(inspected: Home, world) -> None:
    pool = world.part("train")
    references, _, _ = densities(world)
    expected = describe_exemplars(references, world.embeddings[pool], world.labels[pool], world.attributes[pool])
    found = table(inspected, "diagnostic_exemplars", "method = 'dat'")
    found["order"] = found["place"]
    assert_holds(found, expected, ("label", "attribute", "order"), ("position",))
    assert (found["label"] == found["true_label"]).all()
    assert (found["attribute"] == found["true_attribute"]).all()
    inferred = table(inspected, "diagnostic_exemplars", "method = 'dat_star'")
    assert (inferred["attribute"] != inferred["true_attribute"]).any(), "this world's prompts mistake some"


def test_corrupted_references_are_shown_with_what_they_are(home: Home) -> None:
    run(home, [diagnosis("exemplars", seed=1, corruption=0.5), diagnosis("exemplars", seed=2, corruption=0.5)])
    found = table(home, "diagnostic_exemplars")
    moved = (found["label"] != found["true_label"]) | (found["attribute"] != found["true_attribute"])
    assert moved.mean() == 0.5
    first, second = (found["sample_id"][found["seed"] == seed].tolist() for seed in (1, 2))
    assert first != second


CHECKED = {
    "cosine_ties": (cosine_tie.cosine_ties, {"dims": [3, 8]}),
    "cosine_rankings": (cosine_tie.cosine_rankings, {"dims": [3], "samples": 40}),
    "fidelity": (fidelity.log_slof_fidelity, {"dims": [6], "ns": [20], "each": 10, "ks": [5]}),
    "fidelity_points": (fidelity.fidelity_points, {"dim": 6, "n": 20, "k": 5, "each": 10}),
    "bayes_alignment": (bayes_alignment.bayes_alignment, {"dims": [6], "ns": [20], "each": 10}),
    "anisotropy": (anisotropy.anisotropy_terms, {"dims": [6], "ns": [20], "each": 10}),
    "bayes_approach": (bayes_rule.bayes_approach, {"dims": [6], "ns": [20], "each": 10, "densities": ["slof"]}),
    "surrogate_risks": (surrogate_risk.surrogate_risks, {"dims": [6], "n": 20, "each": 10}),
}


def test_every_check_is_tried_here() -> None:
    assert set(CHECKED) == set(checks())


@pytest.mark.parametrize("check", CHECKED)
def test_checks_of_the_theory_are_those_of_the_library(home: Home, check: str) -> None:
    function, settings = CHECKED[check]
    run(home, [TheoryCheck(check, settings, seed) for seed in (0, 5)])
    for seed in (0, 5):
        expected = columns(function(**settings, seed=seed))
        found = table(home, f"theory_{check}", f"seed = {seed}")
        for name, values in expected.items():
            shown = found["group_index" if name == "group" else name]
            assert sorted(map(repr, shown.tolist())) == sorted(map(repr, values.tolist())), name
    again = run(home, [TheoryCheck(check, settings, seed) for seed in (0, 5)])
    assert not computed(home, again.run_id)


def test_claims_are_counted_in_the_summary(home: Home) -> None:
    run(home, [TheoryCheck("cosine_ties", {"dims": [3]})])
    ((summary,),) = query(home, "SELECT summary FROM artifacts").rows
    rows = cosine_tie.cosine_ties(dims=(3,))
    holds = sum(row.holds for row in rows)
    assert 0 < holds < len(rows), "some hold and some do not"
    assert json.loads(summary)["claims"] == {"on_sphere": sum(row.on_sphere for row in rows), "holds": holds}


def test_tables_of_one_kind_are_made_in_one_go(home: Home) -> None:
    made = run(home, [diagnosis("shell"), diagnosis("triptych")])
    steps = computed(home, made.run_id)
    assert sum(steps[step] for step in KINDS["shell"].steps) == 1
    assert sum(steps[step] for step in KINDS["triptych"].steps) == 1
    (file,) = home.objects.joinpath("diagnostic_shell_spectrum").glob("*.parquet")
    file.unlink()
    healed = run(home, [diagnosis("shell"), diagnosis("triptych")])
    assert computed(home, healed.run_id) == {"diagnostic_shell_spectrum": 1}


def test_diagnostics_share_densities_with_the_results(home: Home) -> None:
    from tests.tasks.density_world import experiment

    run(home, [experiment()])
    second = run(home, [diagnosis("triptych"), diagnosis("margins", strength=2.0), diagnosis("exemplars")])
    assert not {"densities", "references", "image_embeddings"} & set(computed(home, second.run_id))


def test_the_same_seed_gives_the_same_table_and_another_gives_another(home: Home, tmp_path: Path) -> None:
    def contents(name: str, seed: int) -> list:
        elsewhere = Home(tmp_path / name)
        run(elsewhere, [diagnosis("prompt_distances", seed=seed, size=10)])
        return query(elsewhere, "SELECT content FROM artifacts WHERE step = 'diagnostic_prompt_distances'").rows

    assert contents("a", 1) == contents("b", 1) != contents("c", 2)


@pytest.mark.parametrize("view", STEP_VIEWS)
def test_views_say_what_the_tables_hold(inspected: Home, view: str, tmp_path: Path) -> None:
    home = inspected
    if view.startswith("theory_"):
        check = view.removeprefix("theory_")
        home = Home(tmp_path / "home")
        run(home, [TheoryCheck(check, CHECKED[check][1])])
    import pyarrow.parquet as pq

    files = list((home.objects / view).glob("*.parquet"))
    assert files, "every view is of a step"
    assert sorted(pq.read_schema(files[0]).names) == sorted(STEP_VIEWS[view].columns)
    described = dict(
        query(home, "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ?", [view]).rows
    )
    for name, kind in STEP_VIEWS[view].types.items():
        assert described[name] == kind, name


def test_why_explains_diagnostics_and_theory(dat, home: Home) -> None:
    run(home, [*ASKED, TheoryCheck("fidelity", CHECKED["fidelity"][1], 3)])
    cells = [cell.name for cell in cells_of(home, [*ASKED, TheoryCheck("fidelity", CHECKED["fidelity"][1], 3)])]
    asked = [name for name in cells if name.startswith(("diagnostic_", "theory_"))]
    assert len(asked) == 11
    for name in asked:
        ran = dat("why", name)
        assert ran.code == 0, ran.err
        assert "now: up to date" in ran.out, name
