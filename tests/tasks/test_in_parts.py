"""Inputs larger than the memory: taken in parts they give the same contents, and an interruption costs one part."""

import numpy as np
import pytest

from dat_lib.density.reference_density import ReferenceDensity
from data_catalog.home import Home
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from data_catalog.store.stored_table import StoredTable
from tasks.engine import computation as bridge
from tasks.graph.experiments import Experiment
from tasks.tables import blocks
from tests.tasks.density_world import WORLD, computed, experiment, run, stored

PLAIN = ("zero_shot", "group_prompt", "perception_clip", "tie")
OF_REFERENCES = ("dat", "dat_star", "density_only")
ALL = [
    *(Experiment("small", "simclip", name, {}, 0) for name in PLAIN),
    *(experiment(name, k=k) for name in OF_REFERENCES for k in (2, 4)),
]
BLOCK = 16
BLOCKS = -(-WORLD["test"] // BLOCK)


def contents(home: Home, step: str = "") -> dict[str, str]:
    """What each cell stands for, or each of one step."""
    found = query(home, "SELECT cell, content FROM artifacts WHERE current AND (step = $1 OR $1 = '')", [step])
    return dict(found.rows)


def files_of(home: Home, step: str) -> list[int]:
    """How many files the artifacts of a step have."""
    return [len(manifest.files) for manifest in Store(home).manifests(step)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which inputs were read whole; not to be changed."""
    home = Home(tmp_path_factory.mktemp("whole") / "home")
    run(home, ALL)
    return home


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Have every input that a step can take in parts given so; (step, column) of what was read whole of them."""
    read: set[tuple[str, str]] = set()

    class Noted(StoredTable):
        def column(self, name):
            read.add((self._manifest.step, name))
            return super().column(name)

    monkeypatch.setattr(bridge, "StoredTable", Noted)
    monkeypatch.setenv("DAT_INPUT_MEMORY", "0")
    return read


def test_an_input_that_is_taken_in_parts_gives_the_same_contents(home: Home, whole: Home, in_parts) -> None:
    run(home, ALL)
    assert contents(home) == contents(whole)
    assert in_parts == {(step, "sample_id") for step in ("image_embeddings", "densities")}, "vectors come in blocks"


def test_blocks_give_the_same_predictions_notes_and_densities(
    home: Home, whole: Home, in_parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", BLOCK)
    run(home, ALL)
    for one in ALL:
        (labels, margins, notes), expected = stored(home, one), stored(whole, one)
        np.testing.assert_array_equal(labels, expected[0])
        np.testing.assert_allclose(margins, expected[1], rtol=1e-5)
        assert notes == pytest.approx(expected[2])
    assert files_of(whole, "densities") == [1] * len(files_of(home, "densities"))
    assert set(files_of(home, "densities")) == {BLOCKS}
    assert contents(home, "densities") == contents(whole, "densities")
    assert query(home, "SELECT count(*) FROM predictions").rows == [(len(ALL) * WORLD["test"],)]


def test_an_interruption_costs_one_block_of_each_neighbourhood(
    home: Home, whole: Home, in_parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", BLOCK)
    measured: list[int] = []
    log_density = ReferenceDensity.log_density

    def interrupted(self, queries, ids):
        if len(measured) == 2:
            raise KeyboardInterrupt
        return counted(self, queries, ids)

    def counted(self, queries, ids):
        measured.append(len(queries))
        return log_density(self, queries, ids)

    wanted = [experiment(k=k) for k in (2, 4)]
    monkeypatch.setattr(ReferenceDensity, "log_density", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(home, wanted)
    assert files_of(home, "densities") == [], "nothing half-made may be visible"
    del measured[:]
    monkeypatch.setattr(ReferenceDensity, "log_density", counted)
    result = run(home, wanted)
    assert len(measured) == BLOCKS - 2
    assert computed(home, result.run_id)["densities"] == 1
    made = contents(home, "densities")
    assert len(made) == len(wanted)
    assert made.items() <= contents(whole, "densities").items()


@pytest.mark.parametrize("step", ["image_embeddings", "densities"])
def test_a_damaged_part_is_healed_when_it_is_met(home: Home, whole: Home, in_parts, step: str) -> None:
    run(home, ALL[:-6])
    run(home, [experiment("dat", k=2)])
    (manifest,) = Store(home).manifests(step)
    path = home.root / manifest.files[0].path
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    run(home, ALL)
    assert contents(home) == contents(whole)


@pytest.mark.parametrize("text", ["much", "-1", "1.5"])
def test_a_limit_that_is_no_number_is_an_error_that_names_it(home: Home, monkeypatch, text: str) -> None:
    monkeypatch.setenv("DAT_INPUT_MEMORY", text)
    with pytest.raises(AssertionError, match="DAT_INPUT_MEMORY must be a whole number of at least 0"):
        run(home, ALL[:1])
