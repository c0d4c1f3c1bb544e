"""Where the files of an open_clip model are: given by the user, in the hub's cache, or fetched into it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dat_lib.backbones.backbone import BackboneError
from dat_lib.backbones.weights import first_file, hub_folder, read_json

HUB_PREFIX = "hf-hub:"
CONFIG_FILE = "open_clip_config.json"
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.txt", "vocab.json")
_HUB_WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")
_OTHER_WEIGHTS = ("open_clip_pytorch_model.safetensors", "model.safetensors", "pytorch_model.bin")
_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth")


def weights_file(model: str, tag: Mapping[str, Any], weights: str | None, revision: str | None) -> Path:
    """The one file of weights: `weights` itself or in that folder, else the hub's for a hub model or a table entry."""
    if weights is not None:
        path = Path(weights).expanduser()
        if path.is_file():
            return path
        if not path.is_dir():
            raise BackboneError(f"{model}: `weights` = {path} does not exist; give a checkpoint file or its folder")
        return _checkpoint_in(path)
    if model.startswith(HUB_PREFIX):
        folder = hub_folder(
            model.removeprefix(HUB_PREFIX),
            [["*.json", "*.txt", _HUB_WEIGHTS[0]], [_HUB_WEIGHTS[1]]],
            lambda folder: (folder / CONFIG_FILE).is_file() and first_file(folder, _HUB_WEIGHTS) is not None,
            needed=f"{CONFIG_FILE} and {' or '.join(_HUB_WEIGHTS)}",
            revision=revision,
        )
        return _checkpoint_in(folder)
    if not tag:
        import open_clip

        tags = ", ".join(open_clip.list_pretrained_tags_by_model(model)) or "none"
        raise BackboneError(
            f"{model}: which weights? Set `pretrained` to a tag of the library ({tags}) or `weights` to a local file"
        )
    repository, _, name = str(tag.get("hf_hub", "")).rpartition("/")
    if not repository:
        raise BackboneError(f"{model}: these weights are not on the hub; get {tag.get('url')}, give it as `weights`")
    names = (name.removesuffix(".bin") + ".safetensors", name) if name else _HUB_WEIGHTS
    folder = hub_folder(
        repository,
        [[one] for one in names],
        lambda folder: first_file(folder, names) is not None,
        needed=" or ".join(names),
        revision=revision,
    )
    found = first_file(folder, names)
    assert found is not None
    return found


def _checkpoint_in(folder: Path) -> Path:
    """The checkpoint of a folder: by the names the library uses, else the only one there."""
    found = first_file(folder, (*_HUB_WEIGHTS, *_OTHER_WEIGHTS))
    others = [path for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES and path.is_file()]
    if found is None and len(others) == 1:
        found = others[0]
    if found is None:
        there = ", ".join(path.name for path in others) or "no checkpoint at all"
        raise BackboneError(f"{folder}: expected {' or '.join(_HUB_WEIGHTS)}, found {there}; give the file itself")
    return found


def text_tower_folder(config: Mapping[str, Any], beside: Path) -> Path | None:
    """Folder with the config.json of a text tower that transformers builds (BiomedCLIP's); None if there is none.

    It may lie beside the weights. A tower that would need code from its repository is refused.
    """
    tower = config["text_cfg"].get("hf_model_name")
    if not tower:
        return None
    if (beside / "config.json").is_file():
        folder = beside
    elif Path(tower).is_dir():
        folder = Path(tower)
    else:
        folder = hub_folder(
            tower,
            [["config.json"]],
            lambda folder: (folder / "config.json").is_file(),
            needed="the text tower's config.json, which may lie beside the weights",
        )
    from transformers import CONFIG_MAPPING

    kind = read_json(folder / "config.json").get("model_type")
    if kind not in CONFIG_MAPPING:
        raise BackboneError(
            f'{folder / "config.json"}: model_type "{kind}" is unknown to transformers, so the text tower would need '
            "code from its repository, which is never run"
        )
    return folder


def tokenizer_folder(config: Mapping[str, Any], beside: Path, *, given: bool) -> Path | None:
    """Folder of a tokenizer of transformers; None where the model uses open_clip's own vocabulary.

    As in the library: that of a user's own folder (`given`), else the one that the config names.
    """
    named = config["text_cfg"].get("hf_tokenizer_name")
    if not named:
        return None
    if given and first_file(beside, _TOKENIZER_FILES):
        return beside
    if Path(named).is_dir():
        return Path(named)
    return hub_folder(
        named,
        [[*_TOKENIZER_FILES, "tokenizer_config.json", "special_tokens_map.json", "merges.txt", "config.json"]],
        lambda folder: first_file(folder, _TOKENIZER_FILES) is not None,
        needed="the tokenizer (tokenizer.json, tokenizer_config.json), which may lie beside the weights",
    )
