"""A name in a suite that does not exist is told with the file and the line that says it."""

from pathlib import Path

import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.specs.collection import Specs
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph

SOUND = """title = "mine"

[[grid]]
datasets = ["simbirds"]
backbones = ["simclip"]
methods = ["zero_shot"]
"""
PAIR = 'datasets = ["simbirds"]\nbackbones = ["simclip"]\n'


@pytest.fixture
def suite(home: Home) -> Path:
    path = home.specs / "suites" / "mine.toml"
    path.parent.mkdir(parents=True)
    return path


def refusal(home: Home, **selection) -> UserError:
    specs = Specs.from_environment(home)
    with pytest.raises(UserError) as caught:
        Graph(specs, look=False).cells(select(Selection(suite="mine", **selection), specs)[0])
    return caught.value


MANY = '[[grid]]\ndatasets = [\n    "simbirds",\n    "simbird",\n]\nbackbones = ["simclip"]\nmethods = ["dat"]\n'
OTHER_QUOTES = "[[grid]]\ndatasets = ['simbirds']\nbackbones = ['simclip', 'simclp']\nmethods = ['dat']\n"
DAT = f'[[grid]]\n{PAIR}methods = ["dat"]\n'
DIAGNOSTICS = f"[[diagnostics]]\n{PAIR}"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (MANY, "line 11, grid.1.datasets: there is no dataset simbird\n  did you mean simbirds? `dat ls datasets`"),
        (OTHER_QUOTES, "line 10, grid.1.backbones: there is no backbone simclp\n  did you mean simclip? `dat ls back"),
        (
            f'[[grid]]\n{PAIR}methods = ["dat", "zeroshot"]\n',
            "line 11, grid.1.methods: there is no method zeroshot\n  did you mean zero_shot? `dat ls methods`",
        ),
        (
            f'{DAT}prompts = [\n    "fmow-ti",\n]\n',
            "line 13, grid.1.prompts: there is no prompt fmow-ti\n  did you mean",
        ),
        (f'{DAT}set = {{ prompts = "none" }}\n', "line 12, grid.1.set.prompts: there is no prompt none"),
        (
            f"{DAT}set = {{ k = [3, 4], strenght = 2.0 }}\n",
            'line 12, grid.1.set.strenght: dat has no setting "strenght"; did you mean "strength"?',
        ),
        (f"{DAT}[grid.set]\nk = 3\nstrenght = 2.0\n", "line 14, grid.1.set.strenght: dat has no setting"),
        (f"{DAT}[grid.set]\nn = 9\nk = [3, 0]\n", "line 14, grid.1.set.k: dat: setting k = 0 must be at least 1"),
        (f'{DIAGNOSTICS}kinds = ["shell", "aura"]\n', "line 11, diagnostics.0.kinds: there is no diagnostic aura"),
        (f'{DIAGNOSTICS}methods = ["a"]\nkinds = ["shell"]\n', "line 11, diagnostics.0.methods: there is no method a"),
        (f'{DIAGNOSTICS}prompts = ["a"]\nkinds = ["shell"]\n', "line 11, diagnostics.0.prompts: there is no prompt a"),
        (f'{DIAGNOSTICS}kinds = ["shell"]\nset = {{ bins = 3 }}\n', "line 12, diagnostics.0.set.bins: the diagnostic"),
        (f'{DIAGNOSTICS}kinds = ["margins"]\nset = {{ a = 3 }}\n', "line 12, diagnostics.0.set.a: dat has no setting"),
        ('[[theory]]\nchecks = ["gravity"]\n', "line 9, theory.0.checks: there is no check of the theory gravity"),
        ('[[theory]]\nchecks = ["fidelity"]\nset = { dim = 3 }\n', "line 10, theory.0.set.dim: the check fidelity has"),
    ],
)
def test_an_unknown_name_is_told_with_the_file_and_the_line(home, suite, table, expected) -> None:
    suite.write_text(f"{SOUND}\n{table}")
    assert str(refusal(home)).startswith(f"{suite}: {expected}")


def test_an_unknown_method_of_the_whole_suite_is_told_with_its_own_line(home, suite) -> None:
    grids = f"[[grid]]\n{PAIR}" + f'[[grid]]\n{PAIR}methods = ["dat"]\n'
    suite.write_text(f'methods = [\n    "zero_shot",\n    "ti",\n]\n{grids}')
    refused = refusal(home)
    assert (refused.where, refused.problem) == (str(suite), "line 3, methods: there is no method ti")


def test_a_setting_that_a_person_gives_beside_a_suite_is_not_the_suites_fault(home, suite) -> None:
    suite.write_text(f'[[grid]]\n{PAIR}methods = ["dat"]\nset = {{ k = 3 }}\n')
    refused = refusal(home, overrides={"strenght": 2.0})
    assert refused.where == "simbirds / dat"
    assert 'no setting "strenght"' in refused.problem
    assert "mine.toml" not in str(refusal(home, overrides={"prompts": "none"}))


def test_a_wrong_file_of_settings_is_not_the_suites_fault(home, suite) -> None:
    (home.specs / "methods").mkdir()
    (home.specs / "methods/dat.toml").write_text("[defaults]\nshine = 3\n")
    for settings in ("k = 3", "k = 60, n = 80"):
        suite.write_text(f'[[grid]]\n{PAIR}methods = ["dat"]\nset = {{ {settings} }}\n')
        assert refusal(home).where == "simbirds / dat"


def test_settings_that_only_fit_together_are_no_fault(home, suite) -> None:
    suite.write_text(f'[[grid]]\n{PAIR}methods = ["dat"]\nset = {{ density = "dao", lid = "mom", k = 60, n = 80 }}\n')
    specs = Specs.from_environment(home)
    assert len(select(Selection(suite="mine"), specs)[0]) == 1


def test_a_table_that_is_not_asked_for_stands_in_nobodys_way(home, suite) -> None:
    suite.write_text(f'{SOUND}\n[[grid]]\ndatasets = ["nowhere"]\nbackbones = ["simclip"]\nmethods = ["dat"]\n')
    specs = Specs.from_environment(home)
    assert len(select(Selection(suite="mine", methods=["zero_shot"]), specs)[0]) == 1
    assert "line 9, grid.1.datasets: there is no dataset nowhere" in str(refusal(home))


def test_commands_tell_the_line_and_change_nothing(dat, home, suite) -> None:
    suite.write_text(f'{SOUND}\n[[grid]]\ndatasets = ["simbirds"]\nbackbones = ["simclp"]\nmethods = ["dat"]\n')
    for words in (("plan", "mine"), ("run", "mine"), ("report", "mine"), ("validate", str(suite))):
        ran = dat(*words)
        assert ran.code == 2
        assert f"{suite}: line 10, grid.1.backbones: there is no backbone simclp\n" in ran.err
        assert "did you mean simclip?" in ran.err
    assert not list(home.root.glob("manifests/**/*.json"))
