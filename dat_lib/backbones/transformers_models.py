"""Vision-language models of transformers (CLIP, ALIGN, AltCLIP, SigLIP and their like): from the hub or a folder."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dat_lib.backbones.backbone import Backbone, BackboneError, check_settings
from dat_lib.backbones.dual_encoder import DualEncoder, Towers, check_precision, prepare_device
from dat_lib.backbones.library_versions import RUNTIME, versions
from dat_lib.backbones.registry import BackboneKind
from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.backbones.weights import (
    canonical_json,
    files_at,
    files_digest,
    hub_folder,
    read_json,
    tensor_shapes,
    tokenizer_digest,
    transformers_files,
)

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

KIND = BackboneKind("transformers", libraries=("transformers",))
SETTINGS: Mapping[str, type] = {"model": str, "precision": str, "revision": str}
# Only what is in the folder is used, and only code that comes with the library is run.
_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_ALIGN_CONTEXT = 64
_LONG_CONTEXT = 128


def open_backbone(device: str = "cpu", weights: str | None = None, **settings: Any) -> Backbone:
    """Open a model of transformers that embeds images and texts.

    Args:
        device: "cpu", "cuda", "cuda:1".
        weights: a local folder with the model's files, instead of the hub: config.json, model.safetensors, the
            tokenizer's files, and preprocessor_config.json or processor_config.json.
        settings: `model`: the hub's "owner/repository", or a local folder; may be left out where `weights` is given.
            `revision`: of the hub's repository, best a commit. `precision`: "float32" (default), "float16" or
            "bfloat16".

    Raises:
        BackboneError: files missing, unsafe or not fitting, or a model without two towers.
    """
    folder, precision = _folder(weights, settings)
    prepare_device(device)
    facts = _facts(folder, precision)
    model = _build(folder, facts["model"]).to(device).eval()
    tokenizer = _from_folder("AutoTokenizer", folder)
    length = _context_length(model.config, tokenizer)
    # Padding to the full length makes a vector independent of its neighbours in a batch, and SigLIP reads its last
    # position; in a text tower with hundreds of positions it would only waste time.
    padding = "max_length" if length <= _LONG_CONTEXT else "longest"

    def tokenize(prompts: list[str]) -> "tuple[dict[str, torch.Tensor], list[int]]":
        tokens = tokenizer(prompts, padding=padding, truncation=True, max_length=length, return_tensors="pt")
        whole = tokenizer(prompts, padding=False, truncation=False, verbose=False)
        return dict(tokens), [len(ids) for ids in whole["input_ids"]]

    towers = Towers(
        images=lambda batch: _vectors(model.get_image_features(pixel_values=batch)),
        texts=lambda tokens: _vectors(model.get_text_features(**tokens)),
        tokenize=tokenize,
        context_length=length,
        logit_scale=_logit_scale(model),
    )
    return DualEncoder(towers, _preprocess(folder), facts, device, precision)


def backbone_facts(weights: str | None = None, **settings: Any) -> dict[str, str]:
    """What decides the vectors outside our code, for the arguments of `open_backbone`; the model is not built.

    `library` and `runtime` (with versions), `model` (its class), `config` (sha256 of config.json), `weights` (sha256
    of the file, or over the shards in order), `activation` (JSON, a tower each), `preprocessing` (JSON), `tokenizer`
    (sha256 of its files), `precision`.
    """
    return _facts(*_folder(weights, settings))


def backbone_files(weights: str | None = None, **settings: Any) -> list[Path]:
    """All files that decide the vectors, for the arguments of `open_backbone`; fetched if they are not there."""
    return files_at(_folder(weights, settings)[0])


def _folder(weights: str | None, settings: Mapping[str, Any]) -> tuple[Path, str]:
    check_settings("transformers", settings, SETTINGS)
    precision = str(settings.get("precision") or "float32")
    check_precision(precision)
    name = settings.get("model")
    if not name and not weights:
        raise BackboneError("a transformers backbone needs `model`: the hub's owner/repository, or a local folder")
    local = Path(weights or str(name)).expanduser()
    if not weights and not local.is_dir() and not str(name).startswith(("/", ".", "~")):
        folder = hub_folder(
            str(name),
            [["*.json", "*.txt", "*.model", "model*.safetensors"], ["pytorch_model*.bin"]],
            lambda folder: not _absent(folder),
            needed="config.json, model.safetensors, the tokenizer's files, preprocessor_config.json",
            revision=settings.get("revision"),
        )
        return folder, precision
    if not local.is_dir():
        raise BackboneError(f"{local}: is not a folder; a transformers model is a folder with a config.json")
    if absent := _absent(local):
        raise BackboneError(
            f"{local}: lacks {'; '.join(absent)}. Copy what is missing from where the weights come from"
        )
    return local, precision


def _absent(folder: Path) -> list[str]:
    """What a model needs and a folder lacks."""
    absent = []
    if not (folder / "config.json").is_file():
        absent.append("config.json")
    files = transformers_files(folder)
    if not files:
        absent.append("the weights (model.safetensors or pytorch_model.bin)")
    absent += [path.name for path in files if not path.is_file()]
    nested = folder / "processor_config.json"
    if not (folder / "preprocessor_config.json").is_file() and not (
        nested.is_file() and "image_processor" in read_json(nested)
    ):
        absent.append("the image preprocessing, which is not guessed (preprocessor_config.json)")
    if not any(path.name.startswith(("tokenizer.", "vocab", "spiece", "sentencepiece")) for path in folder.iterdir()):
        absent.append("the tokenizer (tokenizer.json, tokenizer_config.json)")
    return absent


def _facts(folder: Path, precision: str) -> dict[str, str]:
    _refuse_kernels(read_json(folder / "config.json"), folder)
    config = _from_folder("AutoConfig", folder)
    towers = {name: getattr(getattr(config, f"{name}_config", None), "hidden_act", None) for name in ("text", "vision")}
    return {
        "library": versions("transformers"),
        "runtime": versions(*RUNTIME),
        "model": str((config.architectures or [config.model_type])[0]),
        "config": files_digest([folder / "config.json"]),
        "weights": files_digest(transformers_files(folder)),
        "activation": canonical_json(towers),
        "preprocessing": _preprocess(folder).config,
        "tokenizer": tokenizer_digest(folder),
        "precision": precision,
    }


def _refuse_kernels(config: Mapping[str, Any], folder: Path) -> None:
    """Refuse a config that names code on the hub to compute with, which the library fetches and runs unasked."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            _refuse_kernels(value, folder)
        elif name.endswith("_implementation") and "/" in str(value):
            raise BackboneError(
                f'{folder / "config.json"}: {name} = "{value}" is code from the hub, which is never run'
            )


def _from_folder(auto_class: str, folder: Path, **arguments: Any) -> Any:
    import_torchvision()
    import transformers

    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return getattr(transformers, auto_class).from_pretrained(folder, **_LOCAL, **arguments)
    except Exception as error:  # what is wrong in a folder is met with many kinds of exceptions
        what = " ".join(str(error).split())
        if "trust_remote_code" in what:
            what = "it needs code from its own repository, which is never run"
        raise BackboneError(f"{folder}: {auto_class} of transformers cannot open it: {what[:400]}") from error
    finally:
        if bars:
            transformers.utils.logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _build(folder: Path, name: str) -> Any:
    import torch

    for file in transformers_files(folder):
        tensor_shapes(file)
    model, report = _from_folder("AutoModel", folder, dtype=torch.float32, weights_only=True, output_loading_info=True)
    if absent := sorted(report["missing_keys"]):
        raise BackboneError(
            f"{folder}: the weights lack {len(absent)} tensors of {name}, which would be random: "
            f"{', '.join(absent[:3])}{' ...' if len(absent) > 3 else ''}. They belong to another model than config.json"
        )
    if not hasattr(model, "get_image_features") or not hasattr(model, "get_text_features"):
        raise BackboneError(f"{folder}: {type(model).__name__} does not embed both images and texts, as CLIP does")
    return model


def _vectors(output: Any) -> "torch.Tensor":
    """The projected vectors: the output itself before transformers 5, its pooled part since."""
    vectors: torch.Tensor = getattr(output, "pooler_output", output)
    return vectors


def _logit_scale(model: Any) -> float:
    if hasattr(model, "logit_scale"):
        return float(model.logit_scale.detach().exp())
    if hasattr(model, "temperature"):
        return 1.0 / float(model.temperature.detach())
    raise BackboneError(f"{type(model).__name__} has neither a logit_scale nor, as ALIGN has, a temperature")


def _context_length(config: Any, tokenizer: Any) -> int:
    """How many tokens the text tower was made for."""
    text = config.text_config
    positions = int(text.max_position_embeddings)
    if config.model_type == "altclip":
        positions -= text.pad_token_id + 1  # RoBERTa counts its positions from behind the padding's
    if config.model_type == "align":
        positions = min(positions, _ALIGN_CONTEXT)  # BERT could read 512; ALIGN's processor gives it 64
    return min(positions, int(tokenizer.model_max_length))


@dataclass(frozen=True)
class TransformersPreprocess:
    """The model's own image processor, for one image; built in each process when it is first used."""

    module: str
    config: str
    """JSON of the processor's settings; `image_processor_type` names its class in `module`."""

    def __call__(self, image: "Image") -> "torch.Tensor":
        """Image in any mode -> [3, H, W] float32."""
        # ALIGN's processor would take a palette's numbers for brightness unless told to convert.
        batch = _processor(self.module, self.config)(images=image, do_convert_rgb=True, return_tensors="pt")
        tensor: torch.Tensor = batch["pixel_values"][0]
        return tensor


def _preprocess(folder: Path) -> TransformersPreprocess:
    processor = _from_folder("AutoImageProcessor", folder)
    kind = type(processor)
    if processor.model_input_names != ["pixel_values"]:
        raise BackboneError(f"{folder}: {kind.__name__} gives more than pixels, so its images cannot be put in batches")
    settings = processor.to_dict() | {"image_processor_type": kind.__name__}
    return TransformersPreprocess(kind.__module__, canonical_json(settings))


@lru_cache(maxsize=8)
def _processor(module: str, config: str) -> Any:
    import_torchvision()
    settings = json.loads(config)
    return getattr(import_module(module), settings["image_processor_type"]).from_dict(settings)
