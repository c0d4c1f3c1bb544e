"""`dat prompts wordnet`: words to make prompts of."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from data_catalog.specs.paths import expanded
from flows.cli.terminal.options import AsJson
from flows.cli.terminal.output import console, print_json, print_table


def wordnet(
    term: Annotated[str, typer.Argument(help="A noun, such as an attribute of a dataset.", show_default=False)],
    folder: Annotated[
        Path | None, typer.Option(help="A WordNet database; by default the one that is installed.", show_default=False)
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Hyponyms to show of each kind.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Propose broader and more specific terms for an attribute, from WordNet.

    For each sense of the noun: its hypernyms (the paper's O1), its hyponyms, and the most specific terms below it
    (O3, of which the paper averages five). Put those that mean what the images show into a prompt set as
    `{ variants = [...] }`. The terms that the paper uses ship as the prompt sets `waterbirds-t1-o1` to `-t3-o3`.

    Examples:

        dat prompts wordnet water
        dat prompts wordnet land --count 10 --json
    """
    from tasks.wordnet import senses

    found = senses(term, expanded(folder) if folder else None)
    if as_json:
        print_json([asdict(sense) for sense in found])
        return
    rows = [
        (
            sense.name,
            ", ".join(sense.hypernyms),
            _some(sense.hyponyms, count),
            _some(sense.most_specific, count),
            sense.definition,
        )
        for sense in found
    ]
    print_table(("sense", "hypernyms", "hyponyms", "most specific", "meaning"), rows, too_wide="records")
    console.print("choose the sense that the images show")


def _some(words: tuple[str, ...], count: int) -> str:
    more = len(words) - count
    return ", ".join(words[:count]) + (f" … and {more} more" if more > 0 else "")
