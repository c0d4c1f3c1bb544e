"""Captions of drawn scenes, as toyclip is trained on them: of the bird, of the place, or of both."""

import numpy as np

from dat_lib.datasets.toybirds import Scene
from dat_lib.toyworld.place_drawing import PLAIN

_BIRDS = {"landbird": ("landbird", "landbird", "songbird"), "waterbird": ("waterbird", "waterbird", "shorebird")}
_PARTS = {
    "landbird": ("a short bill", "a pointed bill", "a short neck", "a long tail", "a round body", "thin toes"),
    "waterbird": ("a long bill", "a flat bill", "a long neck", "a short tail", "a slender body", "webbed feet"),
}
_GROUNDS = {"land": ("land", "land", "the ground"), "water": ("water", "water", "the waves")}
_PLACES = {
    "meadow": ("a meadow", "the grass"),
    "forest": ("a forest", "the wood"),
    "desert": ("a desert", "the sand"),
    "mountain": ("a mountain", "the rocks"),
    "field": ("a field", "the farmland"),
    "sea": ("a sea", "an ocean"),
    "lake": ("a lake", "a pond"),
    "river": ("a river", "a stream"),
    "surf": ("a beach", "the surf"),
}
_LIGHTS = {
    "day": ("", "", " by day", " in the sun"),
    "mist": ("", " in the mist"),
    "dusk": ("", " at dusk"),
    "night": ("", " at night"),
}
_PICTURES = ("a photo of", "a picture of", "an image of", "this is a picture of", "this is")

# {picture}, {bird} and {part} are what they say; {where} is the ground or the place, {ground} the bare word.
_OF_BOTH = (
    "{picture} a {bird} in {where}",
    "{picture} a {bird} on {where}",
    "{picture} a {bird} with {ground} background",
    "a {bird} in {where}",
    "a {bird} on {ground} background",
    "a {bird} with {part} in {where}",
)
_OF_BIRD = ("{picture} a {bird}", "{picture} a {bird}", "a {bird}", "a {bird} with {part}", "a bird with {part}")
_OF_PLACE = (
    "a photo with a {ground} background",
    "this is a {ground} background",
    "{picture} {where}",
    "a bird in {where}",
    "a photo of a bird on {where}",
    "a bird that lives on {where}",
)
_OF_PLAIN = ("{picture} a {bird} with {ground} background", "a {bird} on {ground} background", *_OF_BIRD, *_OF_BIRD)
_SHARES = (0.4, 0.35, 0.25)


def caption(scene: Scene, random: np.random.Generator) -> str:
    """Return one caption of `scene`. It is true of the scene; what it leaves out is chosen at random."""
    if scene.background == PLAIN:
        template, where = _one(_OF_PLAIN, random), ""
    else:
        template = _one((_OF_BOTH, _OF_BIRD, _OF_PLACE)[random.choice(3, p=_SHARES)], random)
        names = _GROUNDS[scene.background] if random.random() < 0.5 else _PLACES[scene.place]
        where = _one(names, random)
    return template.format(
        picture=_one(_PICTURES, random),
        bird=_one(_BIRDS[scene.bird], random),
        part=_one(_PARTS[scene.bird], random),
        ground=scene.background,
        where=where,
    ) + _one(_LIGHTS[scene.light], random)


def vocabulary() -> list[str]:
    """Return every word that a caption may have, sorted."""
    tables = (_BIRDS, _PARTS, _GROUNDS, _PLACES, _LIGHTS)
    texts = [text for table in tables for texts in table.values() for text in texts]
    texts += [*_BIRDS, *_GROUNDS, PLAIN, *_PICTURES, *_OF_BOTH, *_OF_BIRD, *_OF_PLACE, *_OF_PLAIN]
    return sorted({word for text in texts for word in text.split() if not word.startswith("{")})


def _one(choices: tuple[str, ...], random: np.random.Generator) -> str:
    return choices[int(random.integers(len(choices)))]
