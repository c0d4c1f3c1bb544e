"""The demo: from drawn images to the results of every method, and what the README and the model's card say of them."""

import re

import pytest

from dat_lib.methods.registry import method_names
from data_catalog.home import Home
from data_catalog.index.reader import query
from tests.flows.newcomer import PROJECT, README, Newcomer

CARD = PROJECT / "data_catalog/toyclip/MODEL.md"
NAMES = {
    "ZS": "zero_shot",
    "Group Prompt": "group_prompt",
    "Ideal words": "ideal_words",
    "Orth-Proj": "orth_proj",
    "Orth-Cali": "orth_cali",
    "Perception CLIP": "perception_clip",
    "ROBOSHOT": "roboshot",
    "TIE": "tie",
    "TIE*": "tie_star",
    "ZS+MC": "zero_shot_centred",
    "ZS+W": "zero_shot_whitened",
    "Group Prompt+MC": "group_prompt_centred",
    "Group Prompt+W": "group_prompt_whitened",
    "DAT": "dat",
    "DAT*": "dat_star",
    "DAT auto": "dat_auto",
    "Nearest class mean": "nearest_class_mean",
    "k-NN vote": "knn_vote",
    "Density only": "density_only",
}
# Another processor rounds otherwise: two of the 300 images of a group may fall on the other side.
ROUNDING = 0.7


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_the_demo_gives_the_numbers_that_are_written_down(demo: Newcomer) -> None:
    here = "dataset = 'toybirds'"
    found = {row["method"]: row for row in asked(demo, f"SELECT method, wg, avg, gap FROM results WHERE {here}")}
    assert set(found) == set(method_names()), "the demo runs every method there is"
    groups: dict[str, dict[str, float]] = {name: {} for name in found}
    for row in asked(demo, f"SELECT method, group_name, accuracy FROM group_accuracy WHERE {here}"):
        groups[row["method"]][row["group_name"]] = row["accuracy"]
    order = ("landbird, land", "landbird, water", "waterbird, land", "waterbird, water")
    written = card()
    assert set(written) == set(NAMES.values())
    for name, numbers in written.items():
        whole = [found[name][column] for column in ("wg", "avg", "gap")]
        assert numbers == pytest.approx([*whole, *(groups[name][group] for group in order)], abs=ROUNDING), name
    shown = readme()
    assert {"zero_shot", "group_prompt", "dat"} <= set(shown)
    for name, numbers in shown.items():
        assert numbers == pytest.approx([found[name][column] for column in ("wg", "avg", "gap")], abs=ROUNDING), name
    assert found["zero_shot"]["gap"] > 15, "the model has learned the shortcut"


def asked(demo: Newcomer, question: str) -> list[dict]:
    return query(Home(demo.folder / ".dat"), question).records()


def card() -> dict[str, list[float]]:
    """Read the table of MODEL.md: worst group, average, gap and the four groups of each method."""
    rows = [line.strip("|").split("|") for line in CARD.read_text().splitlines() if line.startswith("| ")]
    return {NAMES[row[0].strip()]: [float(cell) for cell in row[1:]] for row in rows if row[0].strip() in NAMES}


def readme() -> dict[str, list[float]]:
    """Read the ranking in README.md: worst group, average and gap of the methods it shows."""
    ranked = re.findall(r"^ *\d+  (\w+) +([\d.]+)  [\d.]+ to [\d.]+ +([\d.]+) +([\d.]+)$", README, re.MULTILINE)
    return {name: [float(number) for number in numbers] for name, *numbers in ranked}
