"""A dataset kind and a backbone kind of another package: one file each, installed beside the project, and run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.flows.small_images import _PROMPTS

EXAMPLES = Path(__file__).parents[1] / "examples"
KINDS = {"datasets": "named_images", "backbones": "linear_clip"}
REQUEST = ("--dataset", "blobs", "--backbone", "linear", "--method", "zero_shot")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with images, weights and specs, and a package that offers both kinds."""
    installed = tmp_path / "site" / "foreign_kinds-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-kinds\nVersion: 1.0\n")
    points = [f"[dat_bench.{room}]\n{name} = {name}\n" for room, name in KINDS.items()]
    (installed / "entry_points.txt").write_text("\n".join(points))
    for name in KINDS.values():
        shutil.copy(EXAMPLES / f"{name}.py", tmp_path / "site")
    rng = np.random.default_rng(0)
    (tmp_path / "blobs").mkdir()
    for row in range(40):
        words = ("train" if row < 20 else "test", ["round", "square"][row % 2], ["dark", "light"][row // 2 % 2])
        noise = rng.integers(0, 255, (30, 40, 3), dtype=np.uint8)
        Image.fromarray(noise).save(tmp_path / "blobs" / f"{'_'.join(words)}_{row}.png")
    np.save(tmp_path / "linear.npy", rng.standard_normal((3 * 8 * 8, 16)).astype(np.float32))
    specs = {
        "prompts/blobs": _PROMPTS,
        "datasets/blobs": 'prompts = "blobs"\n[source]\nkind = "named_images"\nroot = "../../blobs"\n',
        "backbones/linear": 'kind = "linear_clip"\nweights = "../../linear.npy"\n',
    }
    for name, text in specs.items():
        path = tmp_path / f"specs/{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def dat(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DAT_")}
    environment |= {"DAT_RUNNER": "inline", "DAT_REPORT": "false", "PYTHONPATH": str(folder / "site")}
    command = [sys.executable, "-c", "from flows.cli import main; main()", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def stale(folder: Path) -> dict[str, str]:
    plan = json.loads(dat(folder, "plan", *REQUEST, "--json").stdout)
    return {entry["cell"]: entry["reason"] for entry in plan if entry["action"] != "up to date"}


@pytest.mark.parametrize("name", KINDS.values())
def test_a_kind_takes_one_file_of_less_than_forty_lines(name: str) -> None:
    lines = [line for line in (EXAMPLES / f"{name}.py").read_text().splitlines() if line.strip()]
    assert len(lines) < 40


@pytest.mark.slow
def test_images_of_a_foreign_kind_are_embedded_by_a_model_of_another_and_both_are_in_the_keys(folder: Path) -> None:
    dat(folder, "run", *REQUEST)
    (row,) = json.loads(dat(folder, "sql", "SELECT samples, wg FROM results", "--format", "json").stdout)
    assert row["samples"] == 20
    asked = "SELECT params, facts FROM artifacts WHERE step = 'weights'"
    (weights,) = json.loads(dat(folder, "sql", asked, "--format", "json").stdout)
    assert weights["params"] == {"kind": "linear_clip", "settings": {}, "dimension": None}
    assert weights["facts"]["libraries"].startswith(f"numpy {np.__version__}, torch ")
    assert stale(folder) == {}
    loader, text = folder / "site/named_images.py", (folder / "site/named_images.py").read_text()
    loader.write_text(text.replace('says=(".",)', 'says=(".", ".")[:1]'))
    found = stale(folder)
    assert {found.pop(f"{step}/blobs") for step in ("samples", "files")} == {"code: named_images"}
    assert found.pop("image_embeddings/blobs/linear") == "input: files"
    assert not {"weights/linear", "text_embeddings/blobs/linear"} & set(found)
    loader.write_text(text)
    np.save(folder / "linear.npy", np.ones((3 * 8 * 8, 16), np.float32))
    Image.new("RGB", (9, 9)).save(folder / "blobs/test_round_dark_40.png")
    found = stale(folder)
    assert found["weights/linear"] == "facts: weights_sha256"
    assert "1 of 41 images added" in found["files/blobs"]


@pytest.mark.slow
def test_without_the_package_its_kinds_are_unknown_and_the_spec_is_named(folder: Path) -> None:
    shutil.rmtree(folder / "site/foreign_kinds-1.0.dist-info")
    for words in (("plan", *REQUEST), ("validate", "specs/datasets/blobs.toml")):
        told = dat(folder, *words, code=2).stderr
        assert 'specs/datasets/blobs.toml: line 3, source.kind: there is no dataset kind "named_images"' in told
        assert "Known: celeba, covid, fmow, image_folder, sample_table, simulated, toybirds, waterbirds" in told
    told = dat(folder, "validate", "specs/backbones/linear.toml", code=2).stderr
    assert 'specs/backbones/linear.toml: line 1, kind: there is no backbone kind "linear_clip"' in told
    assert "Known: open_clip, precomputed, simulated, transformers" in told


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_is_named(folder: Path) -> None:
    (folder / "site/named_images.py").write_text("import no_such_library\n")
    told = dat(folder, "plan", *REQUEST, code=2).stderr
    assert '"named_images" = named_images cannot be loaded: ModuleNotFoundError: No module named' in told
