"""`dat prompts wordnet`, on a small database in WordNet's own format, and on an installed one."""

import json
from pathlib import Path

import pytest

from tasks import wordnet
from tests.small_wordnet import write_wordnet


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "dict")


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
