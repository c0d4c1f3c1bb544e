"""The shipped backbones name models that the installed libraries have, with the right activation and dimension."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from dat_lib.backbones import open_clip_models, transformers_models
from dat_lib.backbones.torchvision_import import import_torchvision

FOLDER = Path(__file__).parents[3] / "data_catalog" / "specs" / "backbones"
SPECS: dict[str, dict[str, Any]] = {
    path.stem: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*.toml"))
}
OPEN_CLIP = {name: spec for name, spec in SPECS.items() if spec["kind"] == "open_clip"}
TRANSFORMERS = {name: spec for name, spec in SPECS.items() if spec["kind"] == "transformers"}


def test_the_papers_models_and_those_that_users_ask_for_are_there() -> None:
    papers = {"clip-vit-b-32", "clip-vit-l-14", "clip-rn50", "clip-vit-l-14-laion2b", "biomedclip", "align", "altclip"}
    asked_for = {"siglip", "siglip2", "eva-clip", "metaclip", "dfn"}
    assert papers | asked_for <= set(SPECS)


@pytest.mark.parametrize("name", [*OPEN_CLIP, *TRANSFORMERS])
def test_each_tells_title_licence_and_only_known_settings(name: str) -> None:
    spec = SPECS[name]
    loader = open_clip_models if spec["kind"] == "open_clip" else transformers_models
    assert set(spec.get("settings", {})) <= set(loader.SETTINGS)
    assert spec["title"]
    # Weights that ship with the project lie beside its specs; a path of one machine is of no use on another.
    assert not Path(spec.get("weights", "")).is_absolute()
    assert "weights" in spec or spec["licence"]


@pytest.mark.parametrize("name", [name for name, spec in OPEN_CLIP.items() if "pretrained" in spec.get("settings", {})])
def test_open_clip_has_the_model_the_weights_and_the_activation_they_were_trained_with(name: str) -> None:
    import_torchvision()
    import open_clip

    settings = OPEN_CLIP[name]["settings"]
    config = open_clip.get_model_config(settings["model"])
    assert config is not None
    assert config["embed_dim"] == OPEN_CLIP[name]["dimension"]
    assert (settings["model"], settings["pretrained"]) in open_clip.list_pretrained()
    entry = open_clip.get_pretrained_cfg(settings["model"], settings["pretrained"])
    assert config.get("quick_gelu", False) == entry.get("quick_gelu", False)
    assert entry["hf_hub"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, spec in OPEN_CLIP.items() if "pretrained" in spec.get("settings", {})])
def test_both_towers_give_the_declared_dimension(name: str) -> None:
    """On torch's meta device, where a model of any size has shapes and no weights."""
    import_torchvision()
    import open_clip
    import torch

    model_name = OPEN_CLIP[name]["settings"]["model"]
    config = open_clip.get_model_config(model_name)
    side, length = config["vision_cfg"]["image_size"], config["text_cfg"]["context_length"]
    with torch.device("meta"), torch.inference_mode():
        model = open_clip.create_model(model_name, device="meta")
        image = model.encode_image(torch.empty(1, 3, side, side))
        text = model.encode_text(torch.zeros(1, length, dtype=torch.long))
    assert image.shape == text.shape == (1, OPEN_CLIP[name]["dimension"])


@pytest.mark.parametrize(("name", "config"), [("align", "AlignConfig"), ("altclip", "AltCLIPConfig")])
def test_transformers_has_the_model_and_its_dimension(name: str, config: str) -> None:
    """The library's default configs are those of these two checkpoints."""
    import_torchvision()
    import transformers

    assert getattr(transformers, config)().projection_dim == TRANSFORMERS[name]["dimension"]


def test_the_laion_weights_are_those_of_tie_with_their_own_normalisation() -> None:
    import_torchvision()
    import open_clip

    settings = OPEN_CLIP["clip-vit-l-14-laion2b"]["settings"]
    assert settings == {"model": "ViT-L-14", "pretrained": "laion2b_s32b_b82k"}
    assert open_clip.get_pretrained_cfg(**{"model": "ViT-L-14", "tag": "laion2b_s32b_b82k"})["mean"] == (0.5, 0.5, 0.5)
