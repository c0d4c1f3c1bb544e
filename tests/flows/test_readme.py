"""Every command, spec and snippet that people read, as it stands: each runs here, or it is said where it does."""

import re
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dat_lib.methods.support.contract import Method, Problem, run_method
from dat_lib.toyworld.simulation import SimulatedWorld, simulate
from tests.conftest import write_world
from tests.flows.newcomer import PROJECT, Newcomer, anchors, blocks, commands, languages, pages, toml

pytestmark = pytest.mark.xdist_group("demo")

# What stands for something of the user's own, or needs a folder that a newcomer is not in.
_MIXTURE = "dat run --dataset birds --backbone my-clip --method prompt_mixture --set weight=0.3"
MEANT = {
    "dat import embeddings FOLDER --dataset birds --backbone my-clip": (
        "dat import embeddings export --dataset birds --backbone my-clip"
    ),
    "dat explain DATASET BACKBONE SAMPLE": "dat explain toybirds toyclip test-00575",
    "dat prompts wordnet TERM": "dat prompts wordnet --help",  # tests/flows/test_wordnet.py has a WordNet
    "dat plan": "dat plan demo",
    "dat run": "dat run demo",
    "dat plan --check": "dat plan demo --check",
    "dat run SUITE --force": "dat run --dataset birds --backbone my-clip --method zero_shot --force",
    _MIXTURE: f"PYTHONPATH=package {_MIXTURE}",
    "python -m tests.benchmarks --list": f"cd {PROJECT} && python -m tests.benchmarks --list",
}
# Commands that need another machine, or a test of their own.
ELSEWHERE = {
    "make demo": "its commands are run below",
    "make test": "these tests",
    "make test-all": "these tests and longer ones",
    "make lint": "reads, and runs nothing",
    "make bench": "takes long, and tests measure nothing",
    "make soak": "takes long; tests/faults and tests/hostile have its short form",
    "MINUTES=5 make soak": "the same for less long",
    "make install": "has made the environment of these tests",
    "pre-commit install": "tests/test_checks.py reads the hooks",
    "source .venv/bin/activate": "a newcomer's path begins with that environment",
    "pip install -c constraints.txt '.[dask]'": "the environment of these tests holds it",
    "python -m pytest tests/dat_lib/test_metrics.py": "one file of these tests",
    "python -m tests.benchmarks NAME": "takes long, and tests measure nothing",
    "python -m tests.benchmarks scale": "takes long, and tests measure nothing",
    "python -m tests.faults --runs 1000 runs-in-one-process runs-in-a-row": "takes half an hour",
    "dat run paper": "needs the paper's datasets and models; tests/tasks/test_suites.py plans it",
    "dat report demo --serve": "below, for it goes on for ever",
}
# Prefect's own commands are run by tests/flows/test_deployments.py, on a server.
_PREFECT = re.compile(r"(DAT_HOME=\S+ )?prefect ")
# Snippets of Python that need a server, and the test that has one.
SNIPPETS_ELSEWHERE = {"from flows.benchmark import": "tests/flows/test_prefect.py"}
# What each TOML block is a file of.
SPECS = {
    "prompts/birds": "classes = ",
    "backbones/my-clip": "# specs/backbones/my-clip.toml",
    "datasets/birds": "# specs/datasets/birds.toml",
    "suites/mine": "# specs/suites/mine.toml",
    "methods/dat": "# specs/methods/dat.toml",
}
_PACKAGE = "# pyproject.toml"
# Another processor rounds otherwise: two of the 300 images of a group may fall on the other side.
ROUNDING = 0.7


def typed() -> list[str]:
    """Return what is typed here, once each: several commands may mean the same."""
    here = [command for command in commands() if command not in ELSEWHERE and not _PREFECT.match(command)]
    return list(dict.fromkeys(MEANT.get(command, command) for command in here))


@pytest.fixture(scope="module")
def newcomer(demo: Newcomer) -> Newcomer:
    """Somebody who has run the demo, and has embeddings to import and a package with a method."""
    export = demo.folder / "export"
    export.mkdir()
    write_world(export, simulate(seed=3, dim=16, train=400, val=40, test=120))
    (export / "prompts.toml").write_text(toml("classes = "))
    package = demo.folder / "package"
    installed = package / "prompt_mixture-1.0.dist-info"
    installed.mkdir(parents=True)
    (package / "prompt_mixture.py").write_text(method_file())
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: prompt-mixture\nVersion: 1.0\n")
    points = tomllib.loads(toml(_PACKAGE))["project"]["entry-points"]["dat_bench.methods"]
    lines = [f"{name} = {place}" for name, place in points.items()]
    (installed / "entry_points.txt").write_text("\n".join(["[dat_bench.methods]", *lines, ""]))
    return demo


def method_file() -> str:
    return next(block for block in blocks("python", "dat_lib/README.md") if "METHODS = " in block)


def test_what_is_run_elsewhere_or_means_something_else_is_in_the_readmes() -> None:
    assert set(ELSEWHERE) | set(MEANT) <= set(commands())
    assert len(typed()) >= 30


def test_every_block_is_of_a_kind_that_is_tried() -> None:
    assert languages() == {"", "python", "sql", "toml"}
    known = (*SPECS.values(), _PACKAGE)
    assert [block for block in blocks("toml") if not block.startswith(known)] == []
    assert len(blocks("toml")) == len(known)
    for begin, place in SNIPPETS_ELSEWHERE.items():
        assert any(block.startswith(begin) for block in blocks("python"))
        assert (PROJECT / place).exists()


def test_the_pages_are_short() -> None:
    sizes = {path: len(text.encode()) for path, text in pages().items()}
    assert sizes.pop("README.md") <= 10 * 1024
    assert {"flows", "tasks", "dat_lib", "data_catalog", "tests"} <= {path.partition("/")[0] for path in sizes}
    assert {path: size for path, size in sizes.items() if size > 9 * 1024} == {}


@pytest.mark.parametrize("page", pages())
def test_every_link_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", pages()[page]):
        if target.startswith("https://"):
            continue
        path, _, heading = target.partition("#")
        found = (PROJECT / page).parent / path if path else PROJECT / page
        assert found.exists(), target
        assert not heading or heading in anchors(found.read_text(encoding="utf-8")), target


@pytest.mark.slow
@pytest.mark.parametrize("command", typed())
def test_a_command_works_as_it_stands(newcomer: Newcomer, command: str) -> None:
    ran = newcomer.types(command, DAT_RUNNER="inline", DAT_REPORT="false")
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    assert ran.stdout.strip() or command == "dat sql --shell"
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
def test_the_report_is_served_until_ctrl_c(newcomer: Newcomer) -> None:
    said = newcomer.interrupts("dat report demo --serve", after="http://127.0.0.1:")
    assert "Traceback" not in said


@pytest.mark.slow
def test_an_explanation_reads_as_it_is_shown(newcomer: Newcomer) -> None:
    shown = next(block for block in blocks("") if block.startswith("$ dat explain"))
    head = shown.split("…")[0].splitlines()[1:]
    said = newcomer.types("dat explain toybirds toyclip test-00575").stdout.splitlines()
    # Another processor rounds otherwise in the last digits.
    number = re.compile(r"[\d.]+(?:e-\d+)?$")
    for line, expected in zip(said, head, strict=False):
        assert len(line.split()) == len(expected.split())
        for word, printed in zip(line.split(), expected.split(), strict=True):
            if number.match(printed):
                assert float(word) == pytest.approx(float(printed), rel=2e-3)
            else:
                assert word == printed


@pytest.mark.slow
def test_make_demo_is_the_run_and_a_question_with_the_answer_that_is_shown(newcomer: Newcomer) -> None:
    recipe = subprocess.run(["make", "-n", "demo"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    asked = re.findall(r"^\S+/(dat (?:run|sql) .*?)(?=^\S|\Z)", recipe, re.MULTILINE | re.DOTALL)
    assert [command.split()[1] for command in asked] == ["run", "sql"]
    for command in asked:
        ran = newcomer.types(command)
        assert ran.returncode == 0, ran.stderr
    (shown,) = (block for block in blocks("", "README.md") if "group_name" in block)
    expected = by_group(shown)
    assert len(expected) == 4
    assert by_group(ran.stdout) == {name: pytest.approx(numbers, abs=ROUNDING) for name, numbers in expected.items()}


def by_group(text: str) -> dict[str, list[float]]:
    rows = re.findall(r"^(\w+, \w+) +([\d.]+) +([\d.]+) +(\d+)$", text, re.MULTILINE)
    return {name: [float(number) for number in numbers] for name, *numbers in rows}


@pytest.mark.slow
def test_the_specs_of_the_readmes_make_a_dataset_two_backbones_and_a_suite(tmp_path: Path) -> None:
    """The TOML blocks as files, with the user's own paths in place of the example's."""
    me = Newcomer(tmp_path)
    pictures = tmp_path / "birds"
    pictures.mkdir()
    chance = np.random.default_rng(0)
    lines = ["file,label,attribute,split"]
    for number in range(24):
        Image.fromarray(chance.integers(0, 255, (48, 48, 3), dtype=np.uint8)).save(pictures / f"{number}.png")
        lines.append(f"{number}.png,{number % 2},{number // 2 % 2},{'test' if number < 8 else 'train'}")
    (pictures / "samples.csv").write_text("\n".join(lines) + "\n")
    own = {"/models/my-clip": str(PROJECT / "data_catalog/toyclip"), "/data/birds": str(pictures)}
    files = {name: toml(begin) for name, begin in SPECS.items()}
    files["backbones/other-clip"] = files["backbones/my-clip"]
    for name, text in files.items():
        assert tomllib.loads(text)
        for theirs, ours in own.items():
            text = text.replace(theirs, ours)
        path = tmp_path / "specs" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in ("dat validate", "dat plan mine", "dat run mine --runner inline --no-report"):
        ran = me.types(command)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    counted = me.types("dat sql 'SELECT count(*) AS n FROM results' --format csv").stdout.split()
    assert counted == ["n", "4"]


def snippets(page: str) -> list[str]:
    return [block for block in blocks("python", page) if not block.startswith(tuple(SNIPPETS_ELSEWHERE))]


@pytest.mark.parametrize("page", [page for page in pages() if snippets(page)])
def test_snippets_of_python_run(page: str) -> None:
    """One after the other, as in a notebook, with the arrays that they speak of."""
    world = simulate(seed=0)
    train, test = world.part("train"), world.part("test")
    names = {
        "__name__": "snippet",
        "embeddings": world.embeddings[train],
        "labels": world.labels[train],
        "attributes": world.attributes[train],
        "W_y": world.text["class"],
        "W_ya": world.text["group"],
        "queries": world.embeddings[test],
        "true_labels": world.labels[test],
        "true_attributes": world.attributes[test],
    }
    for block in snippets(page):
        exec(block, names)
    assert names["m"].worst_group > 0


def test_the_method_that_is_shown_keeps_the_contract_and_its_setting_matters() -> None:
    names: dict = {"__name__": "snippet"}
    exec(method_file(), names)
    (made,) = names["METHODS"]
    assert isinstance(made(), Method)
    scores = [run_method(made(weight=weight), problem_of(simulate(seed=0))).scores for weight in (0.0, 1.0)]
    assert not np.allclose(*scores)


def problem_of(world: SimulatedWorld) -> Problem:
    test = world.part("test")
    n_classes, n_attributes = world.text["group"].shape[:2]
    return Problem(world.embeddings[test], world.text, n_classes, n_attributes, world.sample_ids[test])
