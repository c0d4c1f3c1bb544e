"""The shipped suites: they cover the paper, other prompt sets are chosen well, and what a person names narrows them."""

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dat_lib.theory.registry import checks
from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.specs.collection import Specs
from data_catalog.store.artifacts import Store
from tasks.engine.run import run_benchmark
from tasks.graph.diagnostics import KINDS
from tasks.graph.experiments import Experiment, Selection, select
from tasks.graph.graph import Graph
from tasks.graph.inspections import Diagnosis, TheoryCheck
from tasks.graph.methods import known_methods
from tasks.graph.variants import parse_variant, spelled_out
from tasks.validation import check_specs
from tests.tasks.density_world import SMALL, WORLD, by_hand, cells_of, computed, run

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "data_catalog/paper/paper.csv"
# Printed twice for strength 3, and never for 2.
MISPRINTED = {"strength=3, occurrence=1", "strength=3, occurrence=2"}


@pytest.fixture
def specs(home: Home) -> Specs:
    return Specs.from_environment(home)


def asked(specs: Specs, suite: str, **more) -> list:
    return select(Selection(suite=suite, **more), specs)[0]


def experiments(specs: Specs, *suites: str) -> set[tuple[str, ...]]:
    found = [one for suite in suites for one in asked(specs, suite) if isinstance(one, Experiment)]
    return {(one.dataset, one.backbone, one.method, one.variant) for one in found}


def test_every_number_of_the_paper_has_a_result_in_a_suite(specs) -> None:
    with PAPER.open(newline="") as file:
        printed = {
            (row["dataset"], row["backbone"], row["method"], row["variant"])
            for row in csv.DictReader(file)
            if row["variant"] not in MISPRINTED
        }
    assert len(printed) > 150
    assert printed <= experiments(specs, "paper", "ablations")


@pytest.mark.parametrize("suite", ["paper", "demo"])
def test_every_pair_of_dataset_and_backbone_is_scored_by_every_method(specs, suite) -> None:
    found = experiments(specs, suite)
    pairs = {(dataset, backbone) for dataset, backbone, _, _ in found}
    assert len(pairs) == {"paper": 15, "demo": 1}[suite]
    assert found == {(*pair, method, "") for pair in pairs for method in known_methods()}


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        ("paper", {"Experiment": 285, "Diagnosis": 44}),
        ("ablations", {"Experiment": 385}),
        ("demo", {"Experiment": 19, "Diagnosis": 5}),
        ("demo-full", {"Experiment": 207, "Diagnosis": 10, "TheoryCheck": 8}),
        ("simulated", {"Experiment": 18}),
        ("theory", {"TheoryCheck": 20}),
    ],
)
def test_a_shipped_suite_asks_for_no_less_and_no_more_than_it_did(specs, suite, expected) -> None:
    assert Counter(type(one).__name__ for one in asked(specs, suite)) == expected


def test_the_small_form_has_every_variant_of_the_ablations(specs) -> None:
    large = {(method, variant) for _, _, method, variant in experiments(specs, "ablations")}
    small = {(method, variant) for _, _, method, variant in experiments(specs, "demo-full")}
    # Prompts of TIE's and RoboShot's code have words that the small model does not know.
    known = {(m, v) for m, v in large if v not in ("prompts=tie", "prompts=roboshot", "shortage=drop", "shortage=use")}
    assert known <= small
    assert {method for _, _, method, _ in experiments(specs, "paper")} <= {method for method, variant in small}


@pytest.mark.parametrize("suite", ["paper", "demo-full"])
def test_the_figures_are_asked_for(specs, suite) -> None:
    assert {one.kind for one in asked(specs, suite) if isinstance(one, Diagnosis)} == set(KINDS)


@pytest.mark.parametrize("suite", ["theory", "demo-full"])
def test_every_check_of_the_theory_is_asked_for(specs, suite) -> None:
    assert {one.check for one in asked(specs, suite) if isinstance(one, TheoryCheck)} == set(checks())


def test_all_shipped_specs_are_sound(specs) -> None:
    checked, problems = check_specs(specs)
    assert problems == []
    assert len(checked) > 60


def test_the_prompts_of_toybirds_are_of_words_that_its_model_knows(specs) -> None:
    from dat_lib.toyworld.toyclip_model import make_tokenizer

    tokenizer = make_tokenizer()
    sets = [name for name in specs.names("prompts") if name.startswith("toybirds")]
    assert len(sets) == 13
    for name in sets:
        for prompt in specs.prompt_set(name).all_prompts():
            assert tokenizer.unk_token_id not in tokenizer(prompt)["input_ids"], f"{name}: {prompt}"


def test_names_narrow_a_suite_and_leave_out_what_they_do_not_name(specs) -> None:
    found = asked(specs, "demo-full", methods=["dat"])
    assert {one.method for one in found} == {"dat"}
    assert {type(one) for one in found} == {Experiment, Diagnosis}
    assert not any(isinstance(one, TheoryCheck) for one in asked(specs, "demo-full", datasets=["toybirds"]))
    swept = asked(specs, "demo-full", overrides={"epsilon": 1e-6}, methods=["dat"])
    assert {type(one) for one in swept} == {Experiment}, "settings are those of methods"
    checks = asked(specs, "theory", overrides={"each": 20})
    assert all(one.overrides == {"each": 20} for one in checks)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[[theory]]\nchecks = ["gravity"]\n', "there is no check of the theory gravity"),
        ('[[theory]]\nchecks = ["fidelity"]\nset = { dim = 3 }\n', "the check fidelity has no setting dim"),
        ('[[theory]]\nchecks = ["fidelity"]\nset = { seed = 3 }\n', "has no setting seed"),
        ("[[diagnostics]]\nkinds = ['aura']\n", "there is no diagnostic aura"),
        (
            "[[diagnostics]]\nkinds = ['shell']\nset = { strength = 2.0 }\n",
            "the diagnostic shell has no setting strength",
        ),
        ("[[diagnostics]]\nkinds = ['margins']\nmethods = ['tie']\n", "of methods with densities, not of tie"),
        ('[[grid]]\nmethods = ["dat"]\nprompts = ["nowhere"]\n', "there is no prompt nowhere"),
        ('[[grid]]\nmethods = ["dat"]\nprompts = ["fmow"]\n', "has 62 classes where simbirds has 2"),
        ("title = 'nothing'\n", "a suite needs at least one table"),
    ],
)
def test_a_suite_that_asks_for_what_there_is_not_is_refused(home, table, message) -> None:
    where = "" if "theory" in table or "title" in table else 'datasets = ["simbirds"]\nbackbones = ["simclip"]\n'
    path = home.specs / "suites" / "mine.toml"
    path.parent.mkdir(parents=True)
    path.write_text(table + where)
    specs = Specs.from_environment(home)
    with pytest.raises(UserError, match=message):
        Graph(specs).cells(asked(specs, "mine"))


def test_variants_are_read_as_they_are_spelled() -> None:
    settings = {"k": 20, "dims": [3, 16], "densities": ["slof", "knn"], "x": 0.05, "flag": True, "terms": "group"}
    assert parse_variant(spelled_out(settings)) == settings
    assert parse_variant("") == {}


SWAPPED = """
classes = ["landbird", "waterbird"]
attributes = ["land", "water"]

[prompts]
class = "a photo of a {class}"
attribute = [
    { variants = ["a photo with a land background", "a photo of a landbird in land"] },
    "a photo with a water background",
]
group = "a photo of a {class} in {attribute}"
"""


@pytest.fixture
def chosen(home: Home) -> Home:
    path = home.specs / "prompts" / "simbirds-two.toml"
    path.parent.mkdir(parents=True)
    path.write_text(SWAPPED)
    return home


def with_prompts(method: str, **settings) -> Experiment:
    return Experiment("small", "simclip", method, {**SMALL, **settings} if "dat" in method else settings, prompts="two")


def test_a_chosen_prompt_set_is_scored_as_by_hand(chosen: Home) -> None:
    from dat_lib.methods.registry import make_method
    from dat_lib.methods.support.contract import Problem
    from dat_lib.methods.support.pool_densities import run_on_pool
    from dat_lib.toyworld.simulation import simulate

    run(chosen, [with_prompts("dat_star"), with_prompts("tie_star")])
    world = simulate(**WORLD)
    vectors = {prompt: vector / np.linalg.norm(vector) for prompt, vector in world.prompt_vectors.items()}
    land = (vectors["a photo with a land background"] + vectors["a photo of a landbird in land"]) / 2
    water = world.prompt_vectors["a photo with a water background"]
    pool, test = world.part("train"), world.part("test")
    problem = Problem(
        queries=world.embeddings[test],
        text={**world.text, "attribute": np.stack([land, water])},
        n_classes=2,
        n_attributes=2,
        query_ids=world.sample_ids[test],
        pool=world.embeddings[pool],
        pool_ids=world.sample_ids[pool],
        pool_labels=world.labels[pool],
        pool_attributes=world.attributes[pool],
    )
    for method, settings in (("dat_star", SMALL), ("tie_star", {})):
        question = (
            "SELECT prediction FROM predictions WHERE method = ? AND variant LIKE '%prompts=two' ORDER BY sample_id"
        )
        rows = query(chosen, question, [method]).rows
        expected = run_on_pool(make_method(method, settings), problem)
        assert [row[0] for row in rows] == expected.labels.tolist()


def test_prompts_that_do_not_matter_to_densities_make_none_anew(chosen: Home) -> None:
    plain = Experiment("small", "simclip", "dat", SMALL)
    star = Experiment("small", "simclip", "dat_star", SMALL)
    first = run(chosen, [plain, star])
    assert computed(chosen, first.run_id)["densities"] == 2
    second = run(chosen, [with_prompts("dat")])
    # The same predictions come of it, so that even their metrics are those that are there.
    assert computed(chosen, second.run_id) == Counter(text_embeddings=1, predictions=1)
    third = run(chosen, [with_prompts("dat_star")])
    assert computed(chosen, third.run_id)["attributes"] == 1
    question = "SELECT prediction FROM predictions WHERE method = 'dat' AND variant LIKE ? ORDER BY sample_id"
    rows = query(chosen, question, ["%prompts=two"]).rows
    assert [row[0] for row in rows] == by_hand(plain).labels.tolist(), "its own prompts are the same"


def test_why_explains_cells_of_other_prompts(dat, chosen: Home) -> None:
    run(chosen, [with_prompts("dat_star")])
    for cell in (
        "text_embeddings/small/simclip/prompts=two",
        "attributes/small/simclip/prompts=two",
        "references/small/simclip/groups=inferred, n=64, prompts=two",
        "predictions/small/simclip/dat_star/k=4, n=12, prompts=two",
    ):
        ran = dat("why", cell)
        assert ran.code == 0, ran.err
        assert "now: up to date" in ran.out, cell


def test_a_prompt_set_can_be_chosen_on_the_command_line(dat, chosen: Home) -> None:
    cells_of(chosen, [])
    words = ("--dataset", "small", "--backbone", "simclip", "--method", "zero_shot", "--set", "prompts=two")
    assert dat("run", *words).code == 0
    assert query(chosen, "SELECT variant FROM results").rows == [("prompts=two",)]


def test_prompt_sets_are_encoded_by_one_model_and_as_if_alone(chosen: Home) -> None:
    specs = Specs.from_environment(chosen)
    both = [Experiment("toybirds", "toyclip", "zero_shot", prompts=name) for name in ("", "t1", "t2")]
    cells = [cell for cell in Graph(specs).cells(both) if cell.step in ("weights", "text_embeddings")]
    texts = [cell for cell in cells if cell.step == "text_embeddings"]
    assert {len(cell.together) for cell in texts} == {2}
    run_id = run_benchmark(cells, Store(chosen), request="test").run_id
    assert computed(chosen, run_id)["text_embeddings"] == 1
    alone = Home(chosen.root.parent / "alone")
    (weights,) = (cell for cell in cells if cell.step == "weights")
    for cell in Graph(specs).cells([both[2]]):
        if cell.step == "text_embeddings":
            run_benchmark([weights, cell], Store(alone), request="test")
    question = "SELECT cell, content FROM artifacts WHERE step = 'text_embeddings' AND variant = 'prompts=t2'"
    assert query(alone, question).rows == query(chosen, question).rows != []
