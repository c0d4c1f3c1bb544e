"""open_clip: the same numbers as the library called by hand, and no model with a wrong activation or preprocessing."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dat_lib.backbones.backbone import Backbone, BackboneError
from dat_lib.backbones.open_clip_models import backbone_facts, open_backbone
from tests.dat_lib.backbones.small_models import (
    OPENAI_LIKE,
    PROMPTS,
    RunsCodeOnLoad,
    add_small_open_clip_models,
    empty_hub_cache,
    hub_snapshot,
    pictures,
    refuse_network,
    save_checkpoint,
    small_open_clip,
    small_tokenizer,
)

VIT = {"model": "small-vit-quickgelu", "activation": "quick_gelu", "preprocessing": OPENAI_LIKE}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_network(monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of every small model, as MODEL.pt."""
    configs = tmp_path_factory.mktemp("configs")
    add_small_open_clip_models(configs)
    folder = tmp_path_factory.mktemp("checkpoints")
    for name in ("small-vit", "small-vit-quickgelu", "small-rn-quickgelu", "small-mismatch"):
        save_checkpoint(small_open_clip(name), folder / f"{name}.pt")
    return folder


@pytest.fixture(scope="module")
def vit(folder: Path) -> Backbone:
    return open_backbone(weights=str(folder / "small-vit-quickgelu.pt"), **VIT)


def by_hand(name: str, file: Path, **preprocessing: str) -> tuple[Any, Any, Any]:
    """Model, preprocessing and tokenizer as one gets them from the library."""
    import open_clip

    model, _, preprocess = open_clip.create_model_and_transforms(
        name,
        pretrained=str(file),
        image_mean=tuple(OPENAI_LIKE["mean"]),
        image_std=tuple(OPENAI_LIKE["std"]),
        image_interpolation=preprocessing.get("interpolation", "bicubic"),
        image_resize_mode=preprocessing.get("resize_mode", "shortest"),
    )
    return model.eval(), preprocess, open_clip.get_tokenizer(name)


@pytest.mark.parametrize("name", ["small-vit-quickgelu", "small-rn-quickgelu"])
def test_vectors_are_to_the_bit_those_of_the_library_called_by_hand(folder: Path, name: str) -> None:
    import torch

    file = folder / f"{name}.pt"
    ours = open_backbone(weights=str(file), **VIT | {"model": name})
    model, preprocess, tokenizer = by_hand(name, file)
    images = list(pictures().values())
    with torch.no_grad():
        expected_images = model.encode_image(torch.stack([preprocess(image) for image in images]))
        expected_texts = model.encode_text(tokenizer(PROMPTS))
    vectors = ours.encode_images(torch.stack([ours.preprocess(image) for image in images]))
    texts = ours.encode_texts(PROMPTS)
    assert vectors.dtype == torch.float32
    assert torch.equal(vectors, expected_images)
    assert texts.vectors.dtype == np.float32
    assert np.array_equal(texts.vectors, expected_texts.numpy())
    assert ours.dimension == expected_images.shape[1] == 16
    assert ours.logit_scale == pytest.approx(np.exp(3.0))


@pytest.mark.parametrize("resize_mode", ["shortest", "squash", "longest"])
def test_preprocessing_is_to_the_bit_the_librarys_own_and_travels_alone(folder: Path, resize_mode: str) -> None:
    import torch

    file = folder / "small-vit-quickgelu.pt"
    settings = VIT | {"preprocessing": OPENAI_LIKE | {"resize_mode": resize_mode}}
    ours = open_backbone(weights=str(file), **settings).preprocess
    pickled = pickle.dumps(ours)
    assert len(pickled) < 1000
    _, preprocess, _ = by_hand("small-vit-quickgelu", file, resize_mode=resize_mode)
    for mode, image in pictures().items():
        assert torch.equal(pickle.loads(pickled)(image), preprocess(image)), mode


def test_many_prompts_give_the_vectors_of_each_alone(vit: Backbone) -> None:
    prompts = [f"a photo of bird number {i}" for i in range(150)]
    together = vit.encode_texts(prompts).vectors
    assert together.shape == (150, 16)
    np.testing.assert_allclose(
        together[[0, 70, 149]], [vit.encode_texts([prompts[i]]).vectors[0] for i in (0, 70, 149)], rtol=1e-4, atol=1e-6
    )
    assert vit.encode_texts([]).vectors.shape == (0, 16)


def test_cut_prompts_are_reported_and_those_that_just_fit_are_not(vit: Backbone) -> None:
    # 16 positions, of which two mark the ends.
    prompts = ["bird " * n for n in (1, 14, 15, 40)] * 30
    texts = vit.encode_texts(prompts)
    assert texts.truncated == tuple(i for i in range(120) if i % 4 >= 2)
    assert np.array_equal(texts.vectors[2], texts.vectors[1])


def test_a_checkpoint_gives_the_same_vectors_in_either_format(folder: Path, tmp_path: Path, vit: Backbone) -> None:
    file = save_checkpoint(small_open_clip("small-vit-quickgelu"), tmp_path / "weights.safetensors")
    other = open_backbone(weights=str(file), **VIT)
    assert np.array_equal(other.encode_texts(PROMPTS).vectors, vit.encode_texts(PROMPTS).vectors)
    assert other.facts["weights"] == hashlib.sha256(file.read_bytes()).hexdigest()
    changed = {name for name in vit.facts if vit.facts[name] != other.facts[name]}
    assert changed == {"weights"}


def test_the_facts_tell_all_that_decides_a_number(folder: Path, vit: Backbone) -> None:
    file = str(folder / "small-vit-quickgelu.pt")
    assert backbone_facts(weights=file, **VIT) == vit.facts
    assert vit.facts["activation"] == "quick_gelu"
    assert vit.facts["precision"] == "float32"
    assert vit.facts["library"].startswith("open_clip_torch 3.")
    assert [part.split()[0] for part in vit.facts["runtime"].split(", ")] == ["torch", "torchvision", "pillow"]
    assert "+" not in vit.facts["runtime"]
    assert json.loads(vit.facts["preprocessing"]) == OPENAI_LIKE | {"size": 32, "crop": "center"}
    squash = backbone_facts(weights=file, **VIT | {"preprocessing": OPENAI_LIKE | {"resize_mode": "squash"}})
    assert {name for name in squash if squash[name] != vit.facts[name]} == {"preprocessing"}


def test_a_config_beside_the_weights_tells_activation_preprocessing_and_architecture(
    folder: Path, tmp_path: Path, vit: Backbone
) -> None:
    import open_clip

    save_checkpoint(small_open_clip("small-vit-quickgelu"), tmp_path / "open_clip_model.safetensors")
    config = {"model_cfg": open_clip.get_model_config("small-vit-quickgelu"), "preprocess_cfg": OPENAI_LIKE}
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    for settings in ({}, {"model": "hf-hub:owner/small"}, {"model": "small-vit-quickgelu"}):
        ours = open_backbone(weights=str(tmp_path), **settings)
        assert np.array_equal(ours.encode_texts(PROMPTS).vectors, vit.encode_texts(PROMPTS).vectors)
        assert ours.facts["preprocessing"] == vit.facts["preprocessing"]
    with pytest.raises(BackboneError, match=r"computes with gelu, but open_clip_config.json .* says quick_gelu"):
        open_backbone(weights=str(tmp_path), model="small-vit")


def test_what_a_config_leaves_open_about_preprocessing_is_the_librarys_default(folder: Path, tmp_path: Path) -> None:
    """Many configs on the hub name mean and std alone."""
    import open_clip
    import torch

    save_checkpoint(small_open_clip("small-vit-quickgelu"), tmp_path / "open_clip_model.safetensors")
    named = {name: OPENAI_LIKE[name] for name in ("mean", "std")}
    config = {"model_cfg": open_clip.get_model_config("small-vit-quickgelu"), "preprocess_cfg": named}
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    ours = open_backbone(weights=str(tmp_path))
    _, _, preprocess = open_clip.create_model_and_transforms(f"local-dir:{tmp_path}")
    for mode, image in pictures().items():
        assert torch.equal(ours.preprocess(image), preprocess(image)), mode
    assert json.loads(ours.facts["preprocessing"]).items() >= {**named, "interpolation": "bicubic"}.items()


def test_a_tower_and_tokenizer_of_transformers_may_lie_beside_the_weights(tmp_path: Path) -> None:
    """As BiomedCLIP: by hand one must write local paths into its config first."""
    import open_clip
    import torch

    text = {"hf_model_name": str(tmp_path), "hf_tokenizer_name": str(tmp_path), "context_length": 16}
    text |= {"hf_proj_type": "mlp", "hf_pooler_type": "cls_last_hidden_state_pooler"}
    vision = {"image_size": 32, "layers": 2, "width": 32, "head_width": 16, "patch_size": 8}
    config = {"model_cfg": {"embed_dim": 12, "vision_cfg": vision, "text_cfg": text}, "preprocess_cfg": OPENAI_LIKE}
    bert = {"model_type": "bert", "vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 1, "pad_token_id": 0}
    bert |= {"num_attention_heads": 2, "intermediate_size": 32, "initializer_range": 0.5}
    (tmp_path / "config.json").write_text(json.dumps(bert))
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    small_tokenizer("align").save_pretrained(tmp_path)
    model = open_clip.create_model(f"local-dir:{tmp_path}", pretrained_text=False).eval()
    save_checkpoint(model, tmp_path / "open_clip_pytorch_model.bin")
    tokens = open_clip.get_tokenizer(f"local-dir:{tmp_path}")(PROMPTS)
    with torch.no_grad():
        expected = model.encode_text(tokens).numpy()

    named = text | {"hf_model_name": "microsoft/nowhere", "hf_tokenizer_name": "microsoft/nowhere"}
    config["model_cfg"]["text_cfg"] = named
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    ours = open_backbone(weights=str(tmp_path), model="hf-hub:microsoft/BiomedCLIP")
    assert np.array_equal(ours.encode_texts(PROMPTS).vectors, expected)
    assert ours.encode_texts(["a", "a " * 14, "a " * 15]).truncated == (2,)
    assert "transformers" in ours.facts["library"]

    (tmp_path / "config.json").write_text(
        json.dumps(bert | {"model_type": "my_own", "auto_map": {"AutoConfig": "x.X"}})
    )
    with pytest.raises(BackboneError, match="need code from its repository, which is never run"):
        open_backbone(weights=str(tmp_path), model="hf-hub:microsoft/BiomedCLIP")


@pytest.mark.parametrize(
    ("model", "activation", "remedy"),
    [
        ("small-vit", "quick_gelu", 'model = "small-vit-quickgelu"'),
        ("small-vit-quickgelu", "gelu", 'model = "small-vit"'),
    ],
)
def test_a_wrong_activation_is_refused(folder: Path, model: str, activation: str, remedy: str) -> None:
    with pytest.raises(BackboneError, match=remedy):
        open_backbone(weights=str(folder / f"{model}.pt"), **VIT | {"model": model, "activation": activation})


def test_a_local_file_of_unknown_activation_is_refused(folder: Path) -> None:
    file = str(folder / "small-vit.pt")
    with pytest.raises(BackboneError, match='activation = "quick_gelu"'):
        open_backbone(weights=file, model="small-vit", preprocessing=OPENAI_LIKE)


@pytest.mark.parametrize("weights", [None, "small-vit.pt"])
def test_openai_weights_with_a_model_name_that_computes_with_gelu_are_refused(
    folder: Path, weights: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = hub_snapshot(empty_hub_cache(monkeypatch, tmp_path), "timm/vit_base_patch32_clip_224.openai")
    (snapshot / "open_clip_model.safetensors").write_bytes(b"")
    given = {"weights": str(folder / weights)} if weights else {}
    with pytest.raises(BackboneError, match='Set model = "ViT-B-32-quickgelu"'):
        open_backbone(model="ViT-B-32", pretrained="openai", **given)


def test_unknown_preprocessing_of_local_weights_is_refused(folder: Path) -> None:
    file = str(folder / "small-vit.pt")
    with pytest.raises(BackboneError, match=r"preprocessing .* is not known.*open_clip_config.json"):
        open_backbone(weights=file, model="small-vit", activation="gelu")
    with pytest.raises(BackboneError, match="takes exactly mean, std, interpolation, resize_mode"):
        open_backbone(weights=file, model="small-vit", activation="gelu", preprocessing={"mean": [0.5] * 3})


def test_towers_of_different_dimension_are_refused(folder: Path) -> None:
    settings = VIT | {"model": "small-mismatch", "activation": "gelu"}
    with pytest.raises(BackboneError, match=r"\(64,\) and the text tower of \(16,\)"):
        open_backbone(weights=str(folder / "small-mismatch.pt"), **settings)


def test_weights_for_another_image_size_are_refused_rather_than_stretched(folder: Path) -> None:
    settings = VIT | {"model": "small-vit-64px", "activation": "gelu"}
    with pytest.raises(BackboneError, match="another image size"):
        open_backbone(weights=str(folder / "small-vit.pt"), **settings)


def test_weights_of_another_model_are_refused(folder: Path) -> None:
    with pytest.raises(BackboneError, match="does not fit the model small-rn-quickgelu"):
        open_backbone(weights=str(folder / "small-vit-quickgelu.pt"), **VIT | {"model": "small-rn-quickgelu"})


def test_a_pickle_that_runs_code_is_refused_and_does_not_run(folder: Path, tmp_path: Path) -> None:
    import torch

    state = small_open_clip("small-vit-quickgelu").state_dict()
    torch.save({**state, "more": RunsCodeOnLoad(tmp_path / "ran")}, tmp_path / "evil.pt")
    with pytest.raises(BackboneError, match="holds more than weights"):
        open_backbone(weights=str(tmp_path / "evil.pt"), **VIT)
    assert not (tmp_path / "ran").exists()


def test_a_torchscript_archive_is_loaded_only_if_openai_published_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vit: Backbone
) -> None:
    import open_clip
    import torch

    file = tmp_path / "archive.pt"
    torch.jit.script(small_open_clip("small-vit-quickgelu")).save(str(file))
    with pytest.raises(BackboneError, match="TorchScript archive, a program that runs"):
        open_backbone(weights=str(file), **VIT)

    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    entry = {**OPENAI_LIKE, "quick_gelu": True, "url": f"https://openai/{digest}/archive.pt"}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "small-vit-quickgelu", {"openai": entry})
    ours = open_backbone(weights=str(file), model="small-vit-quickgelu")
    assert np.array_equal(ours.encode_texts(PROMPTS).vectors, vit.encode_texts(PROMPTS).vectors)
    with pytest.raises(BackboneError, match='Set model = "small-vit-quickgelu"'):
        open_backbone(weights=str(file), model="small-vit")


def test_a_tag_is_taken_from_the_hubs_cache_without_a_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vit: Backbone
) -> None:
    import open_clip

    entry = {**OPENAI_LIKE, "quick_gelu": True, "hf_hub": "owner/small/"}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "small-vit-quickgelu", {"openai": entry})
    snapshot = hub_snapshot(empty_hub_cache(monkeypatch, tmp_path), "owner/small")
    file = snapshot / "open_clip_pytorch_model.bin"
    with pytest.raises(BackboneError, match=r"could not be fetched .*out of reach.* open_clip_pytorch_model.bin"):
        open_backbone(model="small-vit-quickgelu", pretrained="openai")
    save_checkpoint(small_open_clip("small-vit-quickgelu"), file)
    ours = open_backbone(model="small-vit-quickgelu", pretrained="openai")
    assert np.array_equal(ours.encode_texts(PROMPTS).vectors, vit.encode_texts(PROMPTS).vectors)
    assert ours.facts["weights"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_cpu_learns_the_facts_of_a_model_of_low_precision_but_does_not_compute_with_it(folder: Path) -> None:
    import torch

    file = str(folder / "small-vit-quickgelu.pt")
    ours = open_backbone(weights=file, precision="bfloat16", **VIT)
    assert ours.facts["precision"] == "bfloat16"
    with pytest.raises(BackboneError, match="needs a CUDA device"):
        ours.encode_images(torch.zeros(1, 3, 32, 32))
    with pytest.raises(BackboneError, match="needs a CUDA device"):
        ours.encode_texts(PROMPTS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "ViT-B-33"}, 'no model "ViT-B-33"; did you mean "ViT-B-32"'),
        ({"model": "ViT-B-32"}, r"which weights\? .*openai, "),
        ({"model": "ViT-L-14", "pretrained": "laion2b_s32b"}, 'did you mean "laion2b_s32b_b82k"'),
        ({"model": "hf-hub:owner/small", "pretrained": "openai"}, "leave it out"),
        ({"model": "ViT-B-32", "weights": "/nowhere/a.pt"}, "/nowhere/a.pt does not exist"),
        ({}, "needs `model`"),
        ({"modle": "ViT-B-32"}, 'no setting "modle"; did you mean "model"'),
        ({"model": 32}, "model = 32 is not allowed; it takes a text"),
        ({"model": "ViT-B-32", "precision": "float8"}, 'no precision "float8"'),
        ({"model": "ViT-B-32", "pretrained": "openai", "activation": "relu"}, None),
    ],
    ids=str,
)
def test_mistakes_in_a_spec_are_named(
    settings: dict[str, Any], message: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_hub_cache(monkeypatch, tmp_path)
    with pytest.raises(BackboneError, match=message):
        open_backbone(**settings)


def test_a_device_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(BackboneError, match='device "nonsense" cannot be used'):
        open_backbone(device="nonsense", weights=str(folder / "small-vit-quickgelu.pt"), **VIT)
