"""Damage to artifacts: it is named, set aside and healed, and what was computed is the same again."""

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from data_catalog.errors import DamagedError, UserError
from data_catalog.home import Home
from data_catalog.index.database import update_index
from data_catalog.index.reader import query
from data_catalog.store.artifacts import Store
from data_catalog.store.manifest import Manifest, parse_manifest
from data_catalog.store.runs import read_run, recorded_run
from data_catalog.store.verification import verify
from tests.data_catalog.worlds import computed, contents, counters, keys, results, run, tiny_pipeline


@pytest.fixture
def home(finished: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A copy of a finished run, to be damaged; it is also the one that commands use."""
    monkeypatch.setenv("DAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DAT_SPECS", raising=False)
    monkeypatch.chdir(tmp_path)
    home = Home.from_environment()
    shutil.copytree(finished.root, home.root)
    return home


def stored_files(home: Home) -> list[str]:
    """Return every object and manifest, relative to the home."""
    found = [*home.objects.glob("*/*"), *home.manifests.glob("*/*")]
    return sorted(str(path.relative_to(home.root)) for path in found)


def owners(home: Home, file: str) -> set[str]:
    """Return the cells that a file belongs to; an object of equal results belongs to several."""
    return {
        manifest.cell
        for manifest in Store(home).manifests()
        if file in (f"manifests/{manifest.step}/{manifest.key}.json", *(stored.path for stored in manifest.files))
    }


def object_of(home: Home, cell: str) -> Path:
    """Return the file of the artifact of a cell."""
    (manifest,) = [manifest for manifest in Store(home).manifests() if manifest.cell == cell]
    return home.root / manifest.files[0].path


def flip(path: Path, place: int | None = None) -> None:
    """Flip a bit; where no place is given, one that depends on the file."""
    content = bytearray(path.read_bytes())
    place = random.Random(path.name).randrange(len(content)) if place is None else place
    content[place] ^= 1 << place % 8
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def overwrite(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(path.stat().st_size))


def put_back(home: Home, finished: Home) -> None:
    for folder in ("objects", "manifests"):
        shutil.copytree(finished.root / folder, home.root / folder, dirs_exist_ok=True)
    shutil.rmtree(home.quarantine)


def test_verify_names_the_file_with_a_flipped_bit_and_no_other_and_sets_it_aside(home: Home, finished: Home) -> None:
    store, chance = Store(home), random.Random(8)
    count = len(tiny_pipeline(home))
    for file in stored_files(home):
        path, cells = home.root / file, owners(home, file)
        size = path.stat().st_size
        for place in [0, 4, size // 2, size - 9, size - 1, *chance.sample(range(size), 5)]:
            flip(path, place)
            found = verify(store)
            assert {damage.file for damage in found.damaged} == {file}, place
            assert found.artifacts == count
            assert not path.exists()
            assert len(keys(home)) == count - len(cells)
            assert verify(store).damaged == ()
            put_back(home, finished)


def test_every_flipped_bit_of_a_manifest_is_noticed(finished: Home) -> None:
    manifest = parse_manifest(next(finished.manifests.glob("samples/*.json")).read_bytes())
    manifest = replace(manifest, summary={"gap": 28.499999999999993}, cost={"seconds": 1e-5})
    assert readable_flips(manifest.to_json().encode()) == []


def readable_flips(text: bytes) -> list[Manifest]:
    """Return what can still be read of a manifest after any one of its bits was flipped."""
    found = []
    for place in range(len(text)):
        for bit in range(8):
            flipped = bytearray(text)
            flipped[place] ^= 1 << bit
            with suppress(ValueError, TypeError, KeyError, AttributeError):
                found.append(parse_manifest(bytes(flipped)))
    return found


def test_a_line_of_a_record_with_a_flipped_bit_is_not_counted_and_the_others_are(home: Home, tmp_path: Path) -> None:
    with recorded_run(home, "run", request="with \u2028 in it") as record:
        record.decisions([{"cell": "metrics/tiny/simclip/tie", "address": {"dataset": "tiny"}, "key": "k"}])
        record.end("done")
    intact = read_run(home.runs / f"{record.run_id}.jsonl")
    assert [line["type"] for line in intact] == ["start", "decision", "end"]
    text, path = (home.runs / f"{record.run_id}.jsonl").read_bytes(), tmp_path / "flipped.jsonl"
    for place in range(len(text)):
        for bit in range(8):
            flipped = bytearray(text)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            found = read_run(path)
            assert all(line in intact for line in found), (place, bit)
            assert len(found) >= (1 if text[place] == ord("\n") else 2), (place, bit)


def test_a_record_that_cannot_be_read_keeps_no_question_from_being_answered(tmp_path: Path) -> None:
    home = Home(tmp_path)
    run(home, counters(2))
    run(home, counters(3))
    record = home.runs / "r000001.jsonl"
    record.unlink()
    record.symlink_to("/proc/self/mem")  # reading it is an error of the device
    assert read_run(record) == []
    update_index(home)
    assert query(home, "SELECT count(*) FROM artifacts WHERE current").rows == [(3,)]
    assert query(home, "SELECT run_id, status FROM runs ORDER BY 1").rows == [
        ("r000001", "unfinished"),
        ("r000002", "done"),
    ]


def test_a_manifest_under_another_name_is_damaged(home: Home) -> None:
    first, second = sorted(home.manifests.glob("metrics/*.json"))
    second.write_bytes(first.read_bytes())
    with pytest.raises(DamagedError, match="another artifact"):
        Store(home).find("metrics", second.stem)
    assert [damage.key for damage in verify(Store(home)).damaged] == [second.stem]


@pytest.mark.slow
def test_after_verify_a_run_computes_just_the_damaged_artifact_again_with_the_same_results(
    home: Home, finished: Home
) -> None:
    cells = tiny_pipeline(home)
    for file in stored_files(home):
        damaged = owners(home, file)
        flip(home.root / file)
        assert {damage.file for damage in verify(Store(home)).damaged} == {file}
        healed = run(home, cells)
        assert computed(healed) == damaged
        assert {outcome.reason for outcome in healed.outcomes if outcome.outcome == "computed"} == {"corrupt"}
        assert_as_before(home, finished)


@pytest.mark.slow
@pytest.mark.parametrize("harm", [cut, empty, Path.unlink])
def test_a_cut_emptied_or_deleted_file_needs_no_verify_to_be_healed(
    home: Home, finished: Home, harm: Callable[[Path], None]
) -> None:
    cells = tiny_pipeline(home)
    for kind in ("objects/image_embeddings", "manifests/predictions"):
        file = next(file for file in stored_files(home) if file.startswith(kind))
        damaged = owners(home, file)
        harm(home.root / file)
        assert computed(run(home, cells)) == damaged
        assert_as_before(home, finished)


@pytest.mark.parametrize("harm", [cut, empty, overwrite, Path.unlink])
def test_verify_names_a_cut_emptied_overwritten_or_deleted_object(home: Home, harm: Callable[[Path], None]) -> None:
    for file in [file for file in stored_files(home) if file.startswith("objects/")]:
        harm(home.root / file)
        assert {damage.file for damage in verify(Store(home)).damaged} == {file}


@pytest.mark.parametrize("harm", [cut, empty, overwrite])
def test_verify_names_a_cut_emptied_or_overwritten_manifest(home: Home, harm: Callable[[Path], None]) -> None:
    for file in [file for file in stored_files(home) if file.startswith("manifests/")]:
        harm(home.root / file)
        assert {damage.file for damage in verify(Store(home)).damaged} == {file}


EMBEDDINGS = ("samples/tiny/simclip", "image_embeddings/tiny/simclip", "text_embeddings/tiny/simclip")
NEW = {
    "predictions/tiny/simclip/tie",
    "metrics/tiny/simclip/tie",
    "over_zero_shot/tiny/simclip/tie",
    "over_tie/tiny/simclip/zero_shot",
    "over_tie/tiny/simclip/group_prompt",
}


@pytest.mark.parametrize("damaged", EMBEDDINGS)
def test_damage_that_nobody_has_verified_is_noticed_when_it_is_read_and_healed_on_the_way(
    home: Home, finished: Home, damaged: str
) -> None:
    flip(object_of(home, damaged))
    assert computed(run(home, tiny_pipeline(home, ["zero_shot", "group_prompt", "tie"]))) == {damaged, *NEW}
    assert verify(Store(home)).damaged == ()
    assert contents(home).items() > contents(finished).items()


def test_several_damaged_inputs_are_healed_on_the_way(home: Home, finished: Home) -> None:
    for cell in EMBEDDINGS:
        flip(object_of(home, cell))
    assert computed(run(home, tiny_pipeline(home, ["zero_shot", "group_prompt", "tie"]))) == {*EMBEDDINGS, *NEW}
    assert verify(Store(home)).damaged == ()
    assert contents(home).items() > contents(finished).items()


def test_a_damaged_input_whose_own_input_is_damaged_is_healed_on_the_way(home: Home, finished: Home) -> None:
    flip(object_of(home, "image_embeddings/tiny/simclip"))
    flip(object_of(home, "predictions/tiny/simclip/zero_shot"))
    object_of(home, "metrics/tiny/simclip/zero_shot").unlink()
    healed = computed(run(home, tiny_pipeline(home)))
    assert healed == {
        "image_embeddings/tiny/simclip",
        "predictions/tiny/simclip/zero_shot",
        "metrics/tiny/simclip/zero_shot",
    }
    assert_as_before(home, finished)


@pytest.mark.parametrize("harm", [cut, empty, overwrite])
def test_a_damaged_shard_of_an_interrupted_attempt_is_made_again(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    cells = counters(2)
    undisturbed, home = Home(tmp_path / "undisturbed"), Home(tmp_path / "interrupted")
    run(undisturbed, cells)
    run(home, cells[:1])
    (manifest,) = [manifest for manifest in Store(undisturbed).manifests() if manifest.cell == cells[1].name]
    folder = home.staging / manifest.key
    folder.mkdir(parents=True)
    Store(home).keep_shard(folder, 1, pq.read_table(undisturbed.root / manifest.files[1].path))
    (shard,) = folder.iterdir()
    harm(shard)
    run(home, cells)
    assert contents(home) == contents(undisturbed)


def test_the_command_line_names_the_damage_and_heals_it(home: Home, dat) -> None:
    request = ("run", "--dataset", "tiny", "--backbone", "simclip", "--method", "zero_shot", "--method", "group_prompt")
    before = results(home)
    path = object_of(home, "predictions/tiny/simclip/zero_shot")
    flip(path)
    verified = dat("verify")
    assert verified.code == 1
    assert str(path.relative_to(home.root)) in verified.out
    assert "predictions/tiny/simclip/zero_shot" in verified.out
    assert "1 damaged" in verified.out
    assert dat("verify").code == 0
    assert dat(*request).code == 0
    assert results(home) == before
    assert verify(Store(home)).damaged == ()


@pytest.mark.parametrize("harm", [cut, empty, overwrite])
def test_a_damaged_file_of_predictions_fails_questions_about_predictions_and_no_others(
    home: Home, finished: Home, harm: Callable[[Path], None]
) -> None:
    harm(object_of(home, "predictions/tiny/simclip/zero_shot"))
    for anew in (False, True):
        with pytest.raises(UserError, match=r"predictions/\S*\.parquet") as raised:
            query(home, "SELECT count(*) FROM predictions")
        assert "dat verify" in str(raised.value.remedy)
        assert results(home) == results(finished)
        update_index(home, anew=anew)
    verify(Store(home))
    run(home, tiny_pipeline(home))
    assert query(home, "SELECT count(*) FROM predictions").rows == [(2 * 80,)]


@pytest.mark.slow
def test_no_flipped_bit_in_a_file_of_predictions_keeps_the_index_from_being_made(home: Home, finished: Home) -> None:
    path = object_of(home, "predictions/tiny/simclip/zero_shot")
    intact, chance = path.read_bytes(), random.Random(5)
    footer = int.from_bytes(intact[-8:-4], "little") + 8
    for place in chance.sample(range(len(intact) - footer, len(intact)), 12):
        flip(path, place)
        update_index(home, anew=True)
        assert results(home) == results(finished), place
        path.write_bytes(intact)


def assert_as_before(home: Home, finished: Home) -> None:
    assert contents(home) == contents(finished)
    assert results(home) == results(finished)
    assert verify(Store(home)).damaged == ()
