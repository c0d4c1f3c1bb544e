"""`dat prompts wordnet`, on a small database written here in WordNet's own format, and on an installed one."""

import json
from pathlib import Path

import pytest

from tasks import wordnet

# {synset: (words, synsets above it, meaning)}; the first sense of a word is the synset that comes first.
SYNSETS = {
    "entity": (["entity"], [], "that which is"),
    "liquid": (["liquid"], ["entity"], "what flows"),
    "ground": (["ground", "solid_ground"], ["entity"], "the solid part of the earth"),
    "water": (["water"], ["liquid"], "the liquid of lakes and rain"),
    "fresh": (["fresh_water"], ["water"], "water without salt"),
    "sea": (["sea_water"], ["water"], "water with salt"),
    "lake": (["lake_water"], ["fresh"], "fresh water that stands"),
    "river": (["river_water"], ["fresh"], "fresh water that runs"),
    "bath": (["water"], ["entity"], "what one takes at a spa"),
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "dict"
    folder.mkdir()
    for kind in ("verb", "adj", "adv"):
        for name in (f"data.{kind}", f"index.{kind}", f"{kind}.exc"):
            (folder / name).write_text("")
    (folder / "noun.exc").write_text("waters water\n")
    below = {name: [other for other, (_, above, _) in SYNSETS.items() if name in above] for name in SYNSETS}

    def line(name: str, offsets: dict[str, int]) -> str:
        words, above, meaning = SYNSETS[name]
        pointers = [("@", other) for other in above] + [("~", other) for other in below[name]]
        links = " ".join(f"{sign} {offsets[other]:08d} n 0000" for sign, other in pointers)
        spelled = " ".join(f"{word} 0" for word in words)
        parts = f"{offsets[name]:08d} 03 n {len(words):02x} {spelled} {len(pointers):03d}"
        return f"{parts} {links} | {meaning}  \n".replace("  |", " |")

    offsets, position = {}, 0
    for name in SYNSETS:
        offsets[name] = position
        position += len(line(name, dict.fromkeys(SYNSETS, 0)))
    (folder / "data.noun").write_text("".join(line(name, offsets) for name in SYNSETS))
    meanings: dict[str, list[int]] = {}
    for name, (words, _, _) in SYNSETS.items():
        for word in words:
            meanings.setdefault(word, []).append(offsets[name])
    lines = [
        f"{word} n {len(found)} 2 @ ~ {len(found)} 0 {' '.join(f'{offset:08d}' for offset in found)}  \n"
        for word, found in sorted(meanings.items())
    ]
    (folder / "index.noun").write_text("".join(lines))
    return folder


def test_every_sense_has_the_words_above_and_below_it(dat, database) -> None:
    ran = dat("prompts", "wordnet", "water", "--folder", str(database), "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == [
        {
            "name": "water.n.01",
            "definition": "the liquid of lakes and rain",
            "hypernyms": ["liquid"],
            "hyponyms": ["fresh water", "sea water"],
            "most_specific": ["lake water", "river water", "sea water"],
        },
        {
            "name": "water.n.02",
            "definition": "what one takes at a spa",
            "hypernyms": ["entity"],
            "hyponyms": [],
            "most_specific": [],
        },
    ]
    assert json.loads(dat("prompts", "wordnet", "waters", "--folder", str(database), "--json").out)
    two_words = json.loads(dat("prompts", "wordnet", "fresh water", "--folder", str(database), "--json").out)
    assert two_words[0]["hypernyms"] == ["water"]


def test_a_long_list_is_cut_and_says_so(dat, database) -> None:
    ran = dat("prompts", "wordnet", "water", "--folder", str(database), "--count", "2")
    assert "lake water, river water … and 1 more" in ran.out


def test_a_variable_names_the_database(dat, database, monkeypatch) -> None:
    monkeypatch.setattr(wordnet, "PLACES", ())
    monkeypatch.setenv("WNHOME", str(database.parent))
    assert dat("prompts", "wordnet", "ground", "--json").code == 0
    monkeypatch.delenv("WNHOME")
    monkeypatch.setenv("WNSEARCHDIR", str(database))
    assert dat("prompts", "wordnet", "ground", "--json").code == 0


def test_an_unknown_word_is_told(dat, database) -> None:
    ran = dat("prompts", "wordnet", "keratin", "--folder", str(database))
    assert ran.code == 2
    assert "knows no noun 'keratin'" in ran.err


def test_without_a_database_it_says_how_to_get_one(dat, tmp_path, monkeypatch) -> None:
    import nltk.data

    monkeypatch.setattr(wordnet, "PLACES", (tmp_path / "nowhere",))
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    for name in ("WNHOME", "WNSEARCHDIR"):
        monkeypatch.delenv(name, raising=False)
    ran = dat("prompts", "wordnet", "water")
    assert ran.code == 2
    assert "there is no WordNet database" in ran.err
    assert "apt install wordnet-base" in ran.err
    ran = dat("prompts", "wordnet", "water", "--folder", str(tmp_path))
    assert ran.code == 2
    assert "is no WordNet database" in ran.err


@pytest.mark.skipif(not wordnet.PLACES[0].is_dir(), reason="Debian's wordnet-base is not installed")
def test_debians_database_is_read_as_it_is(dat) -> None:
    ran = dat("prompts", "wordnet", "water", "--folder", str(wordnet.PLACES[0]), "--json")
    assert ran.code == 0, ran.err
    (first, *_) = json.loads(ran.out)
    assert "liquid" in first["hypernyms"]
    assert "distilled water" in first["hyponyms"]
