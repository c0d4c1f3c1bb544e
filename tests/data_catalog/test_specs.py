from pathlib import Path

import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.specs.collection import Specs
from data_catalog.specs.paths import expanded
from data_catalog.specs.prompts import PromptSet


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAT_SPECS", str(tmp_path))
    for kind in ("datasets", "backbones", "prompts", "methods", "suites"):
        (tmp_path / kind).mkdir()
    return tmp_path


def specs(folder: Path) -> Specs:
    return Specs.from_environment(Home(folder / "home"))


def test_a_users_folder_stands_beside_the_shipped_one(folder: Path) -> None:
    (folder / "suites/mine.toml").write_text(
        '[[grid]]\ndatasets = ["simbirds"]\nbackbones = ["simclip"]\nmethods = ["zero_shot"]\n'
    )
    assert {"mine", "demo"} <= set(specs(folder).names("suites"))
    assert specs(folder).suite("mine").grid[0].seeds == [0]


def test_specs_in_the_current_folder_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAT_SPECS", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs/backbones").mkdir(parents=True)
    (tmp_path / "specs/backbones/mine.toml").write_text('kind = "precomputed"\n')
    assert specs(tmp_path).backbone("mine").logit_scale == 100


def test_a_missing_spec_folder_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DAT_SPECS", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="is no folder"):
        specs(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('kind = "precomputed"\ndimension = "x"\n', "line 2, dimension: Input should be a valid integer"),
        ('kind = "precomputed"\n\ndimenson = 3\n', "line 3, dimenson: Extra inputs are not permitted"),
        ('title = "t"\nkind = "../other"\n', "line 2, kind: String should match pattern"),
        ('title = "t"\n', "kind: Field required"),
        ("kind = \n", "line 1"),
        ('kind = "precomputed"\nlogit_scale = -1.0\n', "line 2, logit_scale: Input should be greater than 0"),
    ],
)
def test_errors_name_file_line_and_field(folder: Path, text: str, expected: str) -> None:
    (folder / "backbones/mine.toml").write_text(text)
    with pytest.raises(UserError) as caught:
        specs(folder).backbone("mine")
    assert "mine.toml" in str(caught.value)
    assert expected in str(caught.value)


def test_the_line_is_that_of_the_right_table(folder: Path) -> None:
    grid = 'datasets = ["d"]\nbackbones = ["b"]\n'
    (folder / "suites/mine.toml").write_text(
        f'[[grid]]\n{grid}methods = ["m"]\n\n[[grid]]\n{grid}methods = ["m"]\nseeds = [0, -1]\n'
    )
    with pytest.raises(UserError, match=r"line 10, grid\.1\.seeds\.1"):
        specs(folder).suite("mine")


GRID = '[[grid]]\ndatasets = ["d"]\nbackbones = ["b"]\n'


def test_a_grid_that_names_no_methods_has_those_of_its_suite(folder: Path) -> None:
    diagnostics = '[[diagnostics]]\ndatasets = ["d"]\nbackbones = ["b"]\nkinds = ["shell"]\n'
    (folder / "suites/mine.toml").write_text(
        f'methods = ["tie", "orth_proj"]\n{GRID}{GRID}methods = ["zero_shot"]\n{diagnostics}'
    )
    suite = specs(folder).suite("mine")
    assert [grid.methods for grid in suite.grid] == [["tie", "orth_proj"], ["zero_shot"]]
    assert suite.diagnostics[0].methods == ["dat"], "the list is of grids"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GRID, "line 1, grid.0.methods: Field required"),
        (f"methods = []\n{GRID}", "line 1, methods: List should have at least 1 item"),
        (f'methods = ["tie", "a b"]\n{GRID}', "line 1, methods.1: String should match pattern"),
        (f'methods = ["tie"]\n{GRID}methods = []\n', "line 5, grid.0.methods: List should have at least 1 item"),
        (f'methods = ["tie"]\n{GRID}methods = ["dat"]\n', "no [[grid]] uses the methods at the top"),
        ('methods = ["tie"]\n[[theory]]\nchecks = ["fidelity"]\n', "no [[grid]] uses the methods at the top"),
        ('methods = ["tie"]\ngrid = "all"\n', "line 2, grid: Input should be a valid list"),
        ('methods = ["tie"]\ngrid = ["all"]\n', "line 2, grid.0: Input should be"),
    ],
)
def test_methods_of_a_suite_that_cannot_be_are_one_error_at_their_line(folder: Path, text: str, expected: str) -> None:
    (folder / "suites/mine.toml").write_text(text)
    with pytest.raises(UserError) as caught:
        specs(folder).suite("mine")
    assert expected in caught.value.problem
    assert len(caught.value.problem.splitlines()) == 1


def test_names_get_did_you_mean() -> None:
    shipped = Specs((Path(__file__).parents[2] / "data_catalog/specs",))
    with pytest.raises(UserError, match="did you mean simbirds"):
        shipped.dataset("simbird")


def test_one_name_in_two_folders_is_an_error_that_names_both(folder: Path) -> None:
    (folder / "suites/demo.toml").write_text("")
    with pytest.raises(UserError, match=r"suite demo is defined twice") as caught:
        specs(folder).suite("demo")
    assert str(caught.value).count("demo.toml") == 2


def test_a_broken_file_stands_in_nobody_elses_way(folder: Path) -> None:
    (folder / "suites/broken.toml").write_text("[[")
    assert specs(folder).suite("demo").grid


def test_settings_of_a_user_add_to_the_shipped_ones_and_win(folder: Path) -> None:
    shipped = specs(folder).settings("dat", "waterbirds")
    (folder / "methods/dat.toml").write_text("[datasets.waterbirds]\nk = 7\n[datasets.mine]\nn = 9\n")
    assert specs(folder).settings("dat", "waterbirds") == {**shipped, "k": 7}
    assert specs(folder).settings("dat", "mine") == {"n": 9}


def prompts(**changes: object) -> PromptSet:
    base = {"classes": ["ant", "bee"], "attributes": ["hive"], "prompts": {"class": "a {class}"}}
    return PromptSet.model_validate({**base, **changes})


def test_templates_are_written_out_over_words_with_their_article() -> None:
    text = prompts(
        prompts={"class": "see {a class}", "attribute": "in a {attribute}", "group": "{a class} in {a attribute}"}
    ).text_for()
    assert text == {
        "class": ["see an ant", "see a bee"],
        "attribute": ["in a hive"],
        "group": [["an ant in a hive"], ["a bee in a hive"]],
    }


def test_a_method_sees_its_own_text_before_the_common_one() -> None:
    own = {"class": ["1", "2"], "reject": [["x", "y"]], "source": "here", "ours": True}
    found = prompts(prompts={"class": "a {class}", "roboshot": own})
    assert found.text_for("roboshot") == {"class": ["1", "2"], "reject": [["x", "y"]]}
    assert found.text_for("zero_shot") == {"class": ["a ant", "a bee"]}
    assert found.all_prompts() == ["a ant", "a bee", "1", "2", "x", "y"]


def test_variants_count_as_one_prompt_of_the_shape_and_as_several_to_embed() -> None:
    found = prompts(prompts={"class": [{"variants": ["ant", "emmet"]}, "bee"]})
    assert found.text_for()["class"] == [{"variants": ["ant", "emmet"]}, "bee"]
    assert found.all_prompts() == ["ant", "emmet", "bee"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompts": {}}, "prompts.class is missing"),
        ({"prompts": {"class": ["only one"]}}, "prompts.class has 1 prompts, expected 2"),
        ({"prompts": {"class": "a {class}", "group": [["a", "b"], ["c", "d"]]}}, "2 x 2 prompts, expected 2 x 1"),
        ({"prompts": {"class": ["a", ""]}}, "empty prompt"),
        ({"prompts": {"class": "no placeholder"}}, "must be a template"),
        ({"prompts": {"class": "a {class}", "m": {"x": [["a"], ["b", "c"]]}}}, "must all have the same length"),
        ({"prompts": {"class": "a {class}", "m": {"x": 3}}}, r"prompts.m.x: expected a text"),
        ({"prompts": {"class": ["a", {"variants": []}]}}, "expected a text"),
        ({"classes": ["ant", "ant"]}, "each only once"),
    ],
)
def test_prompts_that_do_not_fit_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prompts(**changes)


def test_a_tilde_is_the_users_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir("/")
    (tmp_path / "mine").mkdir()
    assert expanded("~/birds") == tmp_path / "birds"
    assert expanded("~/birds", Path("/specs")) == tmp_path / "birds"
    assert expanded("~") == tmp_path
    for name in ("DAT_HOME", "DAT_SPECS", "DAT_DATA"):
        monkeypatch.setenv(name, "~/mine")
    home = Home.from_environment()
    specs = Specs.from_environment(home)
    assert home.root == specs.data == specs.folders[1] == tmp_path / "mine"


def test_other_paths_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert expanded("birds") == tmp_path / "birds"
    assert expanded("birds", Path("/specs")) == Path("/specs/birds")
    assert expanded("birds", Path("specs")) == tmp_path / "specs/birds"
    assert expanded("/data/~", Path("/specs")) == Path("/data/~")
    assert expanded("~no-such-user/birds", Path("/specs")) == Path("/specs/~no-such-user/birds")


@pytest.mark.parametrize(
    ("dataset", "n", "k", "strength", "strength_of_star"),
    [
        ("waterbirds", 56, 10, 10, 1),
        ("celeba", 128, 10, 1, 1),
        ("covid", 40, 10, 10, 10),
        ("fmow", 50, 30, 10, 10),
    ],
)
def test_the_settings_of_dat_on_each_dataset_are_the_papers(
    folder: Path, dataset: str, n: int, k: int, strength: float, strength_of_star: float
) -> None:
    shipped = specs(folder)
    assert shipped.settings("dat", dataset) == {"n": n, "k": k, "strength": strength}
    assert shipped.settings("dat_star", dataset) == {"n": n, "k": k, "strength": strength_of_star}
    for control in ("density_only", "knn_vote", "nearest_class_mean"):
        assert shipped.settings(control, dataset) == {"n": n, "k": k}, "a control has the references of DAT"
    assert shipped.settings("dat_auto", dataset)["n"] == n


def test_references_are_of_the_training_split_and_groups_are_pairs_where_the_paper_says_nothing_else(
    folder: Path,
) -> None:
    shipped = {name: specs(folder).dataset(name) for name in ("waterbirds", "celeba", "covid", "fmow")}
    splits = {name: spec.reference_split for name, spec in shipped.items()}
    assert splits == {"waterbirds": "train", "celeba": "val", "covid": "train", "fmow": "train"}
    assert {name for name, spec in shipped.items() if spec.groups == "attribute"} == {"fmow"}
