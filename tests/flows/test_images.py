"""From image files and a model to results: embeddings extracted for real, by small models the tests make."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from data_catalog.home import Home
from tests.dat_lib.backbones.small_models import save_small_transformers
from tests.flows.small_images import add_backbone, add_dataset

ROWS = 60
_RESUMED = "SELECT summary ->> 'resumed_at' AS n FROM artifacts WHERE step = 'image_embeddings'"
REQUEST = ("--dataset", "blobs", "--method", "zero_shot")


@pytest.fixture
def blobs(home: Home, tmp_path: Path) -> Path:
    """A dataset of 60 small images in a CSV, and two tiny models, all named by specs in the current folder."""
    root = add_dataset(tmp_path, "blobs", ROWS)
    add_backbone(tmp_path, "tiny", seed=0)
    return root


def vectors(home: Home, backbone: str = "tiny") -> dict[str, list[float]]:
    from data_catalog.index.reader import query

    sql = "SELECT path FROM artifacts WHERE current AND step = 'image_embeddings' AND backbone = ?"
    (row,) = query(home, sql, [backbone]).rows
    table = pq.read_table(home.root / row[0])
    return dict(zip(table.column("sample_id").to_pylist(), table.column("embedding").to_pylist(), strict=True))


def test_embeddings_are_those_of_the_library_called_by_hand(dat, home, blobs, tmp_path) -> None:
    ran = dat("run", *REQUEST, "--backbone", "tiny", "--json")
    assert ran.code == 0, ran.out
    from dat_lib.backbones.torchvision_import import import_torchvision

    import_torchvision()
    import torch
    from transformers import AutoImageProcessor, CLIPModel

    folder = str(tmp_path / "models/tiny")
    model, processor = CLIPModel.from_pretrained(folder).eval(), AutoImageProcessor.from_pretrained(folder)
    images = [Image.open(blobs / f"{row}.png") for row in range(ROWS)]
    with torch.inference_mode():
        output = model.get_image_features(**processor(images, return_tensors="pt"))
    expected = getattr(output, "pooler_output", output).numpy()
    found = vectors(home)
    np.testing.assert_allclose([found[f"{row}.png"] for row in range(ROWS)], expected, atol=1e-5)


def test_batch_size_and_workers_do_not_matter(dat, home, blobs, monkeypatch) -> None:
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    first = vectors(home)
    monkeypatch.setenv("DAT_BATCH_SIZE", "7")
    monkeypatch.setenv("DAT_WORKERS", "0")
    assert dat("plan", *REQUEST, "--backbone", "tiny", "--check").code == 0, "resources are not part of a key"
    monkeypatch.setenv("DAT_HOME", str(home.root.with_name("other")))
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    second = vectors(Home.from_environment())
    np.testing.assert_allclose([second[key] for key in first], list(first.values()), atol=1e-5)


def test_a_new_backbone_file_embeds_just_that_backbone(dat, home, blobs, tmp_path) -> None:
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    add_backbone(tmp_path, "other", seed=1)
    both = ("--backbone", "tiny", "--backbone", "other")
    plan = json.loads(dat("plan", *REQUEST, *both, "--json").out)
    stale = {entry["cell"] for entry in plan if entry["action"] != "up to date"}
    assert stale == {
        "weights/other",
        "image_embeddings/blobs/other",
        "text_embeddings/blobs/other",
        "predictions/blobs/other/zero_shot",
        "metrics/blobs/other/zero_shot",
    }
    assert dat("run", *REQUEST, *both).code == 0
    asked = "SELECT cell FROM decisions WHERE run_id = 'r000002' AND outcome = 'computed'"
    computed = {row["cell"] for row in json.loads(dat("sql", asked, "--format", "json").out)}
    # Two models that predict the same share their metrics.
    assert stale - {"metrics/blobs/other/zero_shot"} <= computed <= stale


def test_changed_weights_are_noticed_and_named(dat, home, blobs, tmp_path) -> None:
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    save_small_transformers("clip", tmp_path / "models/tiny", seed=5)
    plan = {e["cell"]: e["reason"] for e in json.loads(dat("plan", *REQUEST, "--backbone", "tiny", "--json").out)}
    assert plan["weights/tiny"] == "facts: weights_sha256"
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    facts = dat("sql", "SELECT reason FROM decisions WHERE cell = 'image_embeddings/blobs/tiny' AND run_id = 'r000002'")
    assert "input: weights" in facts.out


def test_another_version_of_a_library_that_decides_vectors_is_noticed_and_named(dat, home, blobs, monkeypatch) -> None:
    from dat_lib.backbones import library_versions

    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    true = library_versions.version

    def upgraded(library: str):
        monkeypatch.setattr(library_versions, "version", lambda name: "99.0" if name == library else true(name))
        library_versions.versions.cache_clear()
        plan = json.loads(dat("plan", *REQUEST, "--backbone", "tiny", "--json").out)
        return {entry["cell"]: entry["reason"] for entry in plan if entry["action"] != "up to date"}

    try:
        assert upgraded("timm") == {}, "no model of transformers uses it"
        assert upgraded("pillow")["weights/tiny"] == "facts: libraries"
        assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
        asked = "SELECT cell, reason FROM decisions WHERE run_id = 'r000002' AND outcome = 'computed'"
        found = {row["cell"]: row["reason"] for row in json.loads(dat("sql", asked, "--format", "json").out)}
        assert found["image_embeddings/blobs/tiny"] == "input: weights"
    finally:
        library_versions.versions.cache_clear()


def test_a_corrected_label_embeds_nothing_again(dat, home, blobs) -> None:
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    table = blobs / "samples.csv"
    table.write_text(table.read_text().replace("59.png,square", "59.png,round"))
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    computed = dat("sql", "SELECT step FROM decisions WHERE run_id = 'r000002' AND outcome = 'computed'").out.split()
    assert set(computed) == {"step", "samples", "predictions", "metrics"}


def test_an_image_that_changed_is_embedded_again(dat, home, blobs) -> None:
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    before = vectors(home)
    Image.new("RGB", (40, 30), "red").save(blobs / "3.png")
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    after = vectors(home)
    assert {key for key in before if before[key] != after[key]} == {"3.png"}


def test_unreadable_images_fail_the_cell_by_name_unless_they_are_tolerated(dat, home, blobs, tmp_path) -> None:
    (blobs / "5.png").write_bytes(b"no image at all")
    (blobs / "40.png").write_bytes(b"")
    (blobs / "50.png").write_bytes((blobs / "50.png").read_bytes()[:200])
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 1
    assert "3 images cannot be read, 0 are tolerated" in ran.err
    for name, why in (("5.png", "not an image"), ("40.png", "empty"), ("50.png", "")):
        assert name in ran.err
        assert why in ran.err
    tolerate(tmp_path, 3)
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 0, ran.err
    assert "samples left out because their images could not be read: 2 of test, 1 of train" in ran.out
    assert json.loads(dat("sql", "SELECT samples FROM results", "--format", "json").out) == [{"samples": 28}]


def test_missing_files_are_all_named_before_the_model_is_opened(dat, home, blobs, tmp_path, monkeypatch) -> None:
    missing = [f"{row}.png" for row in range(3, ROWS, 4)]
    for name in missing:
        (blobs / name).unlink()
    tolerate(tmp_path, len(missing) - 1)
    opened = []
    monkeypatch.setattr("tasks.steps.image_embeddings.open_backbone", lambda *_: opened.append(1))
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 1
    assert f"{len(missing)} images cannot be read, {len(missing) - 1} are tolerated" in ran.err
    assert [line.split(":")[0].strip() for line in ran.err.splitlines() if "no such file" in line] == missing
    assert not opened
    monkeypatch.undo()


def test_as_many_missing_files_as_are_tolerated_are_left_out_and_said_so(dat, home, blobs, tmp_path) -> None:
    (blobs / "3.png").unlink()
    (blobs / "33.png").unlink()
    tolerate(tmp_path, 2)
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 0, ran.err
    assert "could not be read: 1 of test, 1 of train" in ran.out
    assert set(vectors(home)) == {f"{row}.png" for row in range(ROWS)} - {"3.png", "33.png"}


def test_an_image_that_the_models_preprocessing_refuses_counts_as_unreadable(
    dat, home, blobs, tmp_path, monkeypatch
) -> None:
    from dat_lib.backbones.transformers_models import TransformersPreprocess

    Image.new("RGB", (70, 30)).save(blobs / "7.png")
    usual = TransformersPreprocess.__call__

    def refusing(self, image):
        if image.width == 70:
            raise ValueError("too wide for this model")
        return usual(self, image)

    monkeypatch.setattr(TransformersPreprocess, "__call__", refusing)
    monkeypatch.setenv("DAT_WORKERS", "0")
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 1
    assert "1 images cannot be read, 0 are tolerated" in ran.err
    assert "7.png: the model's preprocessing fails: too wide for this model" in ran.err
    tolerate(tmp_path, 1)
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 0, ran.err
    assert "7.png" not in vectors(home)


def test_a_model_that_gives_no_numbers_is_refused(dat, home, blobs, monkeypatch) -> None:
    from dat_lib.backbones.dual_encoder import DualEncoder

    monkeypatch.setattr(DualEncoder, "encode_images", lambda self, batch: batch.new_full((len(batch), 8), float("nan")))
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 1
    assert f"the model gives {ROWS} vectors that are zero or not finite, such as those of 0.png, 1.png" in ran.err


def test_test_images_among_the_references_are_reported_where_the_numbers_are(dat, home, blobs) -> None:
    table = blobs / "samples.csv"
    table.write_text(table.read_text() + "58.png,round,1,train\n59.png,square,1,train\n57.png,square,0,val\n")
    few = ("--set", "n=4", "--set", "k=2")
    request = ("--dataset", "blobs", "--backbone", "tiny", "--method", "nearest_class_mean", *few)
    ran = dat("run", *request)
    assert ran.code == 0, ran.err
    assert "2 test samples are among the images it may learn from" in ran.out
    asked = "SELECT summary -> 'test_samples_also_in' AS found FROM artifacts WHERE step = 'samples'"
    (row,) = json.loads(dat("sql", asked, "--format", "json").out)
    assert row["found"] == {"train": 2, "val": 1}


def tolerate(folder: Path, images: int) -> None:
    spec = folder / "specs/datasets/blobs.toml"
    lines = [line for line in spec.read_text().splitlines() if not line.startswith("tolerance")]
    spec.write_text("\n".join([*lines, f"tolerance = {images}", ""]))


def test_prompts_that_a_model_cannot_read_to_their_end_are_told_and_kept(dat, home, blobs, tmp_path) -> None:
    prompts = tmp_path / "specs/prompts/blobs.toml"
    long = "a {class} " + "very " * 100
    prompts.write_text(prompts.read_text().replace("a {class}", long, 1))
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 0
    assert ran.out.count("cannot read this prompt to its end: a ") == 2
    asked = "SELECT summary -> 'truncated' AS cut FROM artifacts WHERE step = 'text_embeddings'"
    (row,) = json.loads(dat("sql", asked, "--format", "json").out)
    assert row["cut"] == [long.format(**{"class": name}) for name in ("round", "square")]


def test_a_dataset_that_is_not_there_says_what_is_expected(dat, home, blobs, tmp_path) -> None:
    (blobs / "samples.csv").unlink()
    ran = dat("run", *REQUEST, "--backbone", "tiny")
    assert ran.code == 2
    assert "samples.csv" in ran.err


@pytest.mark.slow
def test_killed_in_the_middle_and_resumed_the_embeddings_are_the_same(dat, home, blobs, monkeypatch) -> None:
    assert dat("run", *REQUEST, "--backbone", "tiny").code == 0
    expected = vectors(home)
    monkeypatch.setenv("DAT_HOME", str(home.root.with_name("killed")))
    killed = Home.from_environment()
    code = "import tasks.steps.image_embeddings as step; step.SHARD_ROWS = 8; from flows.cli import main; main()"
    command = [sys.executable, "-c", code, "run", *REQUEST, "--backbone", "tiny", "--json"]
    environment = {**os.environ, "DAT_WORKERS": "0", "DAT_BATCH_SIZE": "4"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while len(list(killed.staging.glob("*/shard-*.parquet"))) < 2 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(list(killed.staging.glob("*/shard-*.parquet")))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[float]] = {}
    for path in sorted((killed.objects / "image_embeddings").glob("*.parquet")):
        table = pq.read_table(path)
        found |= dict(zip(table.column("sample_id").to_pylist(), table.column("embedding").to_pylist(), strict=True))
    np.testing.assert_allclose([found[key] for key in expected], list(expected.values()), atol=1e-5)
    assert len(found) == ROWS
    resumed = subprocess.run(
        [sys.executable, "-c", "from flows.cli import main; main()", "sql", "--format", "json", _RESUMED],
        capture_output=True,
        text=True,
    )
    assert int(json.loads(resumed.stdout)[0]["n"]) == 8 * kept > 0
