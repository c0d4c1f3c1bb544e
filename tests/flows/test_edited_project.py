"""What an edit makes stale: tried by really editing files in a copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
METHODS = ["zero_shot", "group_prompt", "tie", "tie_star"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for package in ("flows", "tasks", "dat_lib", "data_catalog"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    suites = tmp_path / "specs/suites"
    suites.mkdir(parents=True)
    (suites / "small.toml").write_text(
        f'[[grid]]\ndatasets = ["simbirds"]\nbackbones = ["simclip"]\nmethods = {json.dumps(METHODS)}\n'
    )
    assert stale(tmp_path) == {}, "a first run brings everything up to date"
    return tmp_path


def dat(project: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(project), "DAT_HOME": str(project / "home")}
    environment |= {"DAT_RUNNER": "inline", "DAT_REPORT": "false"}
    environment.pop("DAT_SPECS", None)
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from flows.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, str(project), *words],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def stale(project: Path) -> dict[str, str]:
    """Run the suite if it never ran; return what a plan finds stale, with reasons."""
    if not (project / "home").exists():
        dat(project, "run", "small")
    plan = json.loads(dat(project, "plan", "small", "--json"))
    return {entry["cell"]: entry["reason"] for entry in plan if entry["action"] != "up to date"}


def edit(project: Path, file: str, old: str, new: str) -> None:
    path = project / file
    text = path.read_text()
    assert text.count(old) >= 1, f"{file} does not hold {old!r}"
    path.write_text(text.replace(old, new, 1))


def cells(step: str, *methods: str) -> set[str]:
    return {f"{step}/simbirds/simclip/{method}" for method in methods}


def comparisons(*methods: str) -> set[str]:
    """The comparisons that rest on the predictions of these methods."""
    pairs = [(method, baseline) for method in METHODS for baseline in ("zero_shot", "tie") if method != baseline]
    return {
        f"over_{baseline}/simbirds/simclip/{method}" for method, baseline in pairs if {method, baseline} & {*methods}
    }


@pytest.mark.slow
def test_comments_docstrings_and_formatting_leave_everything_up_to_date(project: Path) -> None:
    edit(project, "dat_lib/arrays.py", "import numpy as np", "# A remark.\nimport numpy as np")
    edit(project, "dat_lib/metrics.py", '"""Accuracy by group', '"""In other words: accuracy by group')
    edit(project, "dat_lib/methods/tie.py", "\n\n\n", "\n\n\n\n\n")
    assert stale(project) == {}


@pytest.mark.slow
def test_an_edited_helper_reruns_exactly_its_dependants_and_why_names_the_module(project: Path) -> None:
    edit(project, "dat_lib/metrics.py", "100.0 * self.correct / self.total", "100.0 * (self.correct / self.total)")
    expected = cells("metrics", *METHODS) | comparisons(*METHODS)
    assert stale(project) == dict.fromkeys(expected, "code: dat_lib.metrics")
    assert "now: stale (code: dat_lib.metrics)" in dat(project, "why", "metrics/simbirds/simclip/tie")
    outcomes = json.loads(dat(project, "run", "small", "--json"))["outcomes"]
    assert outcomes == {"up to date": 3 + len(METHODS), "computed": len(expected)}
    ran = dat(
        project,
        "sql",
        "SELECT cell FROM decisions WHERE run_id = 'r000002' AND outcome = 'computed'",
        "--format",
        "json",
    )
    assert {row["cell"] for row in json.loads(ran)} == expected
    assert "code: dat_lib.metrics" in dat(project, "why", "metrics/simbirds/simclip/tie")
    assert stale(project) == {}


@pytest.mark.slow
def test_an_edited_method_reruns_that_method_and_stops_where_the_output_is_equal(project: Path) -> None:
    (project / "dat_lib/methods/tie.py").write_text(
        (project / "dat_lib/methods/tie.py").read_text() + "\n\ndef _unused() -> int:\n    return 1\n"
    )
    found = stale(project)
    assert {cell: found[cell] for cell in cells("predictions", "tie", "tie_star")} == dict.fromkeys(
        cells("predictions", "tie", "tie_star"), "code: dat_lib.methods.tie"
    )
    assert {cell: found[cell] for cell in cells("metrics", "tie", "tie_star")} == dict.fromkeys(
        cells("metrics", "tie", "tie_star"), "input: predictions"
    )
    changed = cells("predictions", "tie", "tie_star") | cells("metrics", "tie", "tie_star")
    assert set(found) == changed | comparisons("tie", "tie_star")
    outcomes = json.loads(dat(project, "run", "small", "--json"))["outcomes"]
    assert outcomes["computed"] == 2, "predictions came out equal, so metrics need not run"


@pytest.mark.slow
def test_an_edited_loader_reruns_what_comes_from_it(project: Path) -> None:
    edit(project, "dat_lib/toyworld/simulation.py", "ATTRIBUTE_OFFSET = 0.4", "ATTRIBUTE_OFFSET = 0.41")
    found = stale(project)
    sources = {f"{step}/simbirds/simclip" for step in ("samples", "image_embeddings", "text_embeddings")}
    assert {found[cell] for cell in sources} == {"code: dat_lib.toyworld.simulation"}
    scored = cells("predictions", *METHODS) | cells("metrics", *METHODS) | comparisons(*METHODS)
    assert set(found) == sources | scored


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "place", "arithmetic", "dependants"),
    [
        pytest.param(
            "dat_lib.toyworld.simulation",
            "dat_lib.drawn_embeddings",
            ("ATTRIBUTE_OFFSET = 0.4", "ATTRIBUTE_OFFSET = 0.41"),
            {f"{step}/simbirds/simclip" for step in ("samples", "image_embeddings", "text_embeddings")},
            id="a helper",
        ),
        pytest.param(
            "dat_lib.datasets.simulated",
            "dat_lib.datasets.drawn_world",
            ("return self._world.embeddings", "return 1 * self._world.embeddings"),
            {f"{step}/simbirds/simclip" for step in ("samples", "image_embeddings", "text_embeddings")},
            id="a loader",
        ),
        pytest.param(
            "dat_lib.methods.tie",
            "dat_lib.methods.translation_of_images",
            ("float64", "float32"),
            cells("predictions", "tie", "tie_star"),
            id="a method",
        ),
    ],
)
def test_a_moved_module_makes_nothing_stale_and_an_edit_of_it_what_depends_on_it(
    project: Path, module: str, place: str, arithmetic: tuple[str, str], dependants: set[str]
) -> None:
    move(project, module, place)
    assert stale(project) == {}
    edit(project, f"{place.replace('.', '/')}.py", *arithmetic)
    found = stale(project)
    both = ", ".join(sorted([module, place]))
    assert {cell for cell, reason in found.items() if reason == f"code: {both}"} == dependants
    assert {reason.partition(":")[0] for cell, reason in found.items() if cell not in dependants} == {"input"}


def move(project: Path, module: str, place: str) -> None:
    """Move a module and mend the imports of it, as an editor does."""
    (project / f"{module.replace('.', '/')}.py").rename(project / f"{place.replace('.', '/')}.py")
    (above, name), (there, called) = module.rsplit(".", 1), place.rsplit(".", 1)
    for path in project.rglob("*.py"):
        text = re.sub(rf"\bfrom {re.escape(module)} import\b", f"from {place} import", path.read_text())
        pattern = rf"^(from {re.escape(above)} import (?:.*, )?){name}(,.*)?$"
        if above == there:
            text = re.sub(pattern, rf"\g<1>{called} as {name}\2", text, flags=re.MULTILINE)
        path.write_text(text)
    left = rf"^\s*(import|from) {re.escape(module)}\b"
    assert not [path for path in project.rglob("*.py") if re.search(left, path.read_text(), flags=re.MULTILINE)]


@pytest.mark.slow
def test_orchestration_is_not_part_of_a_result(project: Path) -> None:
    edit(project, "flows/submission.py", "_POLLING_SECONDS = 0.02", "_POLLING_SECONDS = 0.01 + 0.01")
    edit(project, "tasks/engine/execution.py", "return False", "return bool(0)")
    edit(project, "tasks/graph/graph.py", "RESAMPLES = 2000", "RESAMPLES = 1000 + 1000")
    edit(project, "data_catalog/store/artifacts.py", "\n\nclass Store:", "\n_UNUSED = 1\n\n\nclass Store:")
    assert stale(project) == {}


@pytest.mark.slow
def test_a_changed_setting_is_named_with_its_values(project: Path) -> None:
    settings = project / "specs/methods"
    settings.mkdir(parents=True)
    (settings / "tie.toml").write_text("[datasets.simbirds]\nnormalise_before = false\n")
    found = stale(project)
    assert found["predictions/simbirds/simclip/tie"] == "params: settings.normalise_before True -> False"


@pytest.mark.slow
def test_the_quick_answer_ends_with_an_edit_of_the_code_or_another_version_of_a_package(project: Path) -> None:
    installed = project / "something-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: something\nVersion: 1.0\n")
    assert quick_answers(project) == 1
    (installed / "METADATA").write_text("Name: something\nVersion: 1.1\n")
    assert "up to date" in dat(project, "run", "small")
    assert quick_answers(project, asked=False) == 1, "planned in full, although nothing was stale"
    assert quick_answers(project) == 2
    code = project / "dat_lib/metrics.py"
    before = code.stat()
    edit(project, "dat_lib/metrics.py", "100.0 * self.correct", "self.correct * 100.0")
    assert code.stat().st_size == before.st_size
    os.utime(code, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert json.loads(dat(project, "run", "small", "--json"))["outcomes"]["computed"]


def quick_answers(project: Path, *, asked: bool = True) -> int:
    """Return how often a run was answered at once so far, after asking for one that must be."""
    if asked:
        time.sleep(2.5)  # what has changed a moment ago is planned in full
        for _ in range(2):
            dat(project, "run", "small")
    confirmed = project / "home/runs/confirmed.jsonl"
    return len(confirmed.read_text().splitlines()) if confirmed.exists() else 0
