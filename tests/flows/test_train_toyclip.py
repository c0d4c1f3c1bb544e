"""toyclip: the captions, the parts, a training run of a few steps, and the model that is kept."""

import json
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from dat_lib.datasets.toybirds import Scene, open_dataset
from dat_lib.toyworld.place_drawing import BACKGROUNDS, PLACES
from dat_lib.toyworld.toyclip_captions import caption, vocabulary
from dat_lib.toyworld.train_toyclip import Recipe, contrastive_loss, save, train
from data_catalog.specs.prompts import PromptSet

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "data_catalog" / "toyclip"
TINY = Recipe(scenes=40, portraits=20, steps=2, batch=16, workers=1)


@pytest.fixture(scope="module")
def prompts():
    return PromptSet(**tomllib.loads((ROOT / "data_catalog/specs/prompts/toybirds.toml").read_text("utf-8")))


@pytest.fixture(scope="module")
def trained():
    return train(TINY)


def scenes():
    for bird in ("landbird", "waterbird"):
        for background in BACKGROUNDS:
            for place in PLACES[background]:
                yield Scene(bird, background, place, "dusk")
        yield Scene(bird, "plain", "plain", "day")


@pytest.mark.parametrize("scene", list(scenes()), ids=str)
def test_captions_are_true_and_made_of_known_words(scene):
    random = np.random.default_rng(0)
    known = set(vocabulary())
    captions = [caption(scene, random) for _ in range(200)]
    words = [set(text.split()) for text in captions]
    assert all(one <= known for one in words)
    other_bird = {"landbird", "songbird"} if scene.bird == "waterbird" else {"waterbird", "shorebird"}
    other_ground = {"land", "water", "plain"} - {scene.background}
    assert not any(one & (other_bird | other_ground) for one in words)
    assert any(scene.bird in one for one in words)
    assert any(scene.bird not in one for one in words)


def test_no_prompt_has_a_word_that_the_model_has_never_seen(prompts):
    from dat_lib.toyworld.toyclip_model import make_tokenizer

    tokenizer = make_tokenizer()
    for prompt in prompts.all_prompts():
        ids = tokenizer(prompt)["input_ids"]
        assert tokenizer.unk_token_id not in ids, prompt
        assert ids[0] == tokenizer.bos_token_id
        assert ids[-1] == tokenizer.eos_token_id
    assert tokenizer("a keratin bird")["input_ids"].count(tokenizer.unk_token_id) == 1
    assert tokenizer("A Photo of a bird.")["input_ids"] == tokenizer("a photo of a bird")["input_ids"]


def test_the_loss_counts_copies_of_a_caption_as_right():
    import torch

    generator = torch.Generator().manual_seed(0)
    images, texts = (torch.nn.functional.normalize(torch.randn(4, 8, generator=generator), dim=1) for _ in range(2))
    texts[2] = texts[0]
    captions = ["a", "b", "a", "c"]
    logits = (100 * images @ texts.T).double().numpy()

    def cross_entropy(rows):
        total = 0.0
        for row, scores in enumerate(rows):
            right = [column for column in range(4) if captions[column] == captions[row]]
            normaliser = scores.max() + math.log(sum(math.exp(score - scores.max()) for score in scores))
            total -= sum(scores[column] - normaliser for column in right) / len(right)
        return total / 4

    expected = (cross_entropy(logits) + cross_entropy(logits.T)) / 2
    assert contrastive_loss(images, texts, captions).item() == pytest.approx(expected, rel=1e-5)


def test_the_cones_are_placed_as_asked_and_cosines_within_a_modality_stay():
    import torch

    from dat_lib.toyworld.toyclip_model import embed, make_model, make_tokenizer, place_cones

    torch.manual_seed(3)
    tokenizer = make_tokenizer()
    model = make_model(tokenizer)
    images = torch.randn(6, 3, 64, 64)
    tokens = dict(tokenizer(["a landbird", "a lake", "a bird in water"], padding=True, return_tensors="pt"))
    tokens.pop("token_type_ids", None)
    with torch.no_grad():
        _, before = embed(model, images, tokens)
        place_cones(model, images, tokens, 0.4)
        vision, after = embed(model, images, tokens)
    means = [torch.nn.functional.normalize(vectors.mean(0), dim=0) for vectors in (vision, after)]
    assert (means[0] @ means[1]).item() == pytest.approx(0.4, abs=1e-4)
    torch.testing.assert_close(after @ after.T, before @ before.T, atol=1e-5, rtol=0)


def test_the_same_recipe_gives_the_same_weights_and_another_seed_others(trained):
    import torch

    first, again = trained[0].state_dict(), train(TINY)[0].state_dict()
    other = train(Recipe(scenes=40, portraits=20, steps=2, batch=16, workers=1, seed=2))[0].state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_training_moves_every_weight_but_the_logit_scale(trained):
    import torch

    from dat_lib.toyworld.toyclip_model import make_model

    model, processor = trained
    torch.manual_seed(TINY.seed)
    start = make_model(processor.tokenizer).state_dict()
    still = {name for name, weight in model.state_dict().items() if torch.equal(weight, start[name])}
    assert {name for name in still if "position_ids" not in name} <= {
        "logit_scale",
        "text_model.embeddings.position_embedding.weight",
    }
    assert model.logit_scale.item() == pytest.approx(math.log(100))


def test_a_saved_model_embeds_as_before(trained, tmp_path):
    check_embeds_alike(*trained, save(*trained, tmp_path / "model"))


def check_embeds_alike(model, processor, folder):
    import torch

    loaded, its_processor = load(folder)
    images = [open_dataset(train=4, val=0, test=0).open_image(row) for row in range(4)]
    texts = ["a photo of a landbird", "a bird."]
    for one, other in ((processor, its_processor), (its_processor, processor)):
        inputs = one(text=texts, images=images, return_tensors="pt", padding=True)
        inputs.pop("token_type_ids", None)
        for name, value in other(text=texts, images=images, return_tensors="pt", padding=True).items():
            if name in inputs:
                assert torch.equal(value, inputs[name])
    with torch.no_grad():
        before, after = model(**inputs), loaded(**inputs)
    assert torch.equal(before.image_embeds, after.image_embeds)
    assert torch.equal(before.text_embeds, after.text_embeds)


def load(folder):
    from dat_lib.backbones.torchvision_import import import_torchvision

    import_torchvision()
    from transformers import AutoProcessor, CLIPModel

    return CLIPModel.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)


def test_the_processor_does_to_an_image_what_training_did():
    import torch

    from dat_lib.toyworld.toyclip_model import make_processor
    from dat_lib.toyworld.train_toyclip import scaled_pixels

    image = open_dataset(train=1, val=0, test=0).open_image(0)
    mine = scaled_pixels(np.asarray(image)[None])
    torch.testing.assert_close(make_processor()(images=image, return_tensors="pt")["pixel_values"], mine)


def test_the_kept_model_is_small_float32_and_of_the_scripts_shape():
    import torch

    from dat_lib.toyworld.toyclip_model import make_model, make_tokenizer

    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < 3_000_000
    model, processor = load(FOLDER)
    made = make_model(make_tokenizer()).state_dict()
    kept = model.state_dict()
    assert {name: weight.shape for name, weight in kept.items()} == {name: w.shape for name, w in made.items()}
    assert all(weight.dtype == torch.float32 for name, weight in kept.items() if "position_ids" not in name)
    assert model.logit_scale.item() == pytest.approx(math.log(100))
    assert processor.tokenizer.get_vocab() == make_tokenizer().get_vocab()
    assert json.loads((FOLDER / "config.json").read_text())["model_type"] == "clip"


def test_the_kept_model_leans_on_the_background_with_cosines_like_clips(prompts):
    import torch

    model, processor = load(FOLDER)
    dataset = open_dataset(train=0, val=200, test=0)
    samples = dataset.samples()

    def unit(output):
        vectors = output.pooler_output if hasattr(output, "pooler_output") else output
        return torch.nn.functional.normalize(vectors, dim=-1).numpy()

    text = prompts.text_for()
    sets = [text["class"], [prompt for row in text["group"] for prompt in row]]
    with torch.no_grad():
        pixels = processor(images=[dataset.open_image(row) for row in range(200)], return_tensors="pt")["pixel_values"]
        images = unit(model.get_image_features(pixel_values=pixels))
        classes, groups = (
            unit(model.get_text_features(**processor(text=one, return_tensors="pt", padding=True))) for one in sets
        )
    right = (images @ classes.T).argmax(axis=1) == samples.labels
    usual = samples.labels == samples.attributes
    assert right[usual].mean() - right[~usual].mean() > 0.3
    cosines = images @ groups.T
    assert (cosines < 0).mean() < 0.01
    assert cosines.max() - cosines.min() < 0.5
