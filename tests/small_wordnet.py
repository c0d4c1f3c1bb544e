"""A small WordNet database in WordNet's own format."""

from pathlib import Path

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


def write_wordnet(folder: Path) -> Path:
    """Write the files that a database consists of, of which only those of nouns have something in them."""
    folder.mkdir(parents=True)
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
