"""Every file that decides a number is in the key of what is computed from it: images, tables, weights and the like."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data_catalog.home import Home
from data_catalog.index.reader import query
from flows.request import Request, resolve
from tests.dat_lib.backbones.small_models import (
    OPENAI_LIKE,
    add_small_open_clip_models,
    empty_hub_cache,
    hub_snapshot,
    save_checkpoint,
    save_small_transformers,
    small_open_clip,
)
from tests.dat_lib.datasets import miniatures
from tests.flows.small_images import add_backbone, add_dataset, add_dataset_spec

ROWS = 20
PAIR = ("--dataset", "blobs", "--backbone", "tiny", "--method", "zero_shot")


@pytest.fixture
def blobs(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty images, in shards of five, and a model; all have been at rest for a while."""
    monkeypatch.setattr("tasks.steps.image_embeddings.SHARD_ROWS", 5)
    monkeypatch.setenv("DAT_WORKERS", "0")
    root = add_dataset(tmp_path, "blobs", ROWS)
    add_backbone(tmp_path, "tiny", seed=0)
    return root


def stale(dat, *request: str) -> dict[str, str]:
    plan = json.loads(dat("plan", *(request or PAIR), "--json").out)
    return {entry["cell"]: entry["reason"] for entry in plan if entry["action"] != "up to date"}


def vectors(home: Home, dataset: str = "blobs") -> str:
    """The digest of the current embeddings of a dataset."""
    asked = "SELECT content FROM artifacts WHERE step = 'image_embeddings' AND current AND dataset = ?"
    ((content,),) = query(home, asked, [dataset]).rows
    return content


def embedding(home: Home) -> dict:
    asked = "SELECT summary FROM artifacts WHERE step = 'image_embeddings' AND current"
    ((summary,),) = query(home, asked).rows
    return json.loads(summary)


def repaint(path: Path, colour: str = "red") -> None:
    Image.new("RGB", (30, 40), colour).save(path)


def test_datasets_with_equal_tables_and_other_images_do_not_share_results(dat, home, blobs, tmp_path, monkeypatch):
    add_dataset(tmp_path, "others", ROWS, seed=1)
    assert dat("run", *PAIR).code == 0
    other = ("--dataset", "others", *PAIR[2:])
    assert "image_embeddings/others/tiny" in stale(dat, *other)
    assert dat("run", *other).code == 0
    assert vectors(home) != vectors(home, "others")
    monkeypatch.setenv("DAT_HOME", str(home.root.with_name("alone")))
    assert dat("run", *other).code == 0
    assert vectors(Home.from_environment(), "others") == vectors(home, "others")


def test_the_same_images_under_another_name_are_embedded_once(dat, home, blobs, tmp_path) -> None:
    assert dat("run", *PAIR).code == 0
    shutil.copytree(blobs, tmp_path / "copy")
    add_dataset_spec(tmp_path, "copy")
    assert dat("run", "--dataset", "copy", *PAIR[2:], "--json").code == 0
    computed = query(home, "SELECT step FROM decisions WHERE run_id = 'r000002' AND outcome = 'computed'").rows
    assert computed == []


def test_images_replaced_in_place_are_counted_and_only_their_shards_embedded_again(dat, home, blobs) -> None:
    assert dat("run", *PAIR).code == 0
    for row in (1, 3, 17):
        repaint(blobs / f"{row}.png")
    found = stale(dat)
    assert found["files/blobs"] == "facts: 3 of 20 images changed"
    assert "samples/blobs" not in found
    assert found["image_embeddings/blobs/tiny"] == "input: files"
    assert dat("run", *PAIR).code == 0
    assert embedding(home)["reused_shards"] == 2, "rows 5 to 9 and 10 to 14"
    assert not stale(dat)


def test_what_is_put_together_from_old_and_new_shards_equals_what_is_embedded_at_once(dat, home, blobs, monkeypatch):
    assert dat("run", *PAIR).code == 0
    repaint(blobs / "7.png")
    assert dat("run", *PAIR).code == 0
    together = vectors(home)
    monkeypatch.setenv("DAT_HOME", str(home.root.with_name("fresh")))
    assert dat("run", *PAIR).code == 0
    assert vectors(Home.from_environment()) == together


def test_a_forced_rerun_uses_no_shard_again(dat, home, blobs, monkeypatch) -> None:
    assert dat("run", *PAIR).code == 0
    embedded = []
    from tasks.steps import image_embeddings as extraction

    extract = extraction.extract
    monkeypatch.setattr(extraction, "extract", lambda *a, **k: embedded.append(set(k["skip"])) or extract(*a, **k))
    assert dat("run", *PAIR, "--force").code == 0
    assert embedded == [set()]


def test_images_added_and_removed_are_counted(dat, home, blobs) -> None:
    assert dat("run", *PAIR).code == 0
    table = blobs / "samples.csv"
    lines = table.read_text().splitlines()
    repaint(blobs / "new.png")
    table.write_text("\n".join([*lines[:-1], "new.png,round,0,test"]) + "\n")
    found = stale(dat)
    assert found["files/blobs"] == "facts: 1 of 20 images added, 1 removed"
    assert found["samples/blobs"] == "facts: samples.csv"


def test_a_change_that_leaves_size_and_time_alone_is_noticed(dat, home, blobs) -> None:
    assert dat("run", *PAIR).code == 0
    image = blobs / "4.png"
    status, content = image.stat(), bytearray(image.read_bytes())
    other = bytearray((blobs / "5.png").read_bytes()[: len(content)].ljust(len(content), b"\0"))
    image.write_bytes(other)
    os.utime(image, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert stale(dat)["files/blobs"] == "facts: 1 of 20 images changed"


def test_a_touched_file_is_read_again_and_nothing_is_stale(dat, home, blobs) -> None:
    assert dat("run", *PAIR).code == 0
    for path in blobs.iterdir():
        path.touch()
    assert not stale(dat)


def test_verifying_sources_finds_what_no_time_tells(dat, home, blobs, monkeypatch) -> None:
    from data_catalog.store import source_files

    assert dat("run", *PAIR).code == 0
    monkeypatch.setattr(source_files, "_AT_REST", 0)  # as if all had been at rest
    assert not stale(dat)
    assert dat("verify", "--sources").code == 0
    true = source_files._stamp
    repaint(blobs / "6.png")
    now = {str(blobs / "6.png"): None}
    memory = source_files.SourceFiles("blobs", "", home.digests / "dataset-blobs.parquet")
    before = memory._recall().stamps["6.png"]
    # A disk that loses bits changes no time.
    monkeypatch.setattr(source_files, "_stamp", lambda path: before if path in now else true(path))
    assert not stale(dat)
    ran = dat("verify", "--sources")
    assert ran.code == 1
    assert "6.png: other content, although its size and times are the same" in ran.out
    assert stale(dat)["files/blobs"] == "facts: 1 of 20 images changed"
    assert dat("verify", "--sources").code == 0
    assert json.loads(dat("verify", "--sources", "--json").out)["dataset-blobs"]["files"] == ROWS + 1


def test_an_image_that_changes_under_a_run_fails_it_and_is_kept_under_no_wrong_name(dat, home, blobs, monkeypatch):
    from tasks.steps import image_embeddings as extraction

    def opened(*arguments):
        repaint(blobs / "12.png")
        return true(*arguments)

    true = extraction.open_backbone
    monkeypatch.setattr(extraction, "open_backbone", opened)
    ran = dat("run", *PAIR)
    assert ran.code == 1
    assert "images have changed since the run began, such as 12.png; run again" in ran.err
    assert query(home, "SELECT 1 FROM artifacts WHERE step = 'image_embeddings'").rows == []
    monkeypatch.undo()


def test_files_that_are_gone_count_as_they_were_last_seen(dat, home, blobs) -> None:
    assert dat("run", *PAIR).code == 0
    blobs.rename(blobs.with_name("elsewhere"))
    ran = dat("plan", *PAIR, "--check")
    assert ran.code == 0, ran.out
    assert "the files of blobs are not there now: they count as they were last seen" in ran.err


def test_one_image_that_is_gone_is_a_change(dat, home, blobs) -> None:
    assert dat("run", *PAIR).code == 0
    (blobs / "2.png").unlink()
    assert stale(dat)["files/blobs"] == "facts: 1 of 20 images changed"


def test_a_memory_of_digests_that_is_damaged_or_lost_costs_a_look_and_no_result(dat, home, blobs) -> None:
    assert dat("run", *PAIR).code == 0
    memory = home.digests / "dataset-blobs.parquet"
    for content in (b"no table", memory.read_bytes()[:-40], None):
        if content is None:
            shutil.rmtree(home.digests)
        else:
            memory.write_bytes(content)
        assert {cell.partition("/")[0] for cell in stale(dat)} <= {"weights", *_AFTER_WEIGHTS}
        assert json.loads(dat("run", *PAIR, "--json").out)["outcomes"] == {"up to date": 7}


_AFTER_WEIGHTS = ("image_embeddings", "text_embeddings", "predictions", "metrics")


def test_images_told_apart_by_folders_are_in_the_key(dat, home, blobs, tmp_path) -> None:
    for row in range(ROWS):
        split, word = ("train", "test")[row % 2], ("round", "square")[row // 2 % 2]
        place = tmp_path / f"tree/{split}/{word}/{('dark', 'light')[row // 4 % 2]}"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(blobs / f"{row}.png", place)
    add_dataset_spec(tmp_path, "tree", "image_folder")
    request = ("--dataset", "tree", *PAIR[2:])
    assert dat("run", *request).code == 0
    assert not stale(dat, *request)
    repaint(next((tmp_path / "tree/train/round/dark").iterdir()))
    assert stale(dat, *request)["files/tree"] == "facts: 1 of 20 images changed"
    shutil.copy(blobs / "0.png", tmp_path / "tree/test/round/dark/more.png")
    found = stale(dat, *request)
    assert found["files/tree"] == "facts: 1 of 21 images changed, 1 added"
    assert found["samples/tree"] == "facts: folders"


@pytest.mark.parametrize(
    ("kind", "tables", "image"),
    [
        ("waterbirds", ["metadata.csv"], "002.Species_2/Bird_0001.jpg"),
        ("celeba", ["list_attr_celeba.csv", "list_eval_partition.csv"], "img_align_celeba/000001.jpg"),
        ("fmow", ["country_code_mapping.csv", "rgb_metadata.csv"], "images/rgb_img_0.png"),
        ("covid", ["metadata.csv"], "images/image_1.png"),  # which is not among the miniature's files: it appears
    ],
)
def test_tables_and_images_of_published_datasets_are_in_the_key(home, blobs, tmp_path, kind, tables, image):
    root = getattr(miniatures, kind)(tmp_path / kind)
    add_dataset_spec(tmp_path, kind + "-mini", kind, 'settings = { expect = "any" }\n')
    spec = tmp_path / f"specs/datasets/{kind}-mini.toml"
    spec.write_text(spec.read_text().replace(f"../../{kind}-mini", str(root)))

    def keys() -> dict[str, str]:
        cells = resolve(Request(None, [f"{kind}-mini"], ["tiny"], ["zero_shot"]), home).cells
        return {cell.step: cell.key("", {}) for cell in cells if cell.step in ("samples", "files")}

    before = keys()
    for table in tables:
        path = root / table
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        assert keys()["samples"] != before["samples"], table
        path.write_bytes(content)
        assert keys() == before
    repaint(root / image)
    after = keys()
    assert after["files"] != before["files"]
    assert after["samples"] == before["samples"], "embeddings are made again, labels are as they were"


def test_a_model_named_by_its_folder_is_in_the_key(dat, home, blobs, tmp_path) -> None:
    save_small_transformers("clip", tmp_path / "models/named", seed=2)
    spec = tmp_path / "specs/backbones/named.toml"
    spec.write_text(f'kind = "transformers"\nsettings = {{ model = "{tmp_path / "models/named"}" }}\n')
    request = (*PAIR[:2], "--backbone", "named", *PAIR[4:])
    assert dat("run", *request).code == 0
    assert not stale(dat, *request)
    save_small_transformers("clip", tmp_path / "models/named", seed=3)
    assert stale(dat, *request)["weights/named"] == "facts: weights_sha256"


def test_a_model_in_the_hubs_cache_is_in_the_key(dat, home, blobs, tmp_path, monkeypatch) -> None:
    cache = empty_hub_cache(monkeypatch, tmp_path / "hub")
    snapshot = hub_snapshot(cache, "owner/small")
    save_small_transformers("clip", snapshot, seed=2)
    (tmp_path / "specs/backbones/hub.toml").write_text('kind = "transformers"\nsettings = { model = "owner/small" }\n')
    request = (*PAIR[:2], "--backbone", "hub", *PAIR[4:])
    assert dat("run", *request).code == 0
    before = vectors(home)
    assert not stale(dat, *request)
    # The hub's main branch has moved on, and somebody has fetched it.
    newer = snapshot.with_name("f" * 40)
    save_small_transformers("clip", newer, seed=3)
    (cache / "models--owner--small/refs/main").write_text("f" * 40)
    assert stale(dat, *request)["weights/hub"] == "facts: weights_sha256"
    assert dat("run", *request).code == 0
    assert vectors(home) != before


def test_what_lies_beside_a_checkpoint_and_decides_how_it_is_used_is_in_the_key(dat, home, blobs, tmp_path) -> None:
    (tmp_path / "configs").mkdir()
    add_small_open_clip_models(tmp_path / "configs")
    import open_clip

    file = save_checkpoint(small_open_clip("small-vit"), tmp_path / "models/oc.safetensors")
    config = tmp_path / "models/open_clip_config.json"
    settled = {"model_cfg": open_clip.get_model_config("small-vit"), "preprocess_cfg": OPENAI_LIKE}
    config.write_text(json.dumps(settled))
    spec = f'kind = "open_clip"\nweights = "{file}"\nsettings = {{ activation = "gelu" }}\n'
    (tmp_path / "specs/backbones/oc.toml").write_text(spec)
    request = (*PAIR[:2], "--backbone", "oc", *PAIR[4:])
    ran = dat("run", *request)
    assert ran.code == 0, ran.err
    assert not stale(dat, *request)
    config.write_text(config.read_text().replace("0.48", "0.49"))
    assert stale(dat, *request)["weights/oc"] == "facts: weights_sha256"


def test_an_imported_folder_that_has_changed_since_is_remarked_on(dat, home, embeddings_folder) -> None:
    names = ("--dataset", "birds", "--backbone", "mine")
    assert dat("import", "embeddings", str(embeddings_folder), *names).code == 0
    assert dat("plan", *names, "--method", "zero_shot").err == ""
    (embeddings_folder / "texts.parquet").write_bytes(b"something else")
    ran = dat("plan", *names, "--method", "zero_shot")
    assert "texts.parquet has changed since it was imported: `dat import embeddings" in ran.err


def test_validating_specs_reads_no_image(dat, home, blobs, tmp_path) -> None:
    (tmp_path / "specs/suites").mkdir()
    (tmp_path / "specs/suites/mine.toml").write_text(
        '[[grid]]\ndatasets = ["blobs"]\nbackbones = ["tiny"]\nmethods = ["zero_shot"]\n'
    )
    assert dat("validate", "specs/suites/mine.toml").code == 0
    assert not home.digests.exists()


def test_words_of_a_prompt_file_are_in_the_key(dat, home, blobs, tmp_path) -> None:
    assert dat("run", *PAIR).code == 0
    prompts = tmp_path / "specs/prompts/blobs.toml"
    prompts.write_text(prompts.read_text().replace('"a {class}"', '"one {class}"'))
    assert "params: prompts" in stale(dat)["text_embeddings/blobs/tiny"]
    assert np.all(["image_embeddings" not in cell for cell in stale(dat)])


def test_a_tilde_in_root_and_weights_is_the_users_home(dat, home, blobs, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for spec in (tmp_path / "specs/datasets/blobs.toml", tmp_path / "specs/backbones/tiny.toml"):
        spec.write_text(spec.read_text().replace("../..", "~"))
    ran = dat("run", *PAIR)
    assert ran.code == 0, ran.err


def test_a_table_that_changes_while_it_is_read_is_read_again(home, blobs, tmp_path) -> None:
    from data_catalog.store.source_files import Listing, SourceFiles

    table = blobs / "samples.csv"
    files = SourceFiles("blobs", "here", tmp_path / "memory/blobs.parquet")

    def listing(then: str = "") -> Listing:
        rows = table.read_text().splitlines()[1:]
        if then:
            table.write_text(then)
        return Listing(str(blobs), ("samples.csv",), tuple(row.partition(",")[0] for row in rows))

    fewer = "".join(table.read_text().splitlines(keepends=True)[:-1])
    assert len(files.look(lambda: listing(then=fewer)).listing.files) == ROWS, "it was read before it changed"
    assert len(files.look(listing).listing.files) == ROWS - 1
