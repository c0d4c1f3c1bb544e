"""Files of models and embeddings that hold code: it is never run.

Pickled checkpoints, TorchScript and `auto_map` of a model: tests/dat_lib/backbones/test_{weights,open_clip_models,
transformers_models}.py.
"""

import io
import json
import pickle
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dat_lib.backbones.backbone import BackboneError
from dat_lib.backbones.open_clip_checkpoint import find_checkpoint
from dat_lib.backbones.transformers_models import open_backbone
from dat_lib.backbones.weights import is_torchscript, tensor_shapes, transformers_files
from tests.dat_lib.backbones.small_models import RunsCodeOnLoad, refuse_network, save_small_transformers
from tests.hostile.kinds import KINDS
from tests.hostile.kinds.embeddings import IMPORT
from tests.hostile.mutating import put_in_place
from tests.hostile.trying import prepared
from tests.hostile.watching import World, dat, limited, watched


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_transformers("clip", tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def model(tiny: Path, tmp_path: Path) -> Path:
    """A copy of a small model, with code of its own beside it that tells when it is run."""
    folder = tmp_path / "model"
    shutil.copytree(tiny, folder)
    code = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).write_text('ran')\n"
    for name in ("own_code.py", "tokenization_own.py", "image_processing_own.py", "setup.py", "__init__.py"):
        (folder / name).write_text(code)
    return folder


def opened_without_running(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open it or have it refused; neither runs its code, writes a file nor asks the network."""
    refuse_network(monkeypatch)
    with watched(folder / "nowhere") as acts, suppress(BackboneError):
        open_backbone(weights=str(folder))
    assert acts == []
    assert not (folder.parent / "ran").exists()


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        (
            "tokenizer_config.json",
            {"auto_map": {"AutoTokenizer": ["own_code.T", "own_code.T"]}, "tokenizer_class": "OwnTokenizer"},
        ),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["own_code.T", None]}}),
        ("preprocessor_config.json", {"auto_map": {"AutoImageProcessor": "own_code.P"}, "image_processor_type": "Own"}),
        ("preprocessor_config.json", {"auto_map": {"AutoImageProcessor": "own_code.P"}}),
        ("config.json", {"auto_map": {"AutoModel": "someone/else--own_code.Model"}, "model_type": "mine"}),
        ("config.json", {"quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}}),
        ("config.json", {"base_model_tp_plan": {"a": "own_code"}, "custom_pipelines": {"x": {"impl": "own_code.P"}}}),
    ],
)
def test_code_that_a_models_files_name_is_never_run(
    model: Path, monkeypatch: pytest.MonkeyPatch, file: str, changes: dict[str, object]
) -> None:
    change(model / file, **changes)
    opened_without_running(model, monkeypatch)


@pytest.mark.parametrize("name", ["attn_implementation", "_attn_implementation", "experts_implementation"])
@pytest.mark.parametrize("part", ["", "text_config"])
def test_kernels_that_a_config_names_are_never_fetched(model: Path, name: str, part: str) -> None:
    """The library would fetch and run them, whatever `trust_remote_code` says, where the package `kernels` is there."""
    kernel = {name: "someone/kernel:run"}
    config = json.loads((model / "config.json").read_text())
    change(model / "config.json", **({part: {**config[part], **kernel}} if part else kernel))
    with pytest.raises(BackboneError, match="code from the hub, which is never run"):
        open_backbone(weights=str(model))


@pytest.mark.parametrize("name", ["training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth", "vocab.pkl"])
def test_other_pickles_in_a_models_folder_are_not_opened(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (model / name).write_bytes(pickle.dumps(RunsCodeOnLoad(tmp_path / "ran")))
    opened_without_running(model, monkeypatch)


def test_a_pickle_under_the_name_of_safetensors_is_not_unpickled(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").write_bytes(pickle.dumps(RunsCodeOnLoad(tmp_path / "ran")))
    with pytest.raises(BackboneError, match="cannot be read as weights"):
        open_backbone(weights=str(model))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("shard", ["/proc/version", "../../x.safetensors", 3, None, ["a"]])
def test_an_index_of_shards_that_names_no_shard_is_refused(model: Path, shard: object) -> None:
    (model / "model.safetensors").unlink()
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(BackboneError):
        open_backbone(weights=str(model))


@pytest.mark.parametrize("name", ["tokenizer_config.json", "vocab.json", "model.safetensors", "config.json"])
def test_a_device_or_a_pipe_among_a_models_files_is_not_read(model: Path, name: str) -> None:
    for place in ("fifo", "zero"):
        put_in_place(model / name, place)
        with limited(60), pytest.raises(BackboneError):
            open_backbone(weights=str(model))


def test_an_index_without_a_map_is_refused(tmp_path: Path) -> None:
    for map_ in ([], "x", 3):
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": map_}))
        with pytest.raises(BackboneError, match="weight_map"):
            transformers_files(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "preprocessor_config.json", "tokenizer_config.json"])
def test_json_within_json_by_the_thousand_is_refused(model: Path, name: str) -> None:
    (model / name).write_text('{"a":' * 50_000 + "1" + "}" * 50_000)
    with pytest.raises(BackboneError):
        open_backbone(weights=str(model))


def test_an_archive_whose_listing_is_damaged_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w") as archive:
        archive.writestr("a/data.pkl", b"x")
    content = (tmp_path / "a.pt").read_bytes()
    (tmp_path / "a.pt").write_bytes(content.replace(b"PK\x01\x02", b"PK\x01\x03"))
    for reader in (is_torchscript, tensor_shapes):
        with pytest.raises(BackboneError, match="cannot be read as weights"):
            reader(tmp_path / "a.pt")


@pytest.mark.parametrize(
    "pickled", [b".", b"(", b"0.", b"]a.", b"cbuiltins\nbytearray\n(I-1\ntR.", b"\x80\xff.", b"h\x07."]
)
@pytest.mark.parametrize("zipped", [True, False])
def test_pickles_that_no_program_wrote_are_refused(tmp_path: Path, pickled: bytes, zipped: bool) -> None:
    path = tmp_path / "a.pt"
    if zipped:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/data.pkl", pickled)
            archive.writestr("a/version", "3\n")
    else:
        path.write_bytes(pickled)
    with pytest.raises(BackboneError):
        tensor_shapes(path)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return prepared(KINDS["embeddings"], tmp_path / "world")


def test_pickles_beside_embeddings_are_not_opened(world: World, tmp_path: Path) -> None:
    hostile = np.array([RunsCodeOnLoad(tmp_path / "ran")], dtype=object)
    for name in ("images.npy", "texts.npy", "images.pkl", "embeddings.npz"):
        np.save(world.work / "export" / name, hostile, allow_pickle=True)
    ran = dat(world, *IMPORT)
    assert ran.code == 0, ran.err
    assert not ran.faults
    assert not (tmp_path / "ran").exists()


def test_object_arrays_in_the_place_of_parquet_are_refused(world: World, tmp_path: Path) -> None:
    data = io.BytesIO()
    np.save(data, np.array([RunsCodeOnLoad(tmp_path / "ran")], dtype=object), allow_pickle=True)
    (world.work / "export/images.parquet").write_bytes(data.getvalue())
    ran = dat(world, *IMPORT)
    assert ran.code == 2
    assert "cannot be read as Parquet" in ran.err
    assert not ran.faults
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["arrow.py_extension_type", "pandas.period"])
def test_pickles_in_the_metadata_of_parquet_are_not_opened(world: World, tmp_path: Path, name: str) -> None:
    path = world.work / "export/images.parquet"
    table, code = pq.read_table(path), pickle.dumps(RunsCodeOnLoad(tmp_path / "ran"))
    marked = {b"ARROW:extension:name": name.encode(), b"ARROW:extension:metadata": code}
    fields = [field.with_metadata(marked) if field.name == "sample_id" else field for field in table.schema]
    schema = pa.schema(fields, metadata={b"pandas": code, b"huggingface": code})
    pq.write_table(pa.table(table.columns, schema=schema), path)
    ran = dat(world, *IMPORT)
    assert ran.code in (0, 2)
    assert not ran.faults
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["open_clip_pytorch_model.bin", "mine.pt"])
def test_a_device_is_no_checkpoint_of_open_clip(tmp_path: Path, name: str) -> None:
    (tmp_path / "open_clip_config.json").write_text("{}")
    put_in_place(tmp_path / name, "zero")
    with pytest.raises(BackboneError, match="found no checkpoint at all"):
        find_checkpoint(weights=str(tmp_path))
