"""WordNet databases."""

import random
from collections.abc import Iterator

from tests.hostile import mutating
from tests.hostile.kinds.kind import Kind, Words, harm_file
from tests.hostile.watching import World
from tests.small_wordnet import write_wordnet

_TERMS = ("water", "ground", "entity", "fresh water", "waters")


class WordNets(Kind):
    """WordNet databases: their indices, synsets and exceptions, and the words that are looked for."""

    name = "wordnet"

    def prepare(self, world: World) -> None:
        """Nine synsets of nouns."""
        write_wordnet(world.work / "dict")

    def harm(self, world: World, chance: random.Random) -> None:
        """Harm one or two files of the database, or put one in that it does not have."""
        names = (*("data.noun", "index.noun") * 3, "noun.exc", "data.verb", "index.verb", "lexnames")
        for name in sorted({chance.choice(names) for _ in range(chance.choice((0, 1, 1, 2)))}):
            path = world.work / "dict" / name
            if path.exists():
                harm_file(path, chance, _harmed_lines, world)
            else:
                mutating.displace(path, chance, world.folder / "outside.txt")

    def commands(self, world: World, chance: random.Random) -> Iterator[Words]:
        """Look for a word that is there, or for one that never was."""
        term = chance.choice(_TERMS) if chance.random() < 0.8 else chance.choice(mutating.TEXTS)
        if "\0" not in term and len(term) < 10_000:
            yield ("prompts", "wordnet", "--folder", "dict", *chance.choice(((), ("--json",))), "--", term)


def _harmed_lines(text: str, chance: random.Random) -> bytes:
    """Return lines with another word in one of them, which keeps the others in their places, or harmed as any text."""
    lines = text.splitlines(keepends=True)
    if not lines or chance.random() < 0.4:
        return mutating.harmed_text(text, chance)
    line = chance.randrange(len(lines))
    words = lines[line].split(" ")
    place = chance.randrange(len(words))
    others = ("99999999", "00000000", "-1", "ff", "zz", "@", "~", "n", "|", "", "9" * 5000, "e\u0301", "\x1b[31m")
    words[place] = chance.choice((*others, chance.choice(lines).split(" ")[0]))
    lines[line] = " ".join(words)
    return "".join(lines).encode()
