"""That an open_clip model computes with the activation and the preprocessing its weights were trained with.

The library takes a local file with whatever activation and preprocessing the model's name implies. Both decide every
number, so here each must be stated by something that knows: the library's table (`pretrained`), a config beside the
weights, OpenAI's own archives, or the spec.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dat_lib.backbones.backbone import BackboneError
from dat_lib.backbones.open_clip_files import (
    CONFIG_FILE,
    HUB_PREFIX,
    text_tower_folder,
    tokenizer_folder,
    weights_file,
)
from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.backbones.weights import files_digest, is_torchscript, read_json
from dat_lib.suggestions import did_you_mean

_PREPROCESSING = ("mean", "std", "interpolation", "resize_mode")
Table = Mapping[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """All that decides a model's numbers."""

    name: str
    """The library's or the hub's name of the model, for messages and facts."""
    source: str
    """What `open_clip.create_model` is given: the library's name, or "local-dir:" and a folder with a config."""
    config: dict[str, Any]
    """The library's model config."""
    weights: Path
    activation: str
    """The one of "quick_gelu" and "gelu" that the config computes with and the weights were trained with."""
    preprocessing: dict[str, Any]
    """mean, std, interpolation, resize_mode; the size is the model's."""
    text_tower: Path | None
    """Folder with the config of a text tower that transformers builds."""
    tokenizer: Path | None
    """Folder of a tokenizer of transformers; None for the library's own vocabulary."""

    @property
    def image_size(self) -> int | list[int]:
        """Side, or height and width, of the images the model takes."""
        size: int | list[int] = self.config["vision_cfg"].get("image_size", 224)
        return size


def find_checkpoint(
    *,
    model: str | None = None,
    pretrained: str | None = None,
    weights: str | None = None,
    revision: str | None = None,
    activation: str | None = None,
    preprocessing: Table | None = None,
) -> Checkpoint:
    """Find the files and check that they fit each other; `open_clip_models.open_backbone` explains the settings."""
    import_torchvision()
    of_library = model is not None and not model.startswith(HUB_PREFIX)
    name = model.replace("/", "-") if model is not None and of_library else model or (weights or "")
    if not name:
        raise BackboneError("an open_clip backbone needs `model`: a name of the library, or hf-hub:owner/repository")
    config = _library_config(name) if of_library else None
    tag = _table_entry(name, pretrained) if pretrained else {}
    file = weights_file(name, tag, weights, revision)
    beside = read_json(file.parent / CONFIG_FILE) if (file.parent / CONFIG_FILE).is_file() else {}
    config = config or beside.get("model_cfg")
    if not config:
        raise BackboneError(
            f"{file}: there is no {CONFIG_FILE} with a model_cfg beside it, so its architecture is not known; copy it "
            "from where the weights come from, or name a model of the library as `model`"
        )
    original = _openai_original(file)
    return Checkpoint(
        name=name if model else "open_clip folder",
        source=name if of_library else f"local-dir:{file.parent}",
        config=config,
        weights=file,
        activation=_activation(name, file, config, activation, tag or original, beside),
        preprocessing=_preprocessing(name, file, preprocessing, tag or original, beside),
        text_tower=text_tower_folder(config, file.parent),
        tokenizer=tokenizer_folder(config, file.parent, given=weights is not None),
    )


def _library_config(model: str) -> dict[str, Any]:
    import open_clip

    config: dict[str, Any] | None = open_clip.get_model_config(model)
    if config is None:
        hint = did_you_mean(model, open_clip.list_models())
        raise BackboneError(f'open_clip {open_clip.__version__} has no model "{model}"{hint}')
    return config


def _table_entry(model: str, pretrained: str) -> Table:
    import open_clip

    if model.startswith(HUB_PREFIX):
        raise BackboneError(f'{model}: `pretrained` = "{pretrained}" means nothing for a hub model; leave it out')
    entry: Table = open_clip.get_pretrained_cfg(model, pretrained)
    if not entry:
        tags = open_clip.list_pretrained_tags_by_model(model)
        hint = did_you_mean(pretrained, tags) if tags else "; it lists none: give a local file as `weights`"
        raise BackboneError(f'open_clip lists no weights "{pretrained}" for the model "{model}"{hint}')
    return entry


def _openai_original(file: Path) -> Table:
    """The library's table entry of OpenAI's own archive, if the file is one; a TorchScript file must be one."""
    import open_clip

    if not is_torchscript(file):
        return {}
    digest = files_digest([file])
    for model in open_clip.list_pretrained_models_by_tag("openai"):
        entry: Table = open_clip.get_pretrained_cfg(model, "openai")
        if f"/{digest}/" in entry.get("url", ""):
            return entry
    raise BackboneError(
        f"{file}: refused, since it is a TorchScript archive, a program that runs when it is loaded, and by its sha256 "
        "none of those that OpenAI published. Give its state_dict alone, as safetensors"
    )


def _activation_of(table: Table) -> str:
    return "quick_gelu" if table.get("quick_gelu", False) else "gelu"


def _activation(name: str, file: Path, config: Table, stated: str | None, tag: Table, beside: Table) -> str:
    """The activation of the config, if all that is known of the weights agrees with it and something is known."""
    if stated not in (None, "quick_gelu", "gelu"):
        raise BackboneError(f'{name}: `activation` = "{stated}" is not allowed; it takes "quick_gelu" or "gelu"')
    evidence = {"`activation` in the spec": stated} if stated else {}
    if tag:
        evidence["the library's table for these weights"] = _activation_of(tag)
    elif "model_cfg" in beside:
        evidence[f"{CONFIG_FILE} beside the weights"] = _activation_of(beside["model_cfg"])
    if not evidence:
        raise BackboneError(
            f"{file}: nothing says which activation these weights were trained with, and {name} with the wrong one "
            'gives wrong numbers without a sign. Set activation = "quick_gelu" (OpenAI, MetaCLIP, most of DFN) or '
            '"gelu" (most of LAION), or `pretrained` to the tag the weights come from'
        )
    used = _activation_of(config)
    for witness, trained in evidence.items():
        if trained != used:
            raise BackboneError(
                f"{name} computes with {used}, but {witness} says {trained}: every number would be wrong. "
                + _activation_remedy(name, trained)
            )
    return used


def _activation_remedy(name: str, trained: str) -> str:
    import open_clip

    other = f"{name}-quickgelu" if trained == "quick_gelu" else name.removesuffix("-quickgelu")
    if other in open_clip.list_models():
        return f'Set model = "{other}"'
    return f"Set quick_gelu = {'true' if trained == 'quick_gelu' else 'false'} in the model's config"


def _preprocessing(name: str, file: Path, stated: Table | None, tag: Table, beside: Table) -> dict[str, Any]:
    if stated is not None:
        if set(stated) != set(_PREPROCESSING):
            raise BackboneError(f"{name}: `preprocessing` takes exactly {', '.join(_PREPROCESSING)}")
        return dict(stated)
    of_config = beside.get("preprocess_cfg", {})
    if not tag and not {"mean", "std"} <= set(of_config):
        raise BackboneError(
            f"{file}: the image preprocessing of these weights is not known. Copy {CONFIG_FILE} beside the file, set "
            "`pretrained` to the tag the weights come from, or write it in the spec: preprocessing = "
            '{ mean = [...], std = [...], interpolation = "bicubic", resize_mode = "shortest" }'
        )
    # Configs on the hub may name mean and std only; the rest is then the library's default.
    found = tag or {"interpolation": "bicubic", "resize_mode": "shortest"} | of_config
    return {key: found[key] for key in _PREPROCESSING}
