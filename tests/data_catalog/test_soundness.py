"""Damage is told: an answer equals the undisturbed one, or comes with a warning that names what is behind it."""

import random
import shutil
from pathlib import Path

import pytest

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.question_sources import sources_of_view
from data_catalog.index.reader import Answer, Questions, index_condition, query
from data_catalog.index.views import VIEWS
from data_catalog.store import checked_files
from data_catalog.store.artifacts import Store
from data_catalog.store.runs import read_record, recorded_run
from data_catalog.store.verification import verify
from tests.data_catalog.worlds import run, tiny_pipeline

CELL = "predictions/tiny/simclip/zero_shot"
PREDICTIONS = "SELECT * FROM predictions ORDER BY ALL"


@pytest.fixture
def home(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("DAT_HOME", str(tmp_path / "home"))
    home = Home.from_environment()
    shutil.copytree(finished.root, home.root)
    update_index(home)
    return home


def object_of(home: Home, cell: str = CELL) -> Path:
    (manifest,) = [manifest for manifest in Store(home).manifests() if manifest.cell == cell]
    return home.root / manifest.files[0].path


def flip(path: Path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def asked(home: Home, sql: str) -> Answer | None:
    """Return the answer, None where the damage is such that there is none."""
    try:
        return query(home, sql)
    except UserError as error:
        return pytest.fail(f"{error} names no cell") if CELL not in str(error) else None


def test_a_sound_store_gives_no_warning_in_any_view(home: Home) -> None:
    for view in VIEWS:
        assert query(home, f"SELECT * FROM {view}").warnings == ()
    with Questions(home) as questions:
        assert questions.damage() == []


def test_no_flipped_bit_of_a_file_of_predictions_changes_an_answer_without_a_warning(home: Home) -> None:
    before, path, chance = query(home, PREDICTIONS).rows, object_of(home), random.Random(11)
    intact = path.read_bytes()
    for _ in range(40):
        flip(path, chance.randrange(len(intact)), chance.randrange(8))
        answer = asked(home, PREDICTIONS)
        assert answer is None or CELL in " ".join(answer.warnings)
        path.write_bytes(intact)
        again = query(home, PREDICTIONS)
        assert (again.rows, again.warnings) == (before, ())


def test_a_damaged_file_is_behind_answers_about_its_step_and_no_others(home: Home) -> None:
    flip(object_of(home), 100)
    for view in VIEWS:
        assert bool(query(home, f"SELECT count(*) FROM {view}").warnings) == (view == "predictions"), view


def test_questions_about_results_read_no_data_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_files, "file_digest", lambda path: pytest.fail(f"{path} is read"))
    for question in ("FROM results", "FROM leaderboard", "SELECT count(*) FROM costs WHERE step = 'predictions'"):
        assert query(home, question).warnings == ()


def test_a_file_is_read_again_when_it_has_changed_or_a_day_has_passed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    digest = checked_files.file_digest

    def counted(path: Path) -> str:
        read.append(path)
        return digest(path)

    monkeypatch.setattr(checked_files, "file_digest", counted)
    monkeypatch.setattr(checked_files, "_AT_REST", 0.0)

    def read_for_a_question() -> int:
        read.clear()
        assert query(home, PREDICTIONS).warnings == ()
        return len(read)

    assert [read_for_a_question(), read_for_a_question()] == [2, 0]
    object_of(home).write_bytes(object_of(home).read_bytes())
    assert [read_for_a_question(), read_for_a_question()] == [1, 0]
    memory = home.root / "checked.json"
    memory.write_text(memory.read_text().replace("1", "2", 1))
    assert [read_for_a_question(), read_for_a_question()] == [2, 0]
    monkeypatch.setattr(checked_files, "DAY", 0)
    assert read_for_a_question() == 2


def test_a_home_that_cannot_be_written_is_checked_all_the_same(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(checked_files, "write_atomically", refused)
    assert query(home, PREDICTIONS).warnings == ()
    flip(object_of(home), 100)
    assert query(home, "SELECT count(*) FROM predictions").warnings


def test_files_that_are_gone_are_told_and_found_again(home: Home) -> None:
    question = "SELECT count(*) FROM predictions"
    before = query(home, question).rows
    aside = home.objects.rename(home.root / "aside")
    for anew in (False, True):
        answer = query(home, question)
        assert "is gone" in answer.warnings[0]
        assert CELL in answer.warnings[0]
        home.objects.mkdir(exist_ok=True)
        update_index(home, anew=anew)
    with Questions(home) as questions:
        assert {damage.name for damage in questions.damage() if damage.kind == "file"} >= {CELL}
    shutil.rmtree(home.objects)
    aside.rename(home.objects)
    answer = query(home, question)
    assert (answer.rows, answer.warnings) == (before, ())


def test_a_damaged_manifest_is_counted_and_the_index_file_serves_meanwhile(home: Home) -> None:
    path = next(path for path in home.manifests.glob("metrics/*") if "zero_shot" in path.read_text())
    flip(path, 200)
    for expected in ("behind", "file", "file"):
        for view in ("results", "leaderboard", "group_accuracy", "vs_paper", "artifacts"):
            answer = query(home, f"FROM {view}")
            assert answer.index == expected
            assert "metrics/tiny/simclip/zero_shot" in answer.warnings[0], view
        assert query(home, "FROM predictions").warnings == ()
        update_index(home, anew=expected == "file")
    assert index_condition(home) == "current"
    assert "metrics/tiny/simclip/zero_shot" in " ".join(query(home, "EXPLAIN FROM results").warnings)


def test_what_is_set_aside_or_deleted_is_missing_until_it_is_computed_again(home: Home) -> None:
    flip(object_of(home), 100)
    verify(Store(home))
    update_index(home)
    deleted = next(home.manifests.glob("over_zero_shot/*"))
    deleted.unlink()
    assert CELL in query(home, "FROM results").warnings[0]
    assert "over_zero_shot/tiny" in query(home, "FROM comparisons").warnings[0]
    shutil.rmtree(home.quarantine)
    assert CELL in query(home, "SELECT count(*) FROM predictions").warnings[0]
    run(home, tiny_pipeline(home))
    assert query(home, "FROM leaderboard").warnings == ()
    assert query(home, "FROM predictions").warnings == ()


def test_what_is_set_aside_is_missing_though_no_run_record_names_it(home: Home) -> None:
    for record in home.runs.glob("r*"):
        record.unlink()
    flip(object_of(home), 100)
    verify(Store(home))
    assert CELL in query(home, "SELECT count(*) FROM predictions").warnings[0]


def test_no_flipped_bit_of_a_run_record_changes_an_answer_without_a_warning(home: Home) -> None:
    views = ("runs", "decisions", "drift", "results", "artifacts")
    before = {view: query(home, f"SELECT * FROM {view} ORDER BY ALL").rows for view in views}
    (path,) = home.runs.glob("r*")
    intact, chance = path.read_bytes(), random.Random(12)
    ends = [place for place, byte in enumerate(intact) if byte == ord("\n")]
    for place in [*chance.sample(range(len(intact)), 12), ends[0], ends[-1]]:
        flip(path, place, chance.randrange(8))
        with Questions(home) as questions:
            for view in views:
                answer = questions.ask(f"SELECT * FROM {view} ORDER BY ALL")
                assert answer.rows == before[view] or "run r000001" in " ".join(answer.warnings), (view, place)
        path.write_bytes(intact)


def test_a_last_line_that_a_kill_has_cut_off_is_no_damage(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with recorded_run(home, "run", request="test") as record:
        record.decisions([{"cell": "a", "key": "k"}])
    path = home.runs / f"{record.run_id}.jsonl"
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert read_record(path).damaged == 0, size
    for place in range(len(whole)):
        path.write_bytes(whole)
        flip(path, place, 2)
        assert read_record(path).damaged, place


def test_files_that_a_question_names_itself_are_checked_or_told_to_be_unverified(home: Home) -> None:
    path = object_of(home)
    copy = home.root / "copy.parquet"
    shutil.copy(path, copy)
    quoted = str(path).replace("'", "''")
    assert query(home, f"SELECT count(*) FROM read_parquet('{quoted}')").warnings == ()
    assert query(home, f"SELECT count(*) FROM '{quoted}'").warnings == ()
    assert query(home, "SELECT count(*) FROM read_parquet(?)", [[str(path)]]).warnings == ()
    assert query(home, f"SELECT count(*) FROM read_parquet('{path.parent}/*.parquet')").warnings == ()
    assert "verified" in query(home, f"SELECT count(*) FROM read_parquet('{copy}')").warnings[0]
    assert "verified" in query(home, f"SELECT count(*) FROM read_parquet('{path.parent}' || '/*.parquet')").warnings[0]
    flip(path, 100)
    assert path.name in query(home, f"SELECT count(*) FROM read_parquet('{path.parent}/*.parquet')").warnings[0]


def test_it_is_known_of_every_view_what_it_reads() -> None:
    for view in VIEWS:
        assert sources_of_view(view).steps or view in ("runs", "decisions", "drift", "paper")
    assert sources_of_view("leaderboard").reads_step("metrics")
    assert sources_of_view("leaderboard").reads_step("over_zero_shot")
    assert not sources_of_view("leaderboard").files
