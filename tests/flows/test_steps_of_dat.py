"""DAT's steps on the command line: settings that reach them, and what `plan` and `why` tell about them."""

import json

import pytest

SMALL = ("--set", "n=8", "--set", "k=3")


@pytest.fixture
def imported(dat, embeddings_folder):
    ran = dat("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    assert ran.code == 0, ran.err


def request(method: str, *settings: str) -> list[str]:
    words = ["--dataset", "birds", "--backbone", "my-clip", "--method", method, *SMALL]
    return [*words, *(word for setting in settings for word in ("--set", setting))]


def sql(dat, question: str) -> list[dict]:
    ran = dat("sql", question, "--format", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_a_plan_lists_the_steps_and_why_explains_each(dat, imported) -> None:
    words = request("dat_star", "corruption=0.25", "seed=2")
    plan = {entry["cell"]: entry["reason"] for entry in json.loads(dat("plan", *words, "--json").out)}
    new = {
        "attributes/birds/my-clip",
        "references/birds/my-clip/groups=inferred, n=64",
        "references/birds/my-clip/corruption=0.25, groups=inferred, n=8/seed=2",
        "densities/birds/my-clip/corruption=0.25, groups=inferred, k=3, n=8/seed=2",
        "predictions/birds/my-clip/dat_star/corruption=0.25, k=3, n=8/seed=2",
    }
    assert {cell for cell, reason in plan.items() if reason.startswith("new")} >= new
    assert dat("run", *words).code == 0
    for cell in new:
        told = dat("why", cell)
        assert told.code == 0, told.err
        assert "now: up to date" in told.out, cell
    lineage = {(row["role"], row["parent_cell"]) for row in sql(dat, "SELECT role, parent_cell FROM lineage")}
    assert ("herded", "references/birds/my-clip/groups=inferred, n=64") not in lineage
    assert ("references", "references/birds/my-clip/groups=inferred, n=64") in lineage
    assert ("densities", "densities/birds/my-clip/corruption=0.25, groups=inferred, k=3, n=8/seed=2") in lineage
    steps = {row["step"] for row in sql(dat, "SELECT DISTINCT step FROM costs WHERE seconds >= 0")}
    assert {"attributes", "references", "densities", "predictions"} <= steps


@pytest.mark.parametrize(
    "setting",
    [
        "n=9",
        "k=4",
        "strength=2",
        "terms=group",
        "density=dao",
        "density=knn",
        "lid=mom",
        "score=logit",
        "shortage=use",
        "references=random",
        "corruption=0.5",
    ],
)
def test_every_setting_of_the_ablations_can_be_given(dat, imported, setting) -> None:
    ran = dat("plan", *request("dat", setting), "--json")
    assert ran.code == 0, ran.err
    (variant,) = {entry["variant"] for entry in json.loads(ran.out) if entry["step"] == "predictions"}
    assert setting in variant.split(", ")


def test_a_seed_can_be_given_and_is_no_variant(dat, imported) -> None:
    for seed in (1, 2):
        assert dat("run", *request("dat", "references=random", f"seed={seed}")).code == 0
    rows = sql(dat, "SELECT variant, seed FROM results ORDER BY seed")
    assert rows == [{"variant": "k=3, n=8, references=random", "seed": seed} for seed in (1, 2)]


@pytest.mark.parametrize("seed", ["-1", "1.5", "many", "true"])
def test_a_seed_that_is_none_is_refused(dat, imported, seed) -> None:
    ran = dat("plan", *request("dat", f"seed={seed}"))
    assert ran.code == 2
    assert "is no seed" in ran.err


def test_a_method_asked_for_tells_what_its_densities_are_made_from(dat) -> None:
    reads = {row["name"]: row["reads"] for row in json.loads(dat("ls", "methods", "--json").out)}
    assert reads["dat"] == "class prompts, group prompts, reference images with labels and attributes"
    assert reads["dat_star"] == "class prompts, group prompts, attribute prompts, reference images with labels"


def test_prompts_that_lack_attributes_leave_dat_star_out_and_dat_in(dat, embeddings_folder) -> None:
    path = embeddings_folder / "prompts.toml"
    path.write_text("\n".join(line for line in path.read_text().splitlines() if not line.startswith("attribute =")))
    words = ("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    assert dat(*words).code == 0
    ran = dat("plan", *request("dat_star"))
    assert ran.code == 2
    assert "dat_star needs prompts of the role attribute" in ran.err
    assert dat("plan", *request("dat")).code == 0


def test_a_method_with_attribute_prompts_of_its_own_has_references_of_its_own(dat, embeddings_folder) -> None:
    path = embeddings_folder / "prompts.toml"
    own = '["a photo of a landbird in land", "a photo of a waterbird in water"]'
    path.write_text(f"{path.read_text()}\n[prompts.dat_star]\nattribute = {own}\n")
    words = ("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "my-clip")
    assert dat(*words).code == 0
    assert dat("run", *request("dat_star")).code == 0
    for cell in (
        "attributes/birds/my-clip/words=dat_star",
        "references/birds/my-clip/groups=inferred, n=64, words=dat_star",
        "densities/birds/my-clip/groups=inferred, k=3, n=8, words=dat_star",
    ):
        assert "now: up to date" in dat("why", cell).out, cell
