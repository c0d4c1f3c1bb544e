import math
import subprocess
import sys
from dataclasses import asdict, dataclass, fields, is_dataclass
from importlib import metadata
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import dat_lib.methods
from dat_lib.methods import registry
from dat_lib.methods.registry import make_method, method_class, method_module, method_names
from dat_lib.methods.support.contract import Method, Needs, Prediction, Problem, run_method


@dataclass(frozen=True)
class Foreign:
    """A method of another package."""

    name: ClassVar[str] = "always_first"
    title: ClassVar[str] = "First"
    needs: ClassVar[Needs] = Needs(text=("class",))

    weight: float = 1.0

    def predict(self, problem):
        return Prediction(np.zeros(len(problem.queries), int))


@dataclass(frozen=True)
class Misnamed:
    name: ClassVar[str] = "other"

    def predict(self, problem):
        return Prediction(np.zeros(len(problem.queries), int))


def not_a_class():
    return None


@pytest.fixture
def offer(monkeypatch):
    """Pretend that packages with these entry points are installed."""

    def pretend(**targets):
        points = [metadata.EntryPoint(name, target, registry.GROUP) for name, target in targets.items()]
        monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == registry.GROUP else [])
        monkeypatch.setitem(sys.modules, "foreign_package", sys.modules[__name__])
        registry._third_party.cache_clear()

    yield pretend
    registry._third_party.cache_clear()


PAPER = {
    "zero_shot": "ZS",
    "group_prompt": "Group Prompt",
    "ideal_words": "Ideal words",
    "orth_cali": "Orth-Cali",
    "perception_clip": "Perception CLIP",
    "roboshot": "ROBOSHOT",
    "tie": "TIE",
    "tie_star": "TIE*",
    "dat": "DAT",
    "dat_star": "DAT*",
    "zero_shot_centred": "ZS+MC",
    "zero_shot_whitened": "ZS+W",
    "group_prompt_centred": "Group Prompt+MC",
    "group_prompt_whitened": "Group Prompt+W",
}
OURS = {"orth_proj", "nearest_class_mean", "knn_vote", "density_only", "dat_auto"}


def test_every_method_of_the_paper_is_there_under_its_title():
    assert {name: method_class(name).title for name in PAPER} == PAPER
    assert set(PAPER) | OURS <= set(method_names())


@pytest.mark.parametrize("name", sorted({*PAPER, *OURS}))
def test_a_method_is_a_frozen_dataclass_that_works_with_its_defaults(name):
    method = make_method(name)
    assert method.name == name
    assert isinstance(method, Method)
    assert is_dataclass(method)
    assert type(method).__dataclass_params__.frozen
    assert method == make_method(name, {field.name: getattr(method, field.name) for field in fields(method)})


REFERENCES = {"n": 56, "k": 10, "shortage": "drop"}
DENSITIES = {**REFERENCES, "density": "slof", "epsilon": 1e-8, "lid": "mle", "metric": "euclidean"}
TRANSLATION = {"strength": 10, "terms": "both", "score": "ratio", "temperature": None}
TRANSLATED = {**DENSITIES, **TRANSLATION, "references": "herded", "corruption": 0}
WHITENED = {"ridge": 1e-3, "text_covariance": "image"}
DEFAULTS = {
    "zero_shot": {},
    "group_prompt": {"roboshot_bug": False},
    "ideal_words": {"normalise_before": True, "vector": "sum"},
    "orth_cali": {"strength": 1000},
    "orth_proj": {},
    "perception_clip": {"infer": "class_attribute", "temperature": 1},
    "roboshot": {"variant": "both", "accept_along": "basis"},
    "tie": {"normalise_before": True},
    "tie_star": {"normalise_before": True},
    "dat": TRANSLATED,
    "dat_star": TRANSLATED,
    "zero_shot_centred": {"text_mean": "prompts"},
    "group_prompt_centred": {"text_mean": "prompts"},
    "zero_shot_whitened": WHITENED,
    "group_prompt_whitened": WHITENED,
    "nearest_class_mean": REFERENCES,
    "knn_vote": REFERENCES,
    "density_only": DENSITIES,
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_settings_default_to_what_is_published_or_chosen_for_what_is_not(name):
    assert asdict(make_method(name)) == DEFAULTS[name]


def test_every_file_of_the_package_is_machinery_or_lists_methods():
    files = {path.stem for path in Path(dat_lib.methods.__path__[0]).glob("*.py")} - {"__init__"}
    homes = {method_module(name).rpartition(".")[2] for name in method_names()}
    assert files == homes | {"registry"}


def test_the_module_of_a_method_is_the_one_that_defines_it():
    assert method_module("tie_star") == "dat_lib.methods.tie"


def test_an_unknown_method_gets_a_suggestion():
    with pytest.raises(ValueError, match='no method "zero_shoot"; did you mean "zero_shot"') as raised:
        method_class("zero_shoot")
    assert "density_only" in str(raised.value)


def test_an_unknown_setting_gets_a_suggestion_and_the_known_ones():
    with pytest.raises(ValueError, match='dat has no setting "strenght"; did you mean "strength"') as raised:
        make_method("dat", {"strenght": 1.0})
    assert "epsilon" in str(raised.value)


def test_a_whole_number_serves_as_a_float():
    assert make_method("orth_cali", {"strength": 5}).strength == 5.0
    assert type(make_method("orth_cali", {"strength": 5}).strength) is float


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("dat", {"strength": 10**400}, "is not allowed; it takes a finite number"),
        ("dat", {"strength": -math.inf}, "dat: setting strength = -inf is not allowed; it takes a finite number"),
        ("dat", {"strength": math.nan}, "dat: setting strength = nan is not allowed; it takes a finite number"),
        ("orth_cali", {"strength": "5"}, "orth_cali: setting strength = '5' is not allowed; it takes a finite number"),
        ("orth_cali", {"strength": float("inf")}, "setting strength = inf is not allowed"),
        ("orth_cali", {"strength": True}, "setting strength = True is not allowed"),
        ("orth_cali", {"strength": -1}, r"setting strength = -1\.0 must be at least 0"),
        ("roboshot", {"variant": "neither"}, "variant = 'neither' .* one of 'both', 'reject', 'accept'"),
        ("tie", {"normalise_before": 1}, "normalise_before = 1 is not allowed; it takes true or false"),
        ("dat", {"k": 2.5}, r"dat: setting k = 2\.5 is not allowed; it takes a whole number"),
        ("dat", {"n": True}, "dat: setting n = True is not allowed"),
    ],
)
def test_a_wrong_value_is_refused_with_setting_value_and_what_is_allowed(name, settings, message):
    with pytest.raises(ValueError, match=message):
        make_method(name, settings)


def test_settings_are_checked_without_the_registry_too():
    with pytest.raises(ValueError, match="variant = 'neither'"):
        method_class("roboshot")(variant="neither")


def test_another_package_can_offer_a_method(offer):
    offer(always_first="foreign_package:Foreign")
    assert "always_first" in method_names()
    method = make_method("always_first", {"weight": 2})
    assert method.weight == 2.0
    assert method_class("always_first") is Foreign
    given = Problem(np.ones((3, 2)), {"class": np.ones((2, 2))}, 2, 1, np.array(["a", "b", "c"]))
    assert not run_method(method, given).labels.any()


def test_a_foreign_method_is_listed_without_being_imported(offer):
    offer(always_first="a_package_that_is_not_there:Foreign")
    assert "always_first" in method_names()
    with pytest.raises(ValueError, match="a_package_that_is_not_there:Foreign cannot be loaded: ModuleNotFound"):
        method_class("always_first")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("foreign_package:not_a_class", "is not a dataclass with a predict method"),
        ("foreign_package:Misnamed", "gives a method named 'other', expected 'always_first'"),
    ],
)
def test_a_foreign_target_that_is_no_method_is_refused(offer, target, message):
    offer(always_first=target)
    with pytest.raises(ValueError, match=message):
        method_class("always_first")


def test_a_foreign_method_cannot_take_a_name_of_ours(offer):
    offer(zero_shot="foreign_package:Foreign")
    with pytest.raises(ValueError, match='"zero_shot" = foreign_package:Foreign takes a name that is in use'):
        method_names()
    assert method_module("zero_shot") == "dat_lib.methods.zero_shot"


def test_finding_all_methods_imports_nothing_heavy():
    script = (
        "import sys; from dat_lib.methods.registry import make_method, method_names\n"
        "for name in method_names(): make_method(name).needs\n"
        "print([m for m in ('torch', 'sklearn', 'scipy', 'pandas', 'prefect') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
