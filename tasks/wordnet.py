"""Words above and below a term in WordNet, to word prompts with: its senses, their hypernyms and hyponyms."""

import io
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data_catalog.errors import UserError

if TYPE_CHECKING:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

PLACES = (Path("/usr/share/wordnet"), Path("/usr/local/share/wordnet"), Path("/opt/homebrew/opt/wordnet/dict"))
"""Where packages put the database."""

_REQUIRED = tuple(
    name for kind in ("noun", "verb", "adj", "adv") for name in (f"data.{kind}", f"index.{kind}", f"{kind}.exc")
)
_LEXICOGRAPHER_FILES = 45


@dataclass(frozen=True)
class Sense:
    """One meaning of a noun, and the words around it."""

    name: str
    definition: str
    hypernyms: tuple[str, ...]
    """One level up: broader terms."""
    hyponyms: tuple[str, ...]
    """One level down."""
    most_specific: tuple[str, ...]
    """Terms that have none below them, the deepest first."""


def senses(term: str, folder: Path | None = None) -> list[Sense]:
    """Return the senses of a noun, the most frequent first; a `UserError` without a database or without the term."""
    (root, place), reader = _located(folder), _reader_type()
    try:
        found = _senses(_quietly(reader, root), term)
    except Exception as error:  # nltk checks little of what it reads, so a damaged file may raise anything
        raise UserError(
            f"the WordNet database cannot be read: {type(error).__name__}: {error}",
            where=place,
            remedy="install it anew, or name another folder with --folder",
        ) from error
    if not found:
        raise UserError(f"WordNet knows no noun {term!r}", where=place, remedy="try its singular, or a synonym")
    return found


def _senses(reader: "WordNetCorpusReader", term: str) -> list[Sense]:
    return [
        Sense(
            name=str(synset.name()),
            definition=str(synset.definition()),
            hypernyms=_words(_by_name([*synset.hypernyms(), *synset.instance_hypernyms()])),
            hyponyms=_words(_by_name(synset.hyponyms())),
            most_specific=_words(_leaves(synset)),
        )
        for synset in reader.synsets(term.strip().replace(" ", "_"), pos="n")
    ]


def _by_name(synsets: list[Any]) -> list[Any]:
    """Return them in an order that does not change: the reader keeps them in sets."""
    return sorted(synsets, key=lambda synset: str(synset.name()))


def _leaves(synset: Any) -> list[Any]:
    """Return what has nothing below it, the deepest first, then by name."""
    depth, waiting = {synset: 0}, [synset]
    for above in waiting:  # grows as it goes on: breadth first
        for below in above.hyponyms():
            if below not in depth:
                depth[below] = depth[above] + 1
                waiting.append(below)
    ends = [below for below in waiting if below is not synset and not below.hyponyms()]
    return sorted(ends, key=lambda end: (-depth[end], end.name()))


def _words(synsets: list[Any]) -> tuple[str, ...]:
    """Return the first word of each, once."""
    return tuple(dict.fromkeys(str(synset.lemma_names()[0]).replace("_", " ") for synset in synsets))


def _located(folder: Path | None) -> tuple[Any, str]:
    """Return the root of a database as nltk names it, and as people do."""
    import nltk.data

    if folder is not None:
        lacking = [name for name in _REQUIRED if not (folder / name).is_file()]
        if lacking:
            raise UserError(f"is no WordNet database: {', '.join(lacking)} missing", where=str(folder))
        return _allowed(folder), str(folder)
    for place in _places():
        if all((place / name).is_file() for name in _REQUIRED):
            return _allowed(place), str(place)
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            return nltk.data.find(name), name
        except LookupError:
            continue
    looked = ", ".join(map(str, _places()))
    raise UserError(
        f"there is no WordNet database: none in {looked}, nor in nltk's folders",
        remedy="install one (Debian: apt install wordnet-base; or: python -m nltk.downloader wordnet), "
        "or name its folder with --folder",
    )


def _allowed(folder: Path) -> Any:
    """Return a folder as nltk names it, after allowing it: its readers refuse all but listed folders."""
    import nltk.data

    place = str(folder.resolve())
    if place not in nltk.data.path:
        nltk.data.path.append(place)
    return nltk.data.FileSystemPathPointer(place)


def _places() -> Iterator[Path]:
    """Yield folders to look in: those that WordNet's own variables name, then the usual ones."""
    if os.environ.get("WNSEARCHDIR"):
        yield Path(os.environ["WNSEARCHDIR"])
    if os.environ.get("WNHOME"):
        yield Path(os.environ["WNHOME"]) / "dict"
    yield from PLACES


def _reader_type() -> type["WordNetCorpusReader"]:
    """Return nltk's reader, made to do without `lexnames`, which Debian's package leaves out."""
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def open(self, file: str) -> Any:
            if file == "lexnames":
                # Names of the files that lexicographers worked in, of which nothing here is made.
                return io.StringIO("".join(f"{number:02d}\tunnamed\t0\n" for number in range(_LEXICOGRAPHER_FILES)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            """Return no map to nltk's own copy: other languages would be read by it, and there may be none."""

    return Reader


def _quietly(reader: type["WordNetCorpusReader"], root: Any) -> "WordNetCorpusReader":
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The multilingual functions are not available")
        return reader(root, None)
