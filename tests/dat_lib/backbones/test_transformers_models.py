"""transformers: the same numbers as the library called by hand, from complete folders only, and no code but its own."""

import hashlib
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dat_lib.backbones.backbone import Backbone, BackboneError
from dat_lib.backbones.transformers_models import backbone_facts, open_backbone
from tests.dat_lib.backbones.small_models import (
    PROMPTS,
    Kind,
    RunsCodeOnLoad,
    empty_hub_cache,
    hub_snapshot,
    pictures,
    refuse_network,
    save_small_transformers,
)

KINDS: tuple[Kind, ...] = ("clip", "align", "altclip", "siglip")
# As the pages of the models in the library's documentation tokenise.
PADDING: dict[Kind, dict[str, Any]] = {
    "clip": {"padding": True},
    "align": {"padding": "max_length", "max_length": 64},
    "altclip": {"padding": True},
    "siglip": {"padding": "max_length"},
}
MODELS: dict[Kind, str] = {
    "clip": "CLIPModel",
    "align": "AlignModel",
    "altclip": "AltCLIPModel",
    "siglip": "SiglipModel",
}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_network(monkeypatch)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Kind, Path]:
    return {kind: save_small_transformers(kind, tmp_path_factory.mktemp(kind)) for kind in KINDS}


@pytest.fixture(scope="module")
def opened(folders: dict[Kind, Path]) -> dict[Kind, Backbone]:
    return {kind: open_backbone(model=str(folder)) for kind, folder in folders.items()}


@pytest.fixture
def clip_copy(folders: dict[Kind, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders["clip"], tmp_path / "copy"))


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_those_of_the_library_called_by_hand(
    kind: Kind, folders: dict[Kind, Path], opened: dict[Kind, Backbone]
) -> None:
    import torch
    import transformers

    folder, ours = folders[kind], opened[kind]
    model = getattr(transformers, MODELS[kind]).from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    images = [image.convert("RGB") for image in pictures().values()]
    with torch.no_grad():
        expected_images = model.get_image_features(**processor(images=images, return_tensors="pt")).pooler_output
        tokens = tokenizer(PROMPTS, return_tensors="pt", **PADDING[kind])
        expected_texts = model.get_text_features(**tokens).pooler_output.numpy()
    vectors = ours.encode_images(torch.stack([ours.preprocess(image) for image in images]))
    texts = ours.encode_texts(PROMPTS)
    assert vectors.dtype == torch.float32
    assert torch.equal(vectors, expected_images)
    np.testing.assert_allclose(texts.vectors, expected_texts, rtol=1e-5, atol=1e-6)
    assert texts.truncated == ()
    assert len(np.unique(expected_texts[:3].round(4), axis=0)) == 3
    assert ours.dimension == expected_images.shape[1]
    assert ours.facts["model"] == MODELS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_logit_scale_is_the_factor_of_the_librarys_logits(
    kind: Kind, folders: dict[Kind, Path], opened: dict[Kind, Backbone]
) -> None:
    import torch
    import transformers

    model = getattr(transformers, MODELS[kind]).from_pretrained(folders[kind]).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(folders[kind])(PROMPTS[0], return_tensors="pt", **PADDING[kind])
    image = opened[kind].preprocess(pictures()["colour"])
    with torch.no_grad():
        output = model(pixel_values=image[None], **tokens)
    cosine = (output.image_embeds * output.text_embeds).sum()
    logit = output.logits_per_image[0, 0] - getattr(model, "logit_bias", torch.zeros(1)).detach()
    assert opened[kind].logit_scale * float(cosine) == pytest.approx(float(logit), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_preprocessing_is_to_the_bit_the_librarys_own_and_travels_alone(
    kind: Kind, folders: dict[Kind, Path], opened: dict[Kind, Backbone]
) -> None:
    import torch
    import transformers

    pickled = pickle.dumps(opened[kind].preprocess)
    assert len(pickled) < 1000
    processor = transformers.AutoImageProcessor.from_pretrained(folders[kind])
    # ALIGN's own processor converts nothing: it fails on transparency and reads a palette's numbers as brightness.
    modes = pictures() if kind != "align" else {name: pictures()[name] for name in ("colour", "grey", "large")}
    for mode, image in modes.items():
        expected = processor(images=image, return_tensors="pt")["pixel_values"][0]
        assert torch.equal(pickle.loads(pickled)(image), expected), mode


def test_align_sees_the_colours_of_a_palette(opened: dict[Kind, Backbone]) -> None:
    import torch

    preprocess = opened["align"].preprocess
    for mode in ("palette", "print colours", "black and white"):
        image = pictures()[mode]
        assert torch.equal(preprocess(image), preprocess(image.convert("RGB"))), mode
    assert preprocess(pictures()["transparent"]).shape == (3, 32, 32)


def test_capitals_matter_to_altclip_alone(opened: dict[Kind, Backbone]) -> None:
    for kind in KINDS:
        small, capital = opened[kind].encode_texts(["water", "Water"]).vectors
        assert np.allclose(small, capital) == (kind != "altclip"), kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_does_not_depend_on_its_neighbours(kind: Kind, opened: dict[Kind, Backbone]) -> None:
    together = opened[kind].encode_texts(["a photo", "a photo of a landbird in water"]).vectors[0]
    np.testing.assert_allclose(together, opened[kind].encode_texts(["a photo"]).vectors[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("kind", "fitting"), [("clip", 14), ("align", 62), ("altclip", 17), ("siglip", 15)])
def test_cut_prompts_are_reported_and_those_that_just_fit_are_not(
    kind: Kind, fitting: int, opened: dict[Kind, Backbone]
) -> None:
    prompts = ["water " * n for n in (1, fitting, fitting + 1, 400)]
    texts = opened[kind].encode_texts(prompts)
    assert texts.truncated == (2, 3)
    np.testing.assert_allclose(texts.vectors[2], texts.vectors[1], rtol=1e-5, atol=1e-6)


def test_the_facts_tell_all_that_decides_a_number(folders: dict[Kind, Path], opened: dict[Kind, Backbone]) -> None:
    folder, facts = folders["altclip"], opened["altclip"].facts
    assert backbone_facts(weights=str(folder)) == facts
    assert facts["weights"] == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert json.loads(facts["activation"]) == {"text": "gelu", "vision": "quick_gelu"}
    preprocessing = json.loads(facts["preprocessing"])
    assert preprocessing["image_processor_type"] == "CLIPImageProcessor"
    assert preprocessing["size"] == {"shortest_edge": 32}
    assert preprocessing["resample"] == 3
    assert facts["precision"] == "float32"
    assert facts["library"].startswith("transformers 5.")
    assert [part.split()[0] for part in facts["runtime"].split(", ")] == ["torch", "torchvision", "pillow"]
    assert "+" not in facts["runtime"]


@pytest.mark.parametrize(
    ("file", "key", "value", "fact"),
    [
        ("preprocessor_config.json", "image_mean", [0.5, 0.5, 0.5], "preprocessing"),
        ("config.json", "logit_scale_init_value", 1.0, "config"),
        ("tokenizer_config.json", "model_max_length", 12, "tokenizer"),
    ],
)
def test_a_changed_file_changes_its_fact_alone(
    file: str, key: str, value: object, fact: str, clip_copy: Path, opened: dict[Kind, Backbone]
) -> None:
    (clip_copy / file).write_text(json.dumps(json.loads((clip_copy / file).read_text()) | {key: value}))
    changed = backbone_facts(weights=str(clip_copy))
    assert {name for name in changed if changed[name] != opened["clip"].facts[name]} == {fact}


def test_pickles_and_shards_give_the_same_vectors(
    folders: dict[Kind, Path], clip_copy: Path, tmp_path: Path, opened: dict[Kind, Backbone]
) -> None:
    import torch
    import transformers
    from safetensors.torch import load_file

    torch.save(load_file(clip_copy / "model.safetensors"), clip_copy / "pytorch_model.bin")
    (clip_copy / "model.safetensors").unlink()
    shards = Path(shutil.copytree(folders["clip"], tmp_path / "shards"))
    (shards / "model.safetensors").unlink()
    model = transformers.CLIPModel.from_pretrained(folders["clip"])
    model.save_pretrained(shards, max_shard_size="10KB")
    assert len(list(shards.glob("*.safetensors"))) > 1
    digests = {opened["clip"].facts["weights"]}
    for folder in (clip_copy, shards):
        ours = open_backbone(weights=str(folder), model="owner/small")
        assert np.array_equal(ours.encode_texts(PROMPTS).vectors, opened["clip"].encode_texts(PROMPTS).vectors)
        digests.add(ours.facts["weights"])
    assert len(digests) == 3
    next(shards.glob("*-00002-of-*.safetensors")).unlink()
    with pytest.raises(BackboneError, match="lacks model-00002-of-"):
        open_backbone(weights=str(shards))


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("config.json", "config.json"),
        ("model.safetensors", "the weights"),
        ("preprocessor_config.json", "the image preprocessing, which is not guessed"),
        ("tokenizer.json", "the tokenizer"),
    ],
)
def test_a_folder_without_a_needed_file_is_refused(clip_copy: Path, file: str, named: str) -> None:
    (clip_copy / file).unlink()
    with pytest.raises(BackboneError, match=f"copy: lacks {named}"):
        open_backbone(weights=str(clip_copy))


def test_a_processor_saved_as_one_file_is_read(clip_copy: Path, opened: dict[Kind, Backbone]) -> None:
    image_processor = json.loads((clip_copy / "preprocessor_config.json").read_text())
    (clip_copy / "preprocessor_config.json").unlink()
    (clip_copy / "processor_config.json").write_text(json.dumps({"image_processor": image_processor}))
    assert backbone_facts(weights=str(clip_copy)) == opened["clip"].facts


def test_weights_that_lack_tensors_are_refused_rather_than_made_up(clip_copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(clip_copy / "model.safetensors")
    del state["visual_projection.weight"]
    save_file(state, clip_copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(BackboneError, match=r"lack 1 tensors .* random: visual_projection.weight"):
        open_backbone(weights=str(clip_copy))


def test_towers_of_different_dimension_are_refused(tmp_path: Path) -> None:
    folder = save_small_transformers("align", tmp_path, projection_dim=24)
    with pytest.raises(BackboneError, match=r"\(16,\) and the text tower of \(24,\)"):
        open_backbone(weights=str(folder))


def test_a_pickle_that_runs_code_is_refused_and_does_not_run(clip_copy: Path, tmp_path: Path) -> None:
    import torch

    (clip_copy / "model.safetensors").unlink()
    torch.save({"weight": torch.zeros(1), "more": RunsCodeOnLoad(tmp_path / "ran")}, clip_copy / "pytorch_model.bin")
    with pytest.raises(BackboneError, match="holds more than weights"):
        open_backbone(weights=str(clip_copy))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("model_type", ["clip", "my_own_clip"])
def test_code_that_comes_with_a_model_is_never_run(
    model_type: str, clip_copy: Path, tmp_path: Path, opened: dict[Kind, Backbone]
) -> None:
    code = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).write_text('ran')\n"
    (clip_copy / "own_code.py").write_text(code)
    own = {"auto_map": {"AutoConfig": "own_code.Config", "AutoModel": "own_code.Model"}, "model_type": model_type}
    config = json.loads((clip_copy / "config.json").read_text())
    (clip_copy / "config.json").write_text(json.dumps(config | own))
    if model_type == "clip":
        ours = open_backbone(weights=str(clip_copy))
        assert np.array_equal(ours.encode_texts(PROMPTS).vectors, opened["clip"].encode_texts(PROMPTS).vectors)
    else:
        with pytest.raises(BackboneError, match="needs code from its own repository, which is never run"):
            open_backbone(weights=str(clip_copy))
    assert not (tmp_path / "ran").exists()


def test_a_model_without_two_towers_is_refused(clip_copy: Path) -> None:
    import transformers

    config = transformers.CLIPConfig.from_pretrained(clip_copy).vision_config
    transformers.CLIPVisionModel(config).save_pretrained(clip_copy)
    with pytest.raises(BackboneError, match="does not embed both images and texts"):
        open_backbone(weights=str(clip_copy))


def test_a_hub_model_is_taken_from_the_cache_without_a_network(
    folders: dict[Kind, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: dict[Kind, Backbone]
) -> None:
    snapshot = hub_snapshot(empty_hub_cache(monkeypatch, tmp_path), "owner/small")
    with pytest.raises(BackboneError, match=r'"owner/small" are not on this machine .*out of reach.*`weights`'):
        open_backbone(model="owner/small")
    shutil.copytree(folders["clip"], snapshot, dirs_exist_ok=True)
    assert open_backbone(model="owner/small").facts == opened["clip"].facts
    with pytest.raises(BackboneError, match="at revision v2 are not on this machine"):
        open_backbone(model="owner/small", revision="v2")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs `model`"),
        ({"model": "/nowhere/model"}, "/nowhere/model: is not a folder"),
        ({"weights": "/nowhere/model"}, "/nowhere/model: is not a folder"),
        ({"model": "owner/small", "pretrained": "openai"}, 'no setting "pretrained"'),
        ({"model": "owner/small", "precision": "fp16"}, 'no precision "fp16"'),
        ({"model": "not a name"}, '"not a name" are not on this machine'),
    ],
    ids=str,
)
def test_mistakes_in_a_spec_are_named(
    settings: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty_hub_cache(monkeypatch, tmp_path)
    with pytest.raises(BackboneError, match=message):
        open_backbone(**settings)
