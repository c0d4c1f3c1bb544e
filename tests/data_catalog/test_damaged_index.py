"""Damage to the index: whatever is in its place, every question has the same answer, and updating heals it."""

import random
import shutil
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import duckdb
import pytest

from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import Answer, index_condition, query
from data_catalog.index.views import VIEWS
from tests.data_catalog import worlds
from tests.data_catalog.worlds import answers

HEADERS = 3 * 4096  # DuckDB's: one of the file, two of the database
BLOCK = 262_144
EVERYTHING = "SELECT " + ", ".join(f"(SELECT list(t ORDER BY t::VARCHAR) FROM {view} t) AS {view}" for view in VIEWS)


@pytest.fixture(scope="module")
def indexed(finished: Home, tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, Answer]:
    """A copy of a finished run with an index of its own, and what that answers to everything."""
    home = Home(tmp_path_factory.mktemp("indexed") / "home")
    shutil.copytree(finished.root, home.root)
    update_index(home, anew=True)
    return home, query(home, EVERYTHING)


@pytest.fixture
def home(indexed: tuple[Home, Answer]) -> Iterator[Home]:
    """The home, whose index may be damaged: it is put back afterwards."""
    home = indexed[0]
    intact = home.index.read_bytes()
    yield home
    log_of(home).unlink(missing_ok=True)
    home.index.unlink(missing_ok=True)
    home.index.write_bytes(intact)


@pytest.fixture
def before(indexed: tuple[Home, Answer]) -> Answer:
    assert indexed[1].index == "file"
    return indexed[1]


def log_of(home: Home) -> Path:
    return home.index.with_name(f"{home.index.name}.wal")


def deleted(index: Path) -> None:
    index.unlink()


def emptied(index: Path) -> None:
    index.write_bytes(b"")


def replaced_by_text(index: Path) -> None:
    index.write_text("this is no database\n" * 1000)


def replaced_by_noise(index: Path) -> None:
    index.write_bytes(random.Random(3).randbytes(index.stat().st_size))


def replaced_by_an_empty_database(index: Path) -> None:
    index.unlink()
    duckdb.connect(str(index)).close()


def replaced_by_another_version(index: Path) -> None:
    with duckdb.connect(str(index)) as connection:
        connection.execute("UPDATE store.meta SET recipe = 'of another version'")
        connection.execute("UPDATE store.artifacts SET content = 'by another recipe'")
        connection.execute("CHECKPOINT")


def cut_to(size: int) -> Callable[[Path], None]:
    def cut(index: Path) -> None:
        index.write_bytes(index.read_bytes()[:size])

    return cut


def overwritten(place: int, length: int) -> Callable[[Path], None]:
    def overwrite(index: Path) -> None:
        content = index.read_bytes()
        noise = random.Random(place).randbytes(length)
        index.write_bytes(content[:place] + noise + content[place + length :])

    return overwrite


def beside_a_log(content: bytes) -> Callable[[Path], None]:
    def leave(index: Path) -> None:
        index.with_name(f"{index.name}.wal").write_bytes(content)

    return leave


@pytest.mark.parametrize(
    "harm",
    [
        deleted,
        emptied,
        replaced_by_text,
        replaced_by_noise,
        replaced_by_an_empty_database,
        replaced_by_another_version,
        *(pytest.param(cut_to(size), id=f"cut to {size}") for size in (1, 4096, HEADERS, HEADERS + BLOCK + 1, -1)),
        pytest.param(overwritten(0, HEADERS), id="headers overwritten"),
        pytest.param(overwritten(4096, 8), id="one header overwritten"),
        pytest.param(overwritten(HEADERS, 8), id="first block's checksum overwritten"),
        pytest.param(overwritten(HEADERS + BLOCK, 4096), id="a page of the second block overwritten"),
        pytest.param(overwritten(HEADERS + 100_000, 900_000), id="several blocks overwritten"),
        pytest.param(beside_a_log(b""), id="beside an empty log"),
        pytest.param(beside_a_log(random.Random(4).randbytes(5000)), id="beside a garbled log"),
    ],
)
def test_the_answers_stay_the_same_and_an_update_heals(
    home: Home, before: Answer, harm: Callable[[Path], None]
) -> None:
    harm(home.index)
    damaged = query(home, EVERYTHING)
    assert damaged.rows == before.rows
    assert damaged.index != "file"
    update_index(home)
    assert query(home, EVERYTHING) == before


@pytest.mark.slow
def test_with_one_damaged_block_every_view_gives_the_same_rows(home: Home) -> None:
    before = answers(home)
    overwritten(HEADERS + BLOCK, 8)(home.index)
    assert answers(home) == before


@pytest.mark.slow
def test_no_flipped_bit_of_the_index_changes_an_answer(home: Home, before: Answer) -> None:
    by_view = answers(home)
    intact = home.index.read_bytes()
    filled = [place for place, byte in enumerate(intact) if byte]
    chance = random.Random(42)
    places = chance.sample([place for place in filled if place < HEADERS], 12)
    places += chance.sample([place for place in filled if place >= HEADERS], 30)
    noticed = 0
    for number, place in enumerate(places):
        flipped = bytearray(intact)
        flipped[place] ^= 1 << chance.randrange(8)
        home.index.write_bytes(flipped)
        answer = query(home, EVERYTHING)
        assert answer.rows == before.rows, place
        noticed += answer.index.startswith("damaged")
        if number % 6 == 0:
            view = VIEWS[number // 6 % len(VIEWS)]
            assert answers(home, [view])[view] == by_view[view], place
    assert noticed >= 36, "most of the flips must have been where it matters"


def test_rows_are_never_taken_from_the_index_of_another_home(home: Home, before: Answer, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    shutil.copytree(home.root, other.root)
    for record in other.runs.iterdir():
        record.write_text(record.read_text().replace('"test"', '"tset"'))
    update_index(other, anew=True)
    shutil.copy(other.index, home.index)
    assert query(home, EVERYTHING).rows == before.rows
    update_index(home)
    assert query(home, EVERYTHING) == before


def test_a_process_that_holds_the_index_and_is_killed_while_changing_it_changes_no_answer(
    home: Home, before: Answer, processes: ForkServerContext
) -> None:
    here, there = processes.Pipe()
    process = processes.Process(target=worlds.meddle_with_index, args=(home, there), daemon=True)
    process.start()
    assert here.recv() == "open"
    assert index_condition(home) == "locked"
    assert query(home, EVERYTHING).rows == before.rows
    here.send("go on")
    assert here.recv() == "changed"
    assert query(home, EVERYTHING).rows == before.rows
    process.kill()
    process.join()
    assert log_of(home).stat().st_size > 0
    assert query(home, EVERYTHING).rows == before.rows
    update_index(home)
    assert query(home, EVERYTHING) == before
