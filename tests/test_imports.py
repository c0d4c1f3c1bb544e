"""The rooms of the house and the one way in which they may know each other."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "dat_lib": {"dat_lib"},
    "data_catalog": {"data_catalog"},
    "tasks": {"tasks", "dat_lib", "data_catalog"},
    "flows": {"flows", "tasks", "dat_lib", "data_catalog"},
}
HEAVY = {
    "torch",
    "torchvision",
    "open_clip",
    "transformers",
    "wilds",
    "prefect",
    "sklearn",
    "scipy",
    "pandas",
    "duckdb",
    "matplotlib",
    "jinja2",
}
BUILT_ON_PREFECT = {
    "flows.benchmark",
    "flows.maintenance",
    "flows.artifacts",
    "flows.submission",
    "tasks.pipeline",
}
"""Modules of flows and tasks. Whoever imports them imports Prefect, so others do it where they use them."""
FILES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


def imported(tree: ast.AST, *, at_the_top: bool = False) -> Iterator[tuple[str, int]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or "", node.lineno
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        elif not (at_the_top and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))):
            yield from imported(node, at_the_top=at_the_top)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way_and_heavy_ones_are_made_where_they_are_used(path: Path) -> None:
    tree = ast.parse(path.read_text())
    room = path.relative_to(ROOT).parts[0]
    rooms = MAY_IMPORT.keys() - MAY_IMPORT[room]
    wrong = [(name, line) for name, line in imported(tree) if top(name) in rooms]
    assert not wrong, f"{room} may not know {wrong}"
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    free = {"prefect"} if module in BUILT_ON_PREFECT else set()
    heavy = [
        (name, line)
        for name, line in imported(tree, at_the_top=True)
        if top(name) in HEAVY - free or (name in BUILT_ON_PREFECT and not free)
    ]
    assert not heavy, f"to be imported inside the functions that use them: {heavy}"


def top(module: str) -> str:
    return module.partition(".")[0]


def test_there_is_no_room_without_a_rule() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages == set(MAY_IMPORT)


@pytest.mark.parametrize(
    "command", [["plan", "demo"], ["sql", "select 1"], ["ls", "methods"], ["status"], ["--help"]], ids=" ".join
)
def test_looking_commands_load_no_heavy_library(command: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from flows.cli.app import run; run()\n"
        f"print('loaded:', sorted(set(sys.modules) & {HEAVY - {'duckdb'}!r}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.stderr.splitlines()[-1] == "loaded: []", done.stderr
