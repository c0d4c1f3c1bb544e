"""Small and odd datasets: each method gives a number that is what its name says, or says why it cannot."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from data_catalog.home import Home
from data_catalog.index.reader import query
from tests.conftest import Ran, write_images, write_texts
from tests.data_catalog.worlds import contents

WITH_REFERENCES = {"dat", "dat_auto", "dat_star", "density_only", "knn_vote", "nearest_class_mean"}
WITHOUT_TEXT = {"dat_auto", "density_only", "knn_vote", "nearest_class_mean"}
OF_TRAINING = {
    "group_prompt_centred",
    "group_prompt_whitened",
    "tie",
    "tie_star",
    "zero_shot_centred",
    "zero_shot_whitened",
}
WHITENED = {"group_prompt_whitened", "zero_shot_whitened"}
PROJECTED = {"orth_cali", "orth_proj"}

Keep = Callable[[str, int, int, int], bool]


def everything(split: str, label: int, attribute: int, number: int) -> bool:
    return True


def write_folder(
    folder: Path,
    *,
    classes: int = 2,
    attributes: int = 2,
    train: int = 5,
    val: int = 0,
    test: int = 5,
    dim: int = 8,
    keep: Keep = everything,
    top: str = "",
) -> Path:
    """Write an embeddings folder with so many samples of each group and split, of those that are kept."""
    rng = np.random.default_rng(0)
    of_class, of_attribute = rng.normal(size=(classes, dim)), rng.normal(size=(attributes, dim))
    samples = [
        (split, label, attribute, number)
        for split, count in (("train", train), ("val", val), ("test", test))
        for label, attribute, number in np.ndindex(classes, attributes, count)
        if keep(split, label, attribute, number)
    ]
    folder.mkdir()
    write_images(
        folder,
        sample_id=["-".join(map(str, sample)) for sample in samples],
        split=[sample[0] for sample in samples],
        label=[sample[1] for sample in samples],
        attribute=[sample[2] for sample in samples],
        embedding=[of_class[y] + of_attribute[a] + rng.normal(size=dim) / 2 for _, y, a, _ in samples],
    )
    prompts = {f"a photo of a c{y}": of_class[y] for y in range(classes)}
    prompts |= {f"a photo with a{a}": of_attribute[a] for a in range(attributes)}
    prompts |= {f"a c{y} in a{a}": of_class[y] + of_attribute[a] for y in range(classes) for a in range(attributes)}
    write_texts(folder, list(prompts), list(prompts.values()))
    (folder / "prompts.toml").write_text(
        f"{top}\n"
        f"classes = {[f'c{y}' for y in range(classes)]}\n"
        f"attributes = {[f'a{a}' for a in range(attributes)]}\n"
        "[prompts]\n"
        "class = 'a photo of a {class}'\nattribute = 'a photo with {attribute}'\ngroup = 'a {class} in {attribute}'\n"
    )
    return folder


@pytest.fixture
def run_all(dat: Callable[..., Ran], tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Import a folder, run all methods on it, and return {method: reason} of those that are not applicable."""

    def run(**folder: object) -> dict[str, str]:
        write_folder(tmp_path / "export", **folder)  # type: ignore[arg-type]
        imported = dat("import", "embeddings", "export", "--dataset", "odd", "--backbone", "b")
        assert imported.code == 0, imported.err
        ran = dat("run", "--dataset", "odd", "--backbone", "b", "--json")
        assert ran.code == 0, ran.err
        told = json.loads(ran.out)
        assert told["failed"] == []
        assert set(told["outcomes"]) <= {"computed", "up to date", "not applicable"}
        return {entry["method"]: entry["reason"] for entry in told["not_applicable"]}

    return run


def methods(dat: Callable[..., Ran]) -> set[str]:
    """All methods that the prompts of these folders serve."""
    return {entry["name"] for entry in json.loads(dat("ls", "methods", "--json").out)} - {"roboshot"}


ODD = {
    "no group reaches n": ({}, WITH_REFERENCES, "no group has the 56 references that it takes: the largest has 5"),
    "a group is not tested": (
        {"keep": lambda split, y, a, i: split == "train" or (y, a) != (1, 1)},
        WITH_REFERENCES,
        "no group has the 56 references that it takes: the largest has 5",
    ),
    "references of one class": (
        {"train": 60, "keep": lambda split, y, a, i: split == "test" or y == 0},
        WITHOUT_TEXT,
        "class 0",
    ),
    "no class is both trained on and tested": (
        {"train": 60, "keep": lambda split, y, a, i: (split == "train") == (y == 0)},
        WITHOUT_TEXT,
        "class 0",
    ),
    "a single test sample": (
        {"train": 60, "keep": lambda split, y, a, i: split == "train" or (y, a, i) == (1, 0, 0)},
        set(),
        "",
    ),
    "groups by attribute alone": (
        {"train": 60, "top": 'groups = "attribute"'},
        set(),
        "",
    ),
    "one attribute": ({"train": 60, "attributes": 1}, {"orth_cali"}, "a single candidate prompt"),
    "two dimensions": ({"train": 60, "dim": 2}, PROJECTED, "span all 2 dimensions"),
    "a single training sample": (
        {"train": 1, "keep": lambda split, y, a, i: split == "test" or (y, a) == (0, 0)},
        WITH_REFERENCES | WHITENED,
        "no group has the 56 references that it takes: the largest has 1|the same, so they have no covariance",
    ),
    "no training split": (
        {"train": 0, "val": 60, "top": 'reference_split = "val"'},
        OF_TRAINING,
        "needs images of the split train, which has none",
    ),
}

# Triptychs compare a group with another that has references and test samples, too.
UNSERVED = {
    ("triptych", "references of one class"),
    ("triptych", "no class is both trained on and tested"),
    ("triptych", "a single test sample"),
}


@pytest.mark.parametrize("case", ODD)
def test_every_method_has_a_number_or_a_reason(case, run_all, dat, home: Home) -> None:
    folder, expected, reason = ODD[case]
    found = run_all(**folder)
    assert set(found) == expected
    assert all(any(part in text for part in reason.split("|")) for text in found.values()), found
    for view in ("results", "leaderboard", "group_accuracy", "predictions", "efficiency"):
        named = {row[0] for row in query(home, f"SELECT DISTINCT method FROM {view}").rows}
        assert named == methods(dat) - expected, view
    assert {row[0] for row in query(home, "SELECT DISTINCT method FROM comparisons").rows}.isdisjoint(expected)
    assert {row[0] for row in query(home, "SELECT DISTINCT method FROM not_applicable").rows} == expected
    assert query(home, "SELECT count(*) FROM results WHERE NOT (wg BETWEEN 0 AND 100)").rows == [(0,)]


def test_what_was_not_applicable_is_up_to_date_and_still_told(run_all, dat, home: Home) -> None:
    run_all()
    before = contents(home)
    again = dat("run", "--dataset", "odd", "--backbone", "b")
    assert (again.code, contents(home)) == (0, before)
    assert "not applicable: dat, dat_auto, dat_star, density_only" in again.out
    assert "no group has the 56 references that it takes: the largest has 5" in again.out
    assert " failed" not in again.out
    assert " computed" not in again.out
    told = json.loads(dat("run", "--dataset", "odd", "--backbone", "b", "--json").out)
    assert {entry["method"] for entry in told["not_applicable"]} == WITH_REFERENCES
    assert dat("plan", "--dataset", "odd", "--backbone", "b", "--check").code == 0
    forced = dat("run", "--dataset", "odd", "--backbone", "b", "--method", "dat", "--force", "--json")
    assert json.loads(forced.out)["outcomes"].keys() == {"reproduced"}


def test_a_smaller_n_makes_it_applicable_and_the_other_reason_is_kept_apart(run_all, dat, home: Home) -> None:
    run_all()
    ran = dat("run", "--dataset", "odd", "--backbone", "b", "--method", "dat", "--set", "n=4", "--set", "k=2")
    assert ran.code == 0
    assert query(home, "SELECT variant FROM results WHERE method = 'dat'").rows == [("k=2, n=4",)]
    ran = dat("run", "--dataset", "odd", "--backbone", "b", "--method", "dat", "--set", "n=40")
    assert ran.code == 0
    reasons = query(home, "SELECT variant, reason FROM not_applicable WHERE method = 'dat' ORDER BY variant").rows
    assert [variant for variant, _ in reasons] == ["", "n=40"]
    assert ["56 references" in reasons[0][1], "40 references" in reasons[1][1]] == [True, True]


def test_a_new_folder_that_serves_it_makes_it_applicable(run_all, dat, tmp_path: Path, home: Home) -> None:
    run_all()
    (tmp_path / "export").rename(tmp_path / "small")
    write_folder(tmp_path / "export", train=60)
    assert dat("import", "embeddings", "export", "--dataset", "odd", "--backbone", "b").code == 0
    assert dat("run", "--dataset", "odd", "--backbone", "b").code == 0
    assert query(home, "SELECT count(*) FROM not_applicable").rows == [(0,)]
    assert {row[0] for row in query(home, "SELECT method FROM leaderboard").rows} >= WITH_REFERENCES


def test_the_record_counts_it_apart_and_why_and_explain_say_so(run_all, dat, home: Home) -> None:
    run_all()
    told = query(home, "SELECT computed > 0, failed, not_applicable > 5 FROM runs ORDER BY run_id DESC LIMIT 1").rows
    assert told == [(True, 0, True)]
    errors = query(home, "SELECT DISTINCT error FROM decisions WHERE outcome = 'not applicable'").rows
    assert errors == [("no group has the 56 references that it takes: the largest has 5",)]
    explained = dat("explain", "odd", "b", "test-0-0-0")
    assert explained.code == 2
    assert "dat is not applicable to odd × b: no group has the 56 references" in explained.err


def test_the_report_lists_it_with_its_reason_and_among_no_gaps(run_all, dat, home: Home) -> None:
    run_all()
    reported = dat("report", "--dataset", "odd", "--backbone", "b")
    assert reported.code == 0, reported.err
    page = Path(reported.out.strip()).read_text()
    assert "Methods that a dataset cannot serve" in page
    assert "no group has the 56 references that it takes: the largest has 5" in page
    assert "results are not there yet" not in page


@pytest.mark.parametrize("case", ODD)
def test_diagnostics_that_the_data_cannot_serve_are_not_applicable(case, run_all, dat, home: Home) -> None:
    run_all(**ODD[case][0])
    suite = home.specs / "suites"
    suite.mkdir()
    (suite / "look.toml").write_text(
        'title = "look"\n[[diagnostics]]\ndatasets = ["odd"]\nbackbones = ["b"]\n'
        'kinds = ["prompt_distances", "triptych", "margins", "exemplars", "shell"]\n'
    )
    ran = dat("run", "look", "--json")
    assert ran.code == 0, ran.out
    for table in ("triptych", "margins", "exemplars"):
        told = query(home, f"SELECT count(*) > 0 FROM diagnostic_{table}").rows
        assert told == [("dat" not in ODD[case][1] and (table, case) not in UNSERVED,)], table
    assert query(home, "SELECT count(*) > 0 FROM diagnostic_shell_summary").rows == [(True,)]


def test_one_class_is_refused_at_import(dat, tmp_path: Path, home: Home) -> None:
    write_folder(tmp_path / "export", classes=1)
    refused = dat("import", "embeddings", "export", "--dataset", "odd", "--backbone", "b")
    assert refused.code == 2
    assert "with one class there is nothing to classify: give at least two" in refused.err
    assert not (home.specs / "datasets").exists()
