"""Files of weights: where they are, what is in them, and that reading them runs nothing."""

import hashlib
import json
import pickle
import stat
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from dat_lib.backbones.backbone import BackboneError

HUB_TIMEOUT_SECONDS = 10.0
"""How long the hub may take to answer before it counts as out of reach."""

_CHUNK = 2**22


def canonical_json(value: object) -> str:
    """One text for equal values, whatever their order: what a fact is written in."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def files_digest(files: Sequence[Path]) -> str:
    """sha256 of one file; of several, the sha256 over their names and digests, in the order given."""
    digests = [_file_digest(path) for path in files]
    if len(digests) == 1:
        return digests[0]
    listing = "".join(f"{path.name} {digest}\n" for path, digest in zip(files, digests, strict=True))
    return hashlib.sha256(listing.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BackboneError(f"{path}: cannot be read: it is not a file")  # a device never ends
        return _digest_of(path.resolve(), status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise BackboneError(f"{path}: cannot be read: {error.strerror or error}") from error


@lru_cache(maxsize=64)
def _digest_of(path: Path, size: int, modified: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def files_at(place: Path) -> list[Path]:
    """All that a model may be read from at a place: a folder's files, or a file and the configs and words beside it.

    Where it is a snapshot of the hub's cache, also what says which snapshot a revision is.
    """
    beside = sorted(place.parent.iterdir()) if place.is_file() else []
    files = [place] if beside else sorted(place.rglob("*"))
    files += [path for path in beside if path.suffix in (".json", ".txt", ".model") and path != place]
    folder = place.parent if beside else place
    if folder.parent.name == "snapshots":
        files += sorted((folder.parent.parent / "refs").rglob("*"))
    return [path for path in files if path.is_file()]


def transformers_files(folder: Path) -> list[Path]:
    """The files of weights that transformers loads from a folder, in order; shards that an index names may be absent.

    safetensors go before pickles and one file before shards, as in the library. Empty where there are none.
    """
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (folder / name).is_file():
            return [folder / name]
        if (folder / f"{name}.index.json").is_file():
            index = folder / f"{name}.index.json"
            shards = read_json(index).get("weight_map", {})
            if not isinstance(shards, dict) or not all(isinstance(shard, str) for shard in shards.values()):
                raise BackboneError(f"{index}: its weight_map must name a file for each tensor")
            return [folder / shard for shard in sorted(set(shards.values()))]
    return []


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BackboneError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise BackboneError(f"{path}: must hold a JSON object")
    return value


def is_torchscript(path: Path) -> bool:
    """Whether a file is a TorchScript archive, as OpenAI's original checkpoints are: a program, not only weights."""
    if not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except Exception as error:  # damaged bytes are met with many kinds of exceptions
        raise _unreadable(path, error) from error


def tensor_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors in a file of weights, without running anything that is in it.

    Raises:
        BackboneError: not a file of weights, damaged, or a pickle that holds more than weights.
    """
    if path.suffix == ".safetensors":
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise _unreadable(path, error) from error
    import torch

    try:
        # Old files are no zip archives and cannot be mapped into memory.
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except pickle.UnpicklingError as error:
        if "Unsupported" in str(error) or "Weights only" in str(error):
            raise BackboneError(
                f"{path}: refused, since this pickle holds more than weights and loading it could run code. "
                "Get the checkpoint as safetensors, or write its state_dict alone where you trust its origin"
            ) from error
        raise _unreadable(path, error) from error
    except Exception as error:  # damaged bytes are met with many kinds of exceptions
        raise _unreadable(path, error) from error
    if isinstance(state, Mapping) and isinstance(state.get("state_dict"), Mapping):
        state = state["state_dict"]
    if not isinstance(state, Mapping):
        state = {}
    shapes = {str(name): tuple(value.shape) for name, value in state.items() if isinstance(value, torch.Tensor)}
    if not shapes:
        raise BackboneError(f"{path}: holds no state_dict, which is a table of named tensors")
    return shapes


def _unreadable(path: Path, error: Exception) -> BackboneError:
    first_line = (str(error).splitlines() or [type(error).__name__])[0]
    return BackboneError(f"{path}: cannot be read as weights ({first_line}); copy or download it again")


def hub_folder(
    repository: str,
    patterns: Sequence[Sequence[str]],
    complete: Callable[[Path], bool],
    *,
    needed: str,
    revision: str | None = None,
) -> Path:
    """The folder of the local hub cache that holds a repository's files, fetched if they are not all there.

    What is cached and `complete` is used as it is: no look at the network, so weights do not change under a run. Else
    each group of `patterns` is fetched in turn until the folder is complete. `needed` names the files in messages.

    Raises:
        BackboneError: not there and not to be had; says which files are expected and how to give local ones.
    """
    from huggingface_hub import HfApi, constants, snapshot_download

    cached = _cached_folder(repository, revision)
    if cached is not None and complete(cached):
        return cached
    try:
        # The download itself has no limit on the first answer and tries again for long.
        HfApi().model_info(repository, revision=revision, timeout=HUB_TIMEOUT_SECONDS)
        for group in patterns:
            fetched = Path(snapshot_download(repository, revision=revision, allow_patterns=list(group)))
            if complete(fetched):
                return fetched
        why = "the repository does not have them"
    except Exception as error:
        why = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    at = f" at revision {revision}" if revision else ""
    raise BackboneError(
        f'the files of "{repository}"{at} are not on this machine and could not be fetched ({why}). Needed: {needed}. '
        f"They are looked for in the hub cache {constants.HF_HUB_CACHE} (set HF_HOME to move it); without a network, "
        "copy them to a folder here and give it in the backbone's spec as `weights`"
    )


def _cached_folder(repository: str, revision: str | None) -> Path | None:
    """Where the hub's cache has a repository. The hub's own search refuses a folder that lacks files nobody needs."""
    from huggingface_hub import constants

    place = Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"
    name = revision or constants.DEFAULT_REVISION
    reference = place / "refs" / name
    folder = place / "snapshots" / (reference.read_text().strip() if reference.is_file() else name)
    return folder if folder.is_dir() else None


def tokenizer_digest(folder: Path) -> str:
    """Digest of the files of a folder that a tokenizer of transformers may read."""
    names = ("tokenizer", "vocab", "merges", "special_tokens", "added_tokens", "spiece", "sentencepiece")
    return files_digest([path for path in sorted(folder.iterdir()) if path.name.startswith(names)])


def first_file(folder: Path, names: Iterable[str]) -> Path | None:
    """The first of the named files that is in a folder."""
    return next((folder / name for name in names if (folder / name).is_file()), None)
