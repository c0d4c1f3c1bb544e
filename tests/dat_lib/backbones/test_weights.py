"""Files of weights: digests, unsafe and damaged ones, and a hub that does not answer."""

import hashlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dat_lib.backbones import weights
from dat_lib.backbones.backbone import BackboneError
from dat_lib.backbones.weights import files_digest, hub_folder, is_torchscript, tensor_shapes, transformers_files
from tests.dat_lib.backbones.small_models import RunsCodeOnLoad


def test_the_digest_of_one_file_is_its_sha256_and_follows_its_content(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    for content in (b"one", b"two"):
        file.write_bytes(content)
        assert files_digest([file]) == hashlib.sha256(content).hexdigest()
    with pytest.raises(BackboneError, match="cannot be read"):
        files_digest([tmp_path / "absent"])


def test_the_digest_of_shards_depends_on_content_names_and_order(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "b")]
    for file in files:
        file.write_bytes(file.name.encode())
    both = files_digest(files)
    assert files_digest(files[::-1]) != both
    files[1].write_bytes(b"changed")
    assert files_digest(files) != both


def test_safetensors_go_before_pickles_as_in_the_library(tmp_path: Path) -> None:
    assert transformers_files(tmp_path) == []
    for name in ("pytorch_model.bin", "model.safetensors"):
        (tmp_path / name).write_bytes(b"")
        assert transformers_files(tmp_path) == [tmp_path / name]


@pytest.mark.parametrize("name", ["a.pt", "a.safetensors", "old.pt"])
def test_shapes_are_read_from_every_format(tmp_path: Path, name: str) -> None:
    import torch
    from safetensors.torch import save_file

    state = {"weight": torch.zeros(2, 3), "scale": torch.zeros(())}
    if name == "a.safetensors":
        save_file(state, tmp_path / name)
    else:
        torch.save({"state_dict": state}, tmp_path / name, _use_new_zipfile_serialization=name == "a.pt")
    assert tensor_shapes(tmp_path / name) == {"weight": (2, 3), "scale": ()}
    assert not is_torchscript(tmp_path / name)


@pytest.mark.parametrize("new", [True, False])
def test_a_pickle_that_runs_code_is_refused_and_does_not_run(tmp_path: Path, new: bool) -> None:
    import torch

    torch.save({"more": RunsCodeOnLoad(tmp_path / "ran")}, tmp_path / "a.pt", _use_new_zipfile_serialization=new)
    with pytest.raises(BackboneError, match="could run code"):
        tensor_shapes(tmp_path / "a.pt")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["a.pt", "a.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "empty", "text"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: str) -> None:
    import torch
    from safetensors.torch import save_file

    file = tmp_path / name
    state = {"weight": torch.arange(3000.0)}
    (save_file if name.endswith("safetensors") else torch.save)(state, file)
    content = file.read_bytes()
    file.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "text": b"<html>404</html>" * 9}[damage])
    with pytest.raises(BackboneError, match=f"{name}: (cannot be read as weights|refused)"):
        tensor_shapes(file)


def test_a_file_without_tensors_is_named(tmp_path: Path) -> None:
    import torch

    torch.save([1, 2], tmp_path / "a.pt")
    with pytest.raises(BackboneError, match="holds no state_dict"):
        tensor_shapes(tmp_path / "a.pt")


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A hub that takes a connection and never answers, as behind some firewalls."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_hold, args=(server,), daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def _hold(server: socket.socket) -> None:
    held = []
    while True:
        try:
            held.append(server.accept())
        except OSError:
            return


@pytest.mark.timeout(60)
def test_a_hub_that_does_not_answer_is_not_waited_for(
    silent_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", silent_server)
    monkeypatch.setattr(weights, "HUB_TIMEOUT_SECONDS", 0.3)
    with pytest.raises(BackboneError, match=r"could not be fetched .* Needed: a.bin"):
        hub_folder("owner/name", [["a.bin"]], lambda folder: False, needed="a.bin")


@pytest.mark.slow
def test_preprocessing_works_in_a_process_that_has_imported_nothing() -> None:
    """As a worker that is spawned, not forked, where nothing has been imported in the right order."""
    code = """
import pickle
from PIL import Image
from dat_lib.backbones.open_clip_models import OpenClipPreprocess
from dat_lib.backbones.transformers_models import TransformersPreprocess
ours = OpenClipPreprocess(
    '{"size":8,"mean":[0.5,0.5,0.5],"std":[0.5,0.5,0.5],"interpolation":"bicubic","resize_mode":"shortest"}'
)
theirs = TransformersPreprocess(
    "transformers.models.siglip.image_processing_siglip",
    '{"image_processor_type":"SiglipImageProcessor","size":{"height":8,"width":8}}',
)
for preprocess in (theirs, ours):
    print(tuple(pickle.loads(pickle.dumps(preprocess))(Image.new("L", (20, 10), 255)).shape))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.split("\n")[:2] == ["(3, 8, 8)", "(3, 8, 8)"], done.stderr
