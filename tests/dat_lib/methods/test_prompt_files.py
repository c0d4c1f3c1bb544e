"""The shipped prompt sets and per-dataset settings: wording to the letter, shapes, and settings that methods have."""

import ast
import importlib.util
import tomllib
from pathlib import Path

import numpy as np
import pytest

import data_catalog.specs
from dat_lib.methods.registry import make_method, method_names
from dat_lib.methods.support.contract import text_role
from data_catalog.specs.prompts import PromptSet

SPECS = Path(data_catalog.specs.__path__[0])
SETS = sorted(path.stem for path in (SPECS / "prompts").glob("*.toml"))
MAIN = ("waterbirds", "celeba", "covid", "fmow")
SHAPES = {
    "waterbirds": {"reject": (10, 2), "accept": (6, 2), "spurious": (8,), "candidate": (2, 5)},
    "celeba": {"reject": (11, 2), "accept": (3, 2), "spurious": (6,), "candidate": (2, 2)},
    "covid": {"spurious": (2,), "candidate": (2, 2)},
    "fmow": {"spurious": (5,), "candidate": (62, 5)},
}


def read(name):
    return PromptSet(**tomllib.loads((SPECS / "prompts" / f"{name}.toml").read_text("utf-8")))


def shape(text):
    return np.array(text).shape


@pytest.mark.parametrize("name", SETS)
def test_a_set_has_prompts_of_the_right_shape_and_a_source(name):
    prompts = read(name)
    text = prompts.text_for()
    n_classes, n_attributes = len(prompts.classes), len(prompts.attributes)
    assert shape(text["class"]) == (n_classes,)
    assert shape(text["attribute"]) == (n_attributes,)
    assert shape(text["group"]) == (n_classes, n_attributes)
    assert prompts.source
    assert all(prompts.prompts[method]["source"] for method in prompts.methods)
    assert set(prompts.methods) <= set(method_names())


@pytest.mark.parametrize("name", MAIN)
@pytest.mark.parametrize("method", method_names())
def test_a_main_set_serves_every_method(name, method):
    text = read(name).text_for(method)
    roles = {*make_method(method).needs.text}
    assert all(text_role(role, text) for role in roles)
    for role in roles & SHAPES[name].keys():
        assert shape(text[role]) == SHAPES[name][role]
    if method == "roboshot":
        assert {shape(text[role])[1] for role in ("reject", "accept")} == {2}
    if method == "perception_clip":
        assert shape(text["class_context"])[1:] == shape(text["context"])


@pytest.mark.parametrize("name", [name for name in SETS if name.split("-")[0] in MAIN])
def test_variants_of_a_set_keep_the_order_of_classes_and_attributes(name):
    base, variant = read(name.split("-")[0]), read(name)
    assert variant.attributes == base.attributes
    assert len(variant.classes) == len(base.classes)


def test_the_words_of_the_paper():
    waterbirds, celeba, covid = (read(name).text_for() for name in ("waterbirds", "celeba", "covid"))
    assert waterbirds["class"] == ["a photo of a landbird", "a photo of a waterbird"]
    assert waterbirds["attribute"] == ["a photo with a land background", "a photo with a water background"]
    assert waterbirds["group"][1] == ["a photo of a waterbird in land", "a photo of a waterbird in water"]
    assert celeba["class"][1] == "a photo of a celebrity with blonde hair"
    assert celeba["attribute"] == ["a photo of a female", "a photo of a male"]
    assert celeba["group"][0] == [
        "a photo of a Female celebrity with dark hair",
        "a photo of a male celebrity with dark hair",
    ]
    assert covid["class"][0] == "An X-ray image of a chest without Pneumonia"
    assert covid["group"][1][1] == "an X-ray image of a chest with Pneumonia from a male"


def test_fmow_has_the_classes_of_wilds_with_their_articles_and_its_order_of_regions():
    fmow = read("fmow")
    source = Path(importlib.util.find_spec("wilds").origin).parent / "datasets" / "fmow_dataset.py"
    categories = next(
        ast.literal_eval(node.value)
        for node in ast.parse(source.read_text("utf-8")).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "categories"
    )
    assert fmow.classes == [category.replace("_", " ") for category in categories]
    assert len(fmow.classes) == 62
    assert fmow.attributes == ["Asia", "Europe", "Africa", "Americas", "Oceania"]
    text = fmow.text_for()
    assert text["class"][:2] == ["A satellite image of an airport", "A satellite image of an airport hangar"]
    assert text["class"][-1] == "A satellite image of a zoo"
    assert text["attribute"][3] == "Over Americas"
    assert text["group"][36][2] == "A satellite image of a place of worship over Africa"


def test_tie_gives_four_regions_the_wrong_prompt_only_in_its_own_order():
    right, published = read("fmow-tie"), read("fmow-tie-order")
    stems = [prompt.removesuffix(".").removeprefix("Over ") for prompt in right.text_for()["attribute"]]
    assert [stem[:6] for stem in stems] == [region[:6] for region in right.attributes[:3]] + ["Americ", "Oceani"]
    differs = np.array(right.text_for()["attribute"]) != np.array(published.text_for()["attribute"])
    assert differs.tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(("name", "count"), [("waterbirds-robust", 5), ("celeba-robust", 4)])
def test_robust_sets_give_each_attribute_and_group_its_variants(name, count):
    prompts = read(name)
    text = prompts.text_for()
    leaves = [*text["attribute"], *(leaf for row in text["group"] for leaf in row)]
    assert {len(set(leaf["variants"])) for leaf in leaves} == {count}
    words = [
        {variant.split(" in ")[-1].split(" celebrity")[0] for variant in leaf["variants"]} for leaf in text["group"][0]
    ]
    for row in text["group"]:
        found = [{variant.split(" in ")[-1].split(" celebrity")[0] for variant in leaf["variants"]} for leaf in row]
        assert found == words
    assert not words[0] & words[1]


def test_wording_that_nobody_published_is_marked():
    for name in MAIN:
        tables = read(name).prompts
        for method in read(name).methods:
            assert tables[method].get("ours", False) == (name in ("covid", "fmow"))


def test_perception_clip_has_its_larger_sets_of_contexts():
    backgrounds = read("waterbirds-backgrounds").text_for("perception_clip")
    assert shape(backgrounds["class_context"]) == (2, 12)
    assert backgrounds["class_context"][0][:2] == ["a photo of a landbird.", "a photo of a landbird, on land."]
    factors = read("celeba-factors").text_for("perception_clip")
    assert shape(factors["class_context"]) == (2, 36)
    assert "a photo of a celebrity with dark hair., female." in factors["class_context"][0]
    assert len(set(factors["context"])) == 36


@pytest.mark.parametrize("path", sorted((SPECS / "methods").glob("*.toml")), ids=lambda path: path.stem)
def test_per_dataset_settings_are_settings_of_the_method(path):
    tables = tomllib.loads(path.read_text("utf-8"))["datasets"]
    assert set(tables) - {"toybirds"} == set(MAIN)
    for settings in tables.values():
        make_method(path.stem, settings)


def test_the_paper_fixes_n_k_and_strength_per_dataset():
    def settings(method):
        tables = tomllib.loads((SPECS / "methods" / f"{method}.toml").read_text("utf-8"))["datasets"]
        return {name: tuple(table.values()) for name, table in tables.items()}

    paper = {"waterbirds": (56, 10, 10.0), "celeba": (128, 10, 1.0), "covid": (40, 10, 10.0), "fmow": (50, 30, 10.0)}
    assert settings("dat") == paper
    # Toybirds is made in the spirit of Waterbirds and takes its settings.
    assert settings("dat_star") == {**paper, "waterbirds": (56, 10, 1.0), "toybirds": (56, 10, 1.0)}
    for control in ("nearest_class_mean", "knn_vote", "density_only"):
        assert settings(control) == {name: values[:2] for name, values in paper.items()}
