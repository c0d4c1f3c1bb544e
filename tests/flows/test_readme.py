"""Every command of the README, typed as it stands: each runs here, or it is said where it does."""

import re
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dat_lib.toyworld.simulation import simulate
from tests.conftest import write_world
from tests.flows.newcomer import PROJECT, Newcomer, blocks, commands, toml

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

# What stands for something of the user's own.
MEANT = {
    "dat import embeddings FOLDER --dataset birds --backbone my-clip": (
        "dat import embeddings export --dataset birds --backbone my-clip"
    ),
    "dat explain DATASET BACKBONE SAMPLE": "dat explain toybirds toyclip test-00575",
    "dat prompts wordnet TERM": "dat prompts wordnet --help",  # tests/flows/test_wordnet.py has a WordNet
    "dat plan": "dat plan demo",
    "dat run": "dat run demo",
    "dat plan --check": "dat plan demo --check",
}
# Commands that need another machine, or a test of their own.
ELSEWHERE = {
    "make demo": "its commands are run below",
    "make test": "these tests",
    "make test-all": "these tests",
    "make lint": "reads, and runs nothing",
    "make bench": "takes long, and tests measure nothing",
    "make soak": "takes long; tests/faults and tests/hostile have its short form",
    "make install": "has made the environment of these tests",
    "dat run paper": "needs the paper's datasets and models; tests/tasks/test_suites.py plans it",
    "dat report demo --serve": "below, for it goes on for ever",
}
# Prefect's own commands are run by tests/flows/test_deployments.py, on a server.
_PREFECT = re.compile(r"(DAT_HOME=\S+ )?prefect ")


def typed() -> list[str]:
    return [c for c in commands() if c not in ELSEWHERE and not _PREFECT.match(c)]


@pytest.fixture(scope="module")
def newcomer(demo: Newcomer) -> Newcomer:
    """Somebody who has run the demo, and has embeddings to import."""
    export = demo.folder / "export"
    export.mkdir()
    write_world(export, simulate(seed=3, dim=16, train=400, val=40, test=120))
    (export / "prompts.toml").write_text(toml("classes = "))
    return demo


def test_what_is_run_elsewhere_or_means_something_else_is_in_the_readme() -> None:
    assert set(ELSEWHERE) | set(MEANT) <= set(commands())
    assert len(typed()) >= 20


@pytest.mark.parametrize("command", typed())
def test_a_command_works_as_it_stands(newcomer: Newcomer, command: str) -> None:
    ran = newcomer.types(MEANT.get(command, command), DAT_RUNNER="inline", DAT_REPORT="false")
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    assert ran.stdout.strip() or command == "dat sql --shell"
    assert "Traceback" not in ran.stderr


def test_the_report_is_served_until_ctrl_c(newcomer: Newcomer) -> None:
    said = newcomer.interrupts("dat report demo --serve", after="http://127.0.0.1:")
    assert "Traceback" not in said


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


def test_make_demo_is_the_run_and_a_question(newcomer: Newcomer) -> None:
    recipe = subprocess.run(["make", "-n", "demo"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    asked = re.findall(r"^\S+/(dat (?:run|sql) .*?)(?=^\S|\Z)", recipe, re.MULTILINE | re.DOTALL)
    assert [command.split()[1] for command in asked] == ["run", "sql"]
    for command in asked:
        ran = newcomer.types(command)
        assert ran.returncode == 0, ran.stderr
    assert "waterbird, land" in ran.stdout


def test_the_specs_of_the_readme_make_a_dataset_two_backbones_and_a_suite(tmp_path: Path) -> None:
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
    backbone = toml("# specs/backbones/my-clip.toml").replace("/models/my-clip", str(PROJECT / "data_catalog/toyclip"))
    files = {
        "backbones/my-clip": backbone,
        "backbones/other-clip": backbone,
        "datasets/birds": toml("# specs/datasets/birds.toml").replace("/data/birds", str(pictures)),
        "prompts/birds": toml("classes = "),
        "suites/mine": toml("# specs/suites/mine.toml"),
    }
    for name, text in files.items():
        assert tomllib.loads(text)
        path = tmp_path / "specs" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for command in ("dat validate", "dat plan mine", "dat run mine --runner inline --no-report"):
        ran = me.types(command)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
    counted = me.types("dat sql 'SELECT count(*) AS n FROM results' --format csv").stdout.split()
    assert counted == ["n", "4"]


def test_the_classifier_to_fix() -> None:
    world = simulate(seed=0)
    train, test = world.part("train"), world.part("test")
    names = {
        "embeddings": world.embeddings[train],
        "labels": world.labels[train],
        "attributes": world.attributes[train],
        "W_y": world.text["class"],
        "W_ya": world.text["group"],
        "queries": world.embeddings[test],
        "true_labels": world.labels[test],
        "true_attributes": world.attributes[test],
    }
    (block,) = blocks("python")
    exec(block, names)
    assert names["m"].worst_group > 0
