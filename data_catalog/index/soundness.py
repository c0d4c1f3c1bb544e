"""Whether answers rest on sound data: what is damaged, missing or unverified among all that a question reads.

Manifests and run records carry digests of themselves and are judged when the index is made. Data files are judged when
a question reads them, by the digests in their manifests (`checked_files`). An answer with damage behind it is given
all the same, with a warning that names the damage: a damaged file's rows are shown as they can be read.
"""

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from data_catalog.home import Home
from data_catalog.index.question_sources import Sources, sources_of
from data_catalog.store.checked_files import CheckedFiles

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_NAMED = 4
_HEAL = "`dat verify` sets damaged files aside, `dat run` computes them again"
_KINDS = {
    "manifest": ("manifests cannot be read, so what they say is missing", _HEAL),
    "missing": ("artifacts that runs have made are not there", "`dat run` computes them again"),
    "quarantined": ("damaged artifacts are set aside and missing", "`dat run` computes them again"),
    "record": (
        "run records have damaged lines, so decisions are missing",
        "`dat run` decides again; a record that is deleted is no longer counted",
    ),
}
_RECORDED = "SELECT kind, step, key, cell, problem FROM store.damage ORDER BY ALL"
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Damage:
    """One thing that is damaged or missing: `kind` is manifest, missing, quarantined, record or file."""

    kind: str
    name: str
    """The cell, the run, or the key where the cell is not known."""
    problem: str


def warnings_about(
    connection: "DuckDBPyConnection", home: Home, sql: str, parameters: Sequence[Any] = ()
) -> tuple[str, ...]:
    """Return what is damaged, missing or unverified among what a question reads; files are read where need be."""
    sources = sources_of(connection, sql, list(parameters))
    warnings = _in_words(_recorded(connection, sources)) if sources.steps or sources.records else []
    if sources.files:
        warnings += _about_files(_damaged_files(connection, home, sources))
    if sources.direct:
        warnings += _about_direct(home, sources)
    return tuple(warnings)


def known_damage(home: Home, ask: Callable[[str], list[tuple[Any, ...]]]) -> list[Damage]:
    """Return what the index knows to be damaged or missing, and data files that are gone; none of them is read."""
    files = ask("SELECT DISTINCT cell, path FROM store.files ORDER BY ALL")
    gone = [Damage("file", cell, f"{path} is gone") for cell, path in files if not (home.root / path).is_file()]
    return [*(_damage(row) for row in ask(_RECORDED)), *gone]


def _recorded(connection: "DuckDBPyConnection", sources: Sources) -> list[Damage]:
    rows = connection.execute(_RECORDED).fetchall()
    return [_damage(row) for row in rows if (sources.records if row[0] == "record" else sources.reads_step(row[1]))]


def _damage(row: tuple[Any, ...]) -> Damage:
    kind, step, key, cell, problem = row
    return Damage(kind, cell or f"{step}/{key[:12]}".strip("/"), problem)


def _in_words(recorded: Iterable[Damage]) -> list[str]:
    by_kind: dict[str, list[str]] = {}
    for damage in recorded:
        by_kind.setdefault(damage.kind, []).append(damage.name)
    return [
        f"{len(names)} {_KINDS[kind][0]}: {_listed(names)} ({_KINDS[kind][1]})"
        for kind, names in sorted(by_kind.items())
    ]


def _damaged_files(connection: "DuckDBPyConnection", home: Home, sources: Sources) -> dict[str, list[str]]:
    """Return {problem: cells} over the files behind the views that a question reads."""
    rows = connection.execute(
        "SELECT DISTINCT f.path, f.sha256, c.cell FROM store.files f JOIN store.cells c ON c.key = f.key "
        "WHERE list_contains(?, f.step) ORDER BY ALL",
        [sorted(sources.files)],
    ).fetchall()
    problems = CheckedFiles(home.root).problems({path: digest for path, digest, _ in rows})
    found: dict[str, list[str]] = {}
    for path, _, cell in rows:
        if path in problems:
            found.setdefault(problems[path], []).append(f"{cell} ({path})")
    return found


def _about_files(problems: dict[str, list[str]]) -> list[str]:
    return [
        f"{len(names)} data files behind this answer are unsound, each {problem}: {_listed(names)} ({_HEAL})"
        for problem, names in sorted(problems.items())
    ]


def _about_direct(home: Home, sources: Sources) -> list[str]:
    """Check the data files that a question names; whatever else it reads is unverified."""
    paths = [path for text in sources.texts if "/" in text for path in glob.glob(text)]  # noqa: PTH207
    below = f"{home.objects}/"
    stored = {path.removeprefix(f"{home.root}/"): path for path in paths if path.startswith(below)}
    named = {short: digest[0] for short in stored if (digest := _DIGEST.findall(short.rpartition("/")[2]))}
    problems = CheckedFiles(home.root).problems(named)
    by_problem: dict[str, list[str]] = {}
    for path, problem in problems.items():
        by_problem.setdefault(problem, []).append(path)
    unverified = len(named) < len(paths) or not named
    return _about_files(by_problem) + (
        ["this question reads files by their names, and not all of them can be verified"] if unverified else []
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
