"""Vision-language models of open_clip: by the library's names and tags, from the hub, or from local checkpoints."""

import hashlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dat_lib.backbones.backbone import Backbone, BackboneError, check_settings
from dat_lib.backbones.dual_encoder import DualEncoder, Towers, check_precision, prepare_device
from dat_lib.backbones.library_versions import RUNTIME, versions
from dat_lib.backbones.open_clip_checkpoint import Checkpoint, find_checkpoint
from dat_lib.backbones.registry import BackboneKind
from dat_lib.backbones.torchvision_import import import_torchvision
from dat_lib.backbones.weights import (
    canonical_json,
    files_at,
    files_digest,
    is_torchscript,
    tensor_shapes,
    tokenizer_digest,
)

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

KIND = BackboneKind("open_clip", libraries=("open_clip_torch", "timm", "transformers"))
SETTINGS: Mapping[str, type] = {
    "model": str,
    "pretrained": str,
    "precision": str,
    "revision": str,
    "activation": str,
    "preprocessing": dict,
}


def open_backbone(device: str = "cpu", weights: str | None = None, **settings: Any) -> Backbone:
    """Open a model of open_clip.

    Args:
        device: "cpu", "cuda", "cuda:1".
        weights: a local checkpoint file, or a folder with one; without it the hub's cache and then the hub are asked.
            `open_clip_config.json`, tokenizer files and a text tower's `config.json` are looked for beside it.
        settings: `model`: a name of the library ("ViT-B-32-quickgelu") or "hf-hub:owner/repository"; may be left out
            where `weights` is a folder with a config. `pretrained`: the library's tag of the weights; together with
            `weights` it says which weights those are. `precision`: "float32" (default), "float16" or "bfloat16".
            `revision`: of the hub's repository. `activation` ("quick_gelu", "gelu") and `preprocessing` (mean, std,
            interpolation, resize_mode): for local weights of which nothing else tells them.

    Raises:
        BackboneError: files missing or unsafe, an activation or preprocessing that is unknown or does not fit.
    """
    checkpoint, precision = _checkpoint(weights, settings)
    prepare_device(device)
    model = _build(checkpoint).to(device).eval()
    tokenizer = _tokenizer(checkpoint)

    def tokenize(prompts: list[str]) -> "tuple[dict[str, torch.Tensor], list[int]]":
        return {"text": tokenizer(prompts)}, [_token_count(tokenizer, prompt) for prompt in prompts]

    towers = Towers(
        images=lambda batch: model.encode_image(batch, normalize=False),
        texts=lambda tokens: model.encode_text(tokens["text"], normalize=False),
        tokenize=tokenize,
        context_length=int(tokenizer.context_length),
        logit_scale=float(model.logit_scale.detach().exp()),
    )
    preprocess = OpenClipPreprocess(canonical_json(_preprocess_config(checkpoint)))
    return DualEncoder(towers, preprocess, _facts(checkpoint, precision), device, precision)


def backbone_facts(weights: str | None = None, **settings: Any) -> dict[str, str]:
    """What decides the vectors outside our code, for the arguments of `open_backbone`; the model is not built.

    `library` and `runtime` (with versions), `model`, `config` (sha256 of the architecture), `weights` (sha256 of the
    file), `activation`, `preprocessing` (JSON), `tokenizer` (sha256 of its files, or the library's), `precision`.
    """
    return _facts(*_checkpoint(weights, settings))


def backbone_files(weights: str | None = None, **settings: Any) -> list[Path]:
    """All files that decide the vectors, for the arguments of `open_backbone`; fetched if they are not there."""
    checkpoint, _ = _checkpoint(weights, settings)
    given = Path(weights).expanduser() if weights else checkpoint.weights
    places = [given, checkpoint.text_tower, checkpoint.tokenizer]
    return list(dict.fromkeys(file for place in places if place is not None for file in files_at(place)))


def _checkpoint(weights: str | None, settings: Mapping[str, Any]) -> tuple[Checkpoint, str]:
    check_settings("open_clip", settings, SETTINGS)
    given = {name: value for name, value in settings.items() if value is not None}
    precision = str(given.pop("precision", "float32"))
    check_precision(precision)
    return find_checkpoint(weights=weights, **given), precision


def _facts(checkpoint: Checkpoint, precision: str) -> dict[str, str]:
    libraries = ["open_clip_torch"]
    if "timm_model_name" in checkpoint.config["vision_cfg"]:
        libraries.append("timm")
    if checkpoint.text_tower or checkpoint.tokenizer:
        libraries.append("transformers")
    text = {key: value for key, value in checkpoint.config["text_cfg"].items() if key not in _PLACES}
    tower = files_digest([checkpoint.text_tower / "config.json"]) if checkpoint.text_tower else None
    architecture = canonical_json([checkpoint.config | {"text_cfg": text}, tower])
    crop = "none" if checkpoint.preprocessing["resize_mode"] == "squash" else "center"
    return {
        "library": versions(*libraries),
        "runtime": versions(*RUNTIME),
        "model": checkpoint.name,
        "config": hashlib.sha256(architecture.encode()).hexdigest(),
        "weights": files_digest([checkpoint.weights]),
        "activation": checkpoint.activation,
        "preprocessing": canonical_json(_preprocess_config(checkpoint) | {"crop": crop}),
        "tokenizer": tokenizer_digest(checkpoint.tokenizer) if checkpoint.tokenizer else "open_clip",
        "precision": precision,
    }


# Where a tower's and a tokenizer's files are is not what they are.
_PLACES = ("hf_model_name", "hf_tokenizer_name", "hf_model_pretrained")


def _preprocess_config(checkpoint: Checkpoint) -> dict[str, Any]:
    return {"size": checkpoint.image_size, **checkpoint.preprocessing}


def _build(checkpoint: Checkpoint) -> Any:
    import open_clip
    import torch

    scripted = is_torchscript(checkpoint.weights)
    shapes = {} if scripted else tensor_shapes(checkpoint.weights)
    tower = {"hf_model_name": str(checkpoint.text_tower)} if checkpoint.text_tower else {}
    text = checkpoint.config["text_cfg"] | tower | ({"hf_model_pretrained": False} if tower else {})
    with _without_log():
        model = open_clip.create_model(checkpoint.source, load_weights=False, pretrained_text=False, text_cfg=text)
    own = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    for name, shape in shapes.items():
        # The library would stretch them to fit: another image size or context length than the weights were made for.
        if name.endswith(("positional_embedding", "pos_embed")) and own.get(name, shape) != shape:
            raise BackboneError(
                f"{checkpoint.weights}: {name} has the shape {shape}, but {checkpoint.name} has {own[name]}: these "
                "weights are for another image size or context length; name the model they were made for"
            )
    try:
        with _without_log():
            if scripted:
                state = torch.jit.load(checkpoint.weights, map_location="cpu").state_dict()  # type: ignore[no-untyped-call]
                # The archives also hold what the architecture says: input_resolution, vocab_size and the like.
                model.load_state_dict({name: state[name] for name in own})
            else:
                open_clip.load_checkpoint(model, str(checkpoint.weights), strict=True, weights_only=True)
    except (RuntimeError, KeyError, ValueError) as error:
        what = " ".join(str(error).split())
        raise BackboneError(f"{checkpoint.weights}: does not fit the model {checkpoint.name}: {what[:400]}") from error
    return model


def _tokenizer(checkpoint: Checkpoint) -> Any:
    import open_clip

    if checkpoint.tokenizer is None:
        with _without_log():
            return open_clip.get_tokenizer(checkpoint.source)
    text = checkpoint.config["text_cfg"]
    return open_clip.tokenizer.HFTokenizer(
        str(checkpoint.tokenizer),
        context_length=text.get("context_length", open_clip.tokenizer.DEFAULT_CONTEXT_LENGTH),
        tokenizer_mode=text.get("tokenizer_mode"),
        trust_remote_code=False,
        local_files_only=True,
        **text.get("tokenizer_kwargs", {}),
    )


def _token_count(tokenizer: Any, prompt: str) -> int:
    """How many tokens a prompt has with those that mark its ends, before it is cut."""
    if not hasattr(tokenizer, "tokenizer"):
        return len(tokenizer.encode(prompt)) + 2
    marked_by_open_clip = tokenizer.tokenizer_mode == "clips"
    tokens = tokenizer.tokenizer(
        tokenizer.clean_fn(prompt), add_special_tokens=not marked_by_open_clip, truncation=False, verbose=False
    )
    return len(tokens.input_ids) + (3 if marked_by_open_clip else 0)


@dataclass(frozen=True)
class OpenClipPreprocess:
    """open_clip's own preprocessing for inference; built in each process when it is first used."""

    config: str
    """JSON of size, mean, std, interpolation, resize_mode."""

    def __call__(self, image: "Image") -> "torch.Tensor":
        """Image in any mode -> [3, H, W] float32."""
        tensor: torch.Tensor = _transform(self.config)(image)
        return tensor


@lru_cache(maxsize=8)
def _transform(config: str) -> Any:
    import json

    import_torchvision()
    from open_clip.transform import PreprocessCfg, image_transform_v2

    return image_transform_v2(PreprocessCfg(**json.loads(config)), is_train=False)


@contextmanager
def _without_log() -> Iterator[None]:
    """Keep back open_clip's remarks to the root logger, such as that a model about to be filled has random weights."""
    root = logging.getLogger()

    def foreign(record: logging.LogRecord) -> bool:
        return "open_clip" not in record.pathname

    root.addFilter(foreign)
    try:
        yield
    finally:
        root.removeFilter(foreign)
