"""Models of open_clip and transformers small enough to make in a test, without a network."""

import json
import socket
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from PIL import Image

from dat_lib.backbones.torchvision_import import import_torchvision

OPENAI_LIKE = {
    "mean": [0.48, 0.46, 0.41],
    "std": [0.27, 0.26, 0.28],
    "interpolation": "bicubic",
    "resize_mode": "shortest",
}
PROMPTS = ["a photo of a landbird", "a photo of a waterbird", "a photo of a landbird in water", "Water"]
Kind = Literal["clip", "align", "altclip", "siglip"]

_TEXT = {"context_length": 16, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1}
_VIT = {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
_RN = {"image_size": 32, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None}
_OPEN_CLIP = {
    "small-vit": {"embed_dim": 16, "vision_cfg": _VIT, "text_cfg": _TEXT},
    "small-vit-quickgelu": {"embed_dim": 16, "quick_gelu": True, "vision_cfg": _VIT, "text_cfg": _TEXT},
    "small-vit-64px": {"embed_dim": 16, "vision_cfg": _VIT | {"image_size": 64}, "text_cfg": _TEXT},
    "small-rn-quickgelu": {"embed_dim": 16, "quick_gelu": True, "vision_cfg": _RN, "text_cfg": _TEXT},
    # The library lets the image tower keep its own 64 dimensions beside a text tower of 16.
    "small-mismatch": {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 64, "timm_model_name": "test_vit", "timm_pool": "token", "timm_proj": "none"},
        "text_cfg": _TEXT,
        "custom_text": True,
    },
}


def refuse_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make any connection an error that no library takes for being offline."""

    def connect(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)


def empty_hub_cache(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Make the hub's cache an empty folder and the hub itself out of reach."""
    import huggingface_hub

    def model_info(*_: object, **__: object) -> None:
        raise ConnectionError("the hub is out of reach")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)
    return folder


def hub_snapshot(cache: Path, repository: str) -> Path:
    """The folder that a cached repository's files go to."""
    commit = "0123456789" * 4
    place = cache / f"models--{repository.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    (place / "snapshots" / commit).mkdir(parents=True)
    return place / "snapshots" / commit


class RunsCodeOnLoad:
    """What a malicious pickle holds: loading it without care writes a file."""

    def __init__(self, evidence: Path) -> None:
        self.evidence = evidence

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.write_text, (self.evidence, "ran")


def add_small_open_clip_models(folder: Path) -> None:
    """Teach open_clip the small models above; they stay known until the process ends."""
    import_torchvision()
    import open_clip

    for name, config in _OPEN_CLIP.items():
        (folder / f"{name}.json").write_text(json.dumps(config))
    open_clip.add_model_config(folder)


def small_open_clip(name: str, seed: int = 0) -> Any:
    """A model with random weights, in evaluation mode."""
    import open_clip
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = open_clip.create_model(name).eval()
        model.logit_scale.data.fill_(3.0)
    return model


def save_checkpoint(model: Any, file: Path) -> Path:
    """Write the weights alone, as safetensors or as a pickle by the file's ending."""
    import torch
    from safetensors.torch import save_file

    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    if file.suffix == ".safetensors":
        save_file(state, file)
    else:
        torch.save(state, file)
    return file


def save_small_transformers(kind: Kind, folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Write a complete folder: config, safetensors, tokenizer, processor. `changes` go to the model's config."""
    import_torchvision()
    import torch
    import transformers as hf

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _small_transformers(kind, changes)
    model.save_pretrained(folder)
    small_tokenizer(kind).save_pretrained(folder)
    side = {"height": 32, "width": 32}
    processor: Any
    if kind == "align":
        processor = hf.EfficientNetImageProcessor(size=side, do_center_crop=False, rescale_offset=True)
    elif kind == "siglip":
        processor = hf.SiglipImageProcessor(size=side)
    else:
        processor = hf.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=side)
    processor.save_pretrained(folder)
    return folder


def _small_transformers(kind: Kind, changes: dict[str, Any]) -> Any:
    import transformers as hf

    text = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    text |= {"num_attention_heads": 2, "bos_token_id": 1, "eos_token_id": 3, "pad_token_id": 0}
    vision = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision |= {"image_size": 32, "patch_size": 8}
    if kind in ("align", "altclip"):
        text |= {"initializer_range": 0.5, "initializer_factor": 1.0}
    if kind == "clip":
        text |= {"max_position_embeddings": 16}
        config = {"text_config": text, "vision_config": vision, "projection_dim": 12} | changes
        return hf.CLIPModel(hf.CLIPConfig(**config))
    if kind == "altclip":
        text |= {"max_position_embeddings": 20, "project_dim": 12}
        config = {"text_config": text, "vision_config": vision | {"projection_dim": 12}, "projection_dim": 12} | changes
        return hf.AltCLIPModel(hf.AltCLIPConfig(**config))
    if kind == "siglip":
        text |= {"max_position_embeddings": 16, "projection_size": 16}
        return hf.SiglipModel(hf.SiglipConfig(**({"text_config": text, "vision_config": vision} | changes)))
    blocks = {"in_channels": [32, 16], "out_channels": [16, 16], "kernel_sizes": [3, 3], "strides": [1, 2]}
    blocks |= {"num_block_repeats": [1, 1], "expand_ratios": [1, 2], "initializer_range": 0.5}
    image = {"image_size": 32, "width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 16} | blocks
    text |= {"max_position_embeddings": 128}
    config = {"text_config": text, "vision_config": image, "projection_dim": 16, "temperature_init_value": 0.02}
    return hf.AlignModel(hf.AlignConfig(**(config | changes)))


def small_tokenizer(kind: Kind) -> Any:
    """Words by a list, marked at the ends as each model's own tokenizer does; AltCLIP's alone keeps capitals apart."""
    import transformers as hf
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["[PAD]", "[CLS]", "[UNK]", "[SEP]", "a", "photo", "of", "in", "Water", "water", "landbird", "waterbird"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if kind != "altclip":
        tokenizer.normalizer = normalizers.Lowercase()
    ends = "$A [SEP]" if kind == "siglip" else "[CLS] $A [SEP]"
    tokenizer.post_processor = processors.TemplateProcessing(single=ends, special_tokens=[("[CLS]", 1), ("[SEP]", 3)])
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[SEP]" if kind == "siglip" else "[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids"] if kind == "siglip" else ["input_ids", "attention_mask"],
        model_max_length=16 if kind == "siglip" else 10**6,
    )


def pictures() -> dict[str, Image.Image]:
    """One noisy picture in the modes and shapes that files come in."""
    noise = np.random.default_rng(0).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    colour = Image.fromarray(noise)
    transparent = colour.convert("RGBA")
    transparent.putalpha(Image.fromarray(noise[..., 1]))
    return {
        "colour": colour,
        "grey": colour.convert("L"),
        "palette": colour.quantize(20),
        "transparent": transparent,
        "grey with transparency": transparent.convert("LA"),
        "black and white": colour.convert("1"),
        "print colours": colour.convert("CMYK"),
        "a line": colour.resize((80, 5)),
        "a pixel": colour.crop((0, 0, 1, 1)),
        "large": colour.resize((301, 499)),
    }
