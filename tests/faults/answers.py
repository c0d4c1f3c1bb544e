"""A flipped byte in any file of the store: every answer is the undisturbed one, or comes with a warning or an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.index.reader import Questions
from data_catalog.index.views import VIEWS
from tests.faults.fault import Deed
from tests.faults.world import World


@contextmanager
def damaged_answers(world: World, chance: Random, home: Home, deed: Deed) -> Iterator[None]:
    """Flip a bit in one file, ask for everything, and put the file back; several times."""
    world.fill(home)
    deed.must_end(world.dat(home, "catalog", "rebuild"), 0)
    deed.keep(home)
    before = _everything(home, deed)
    files = sorted([*home.objects.glob("*/*"), *home.manifests.glob("*/*"), *home.runs.glob("r*"), home.index])
    kinds = [home.objects / "predictions", home.objects, home.manifests, home.runs, home.index]
    for kind in chance.sample(kinds, 3):
        path = chance.choice([path for path in files if path.is_relative_to(kind)])
        intact = path.read_bytes()
        place, bit = chance.randrange(len(intact)), chance.randrange(8)
        _replace(path, intact[:place] + bytes([intact[place] ^ 1 << bit]) + intact[place + 1 :])
        told = f"{path.relative_to(home.root)} flipped at {place}, bit {bit}"
        deed.what += f"{told}; "
        for view, (rows, warnings) in _everything(home, deed).items():
            if rows is not None and rows != before[view][0] and not warnings:
                deed.complaints.append(f"{told}: {view} has other rows, and no warning")
        strict = world.dat(home, "sql", "SELECT count(*), sum(margin) FROM predictions", "--strict", "--format", "csv")
        deed.must_end(strict, 0, 1, 2)
        if path.is_relative_to(home.objects / "predictions") and strict.code == 0:
            deed.complaints.append(f"{told}: --strict lets it pass")
        _replace(path, intact)
        deed.took_effect = True
    after = _everything(home, deed)
    if after != before:
        deed.complaints.append("with all files put back, answers are other ones")
    yield


def _everything(home: Home, deed: Deed) -> dict[str, tuple[list[tuple[Any, ...]] | None, tuple[str, ...]]]:
    """Return {view: rows and warnings}; no rows where the question is refused."""
    found: dict[str, tuple[list[tuple[Any, ...]] | None, tuple[str, ...]]] = {}
    with Questions(home) as questions:
        for view in VIEWS:
            try:
                answer = questions.ask(f"SELECT * FROM {view} ORDER BY ALL")
                found[view] = answer.rows, answer.warnings
            except UserError as error:
                found[view] = None, (str(error),)
            except Exception as error:
                found[view] = None, ()
                deed.complaints.append(f"a question about {view} ended with {type(error).__name__}: {error}")
    return found


def _replace(path: Path, content: bytes) -> None:
    """Put another file in the place of one: what copies or links share with it is not to be harmed."""
    path.unlink()
    path.write_bytes(content)
