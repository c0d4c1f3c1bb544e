"""A home with results, and the report on it, made once for all tests of the report."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.index.reader import query
from flows.request import Request, resolve
from tasks.reporting.document import Report
from tasks.reporting.publication import publish
from tasks.reporting.report import gather

LOOKED_AT = """
[[diagnostics]]
datasets = ["simbirds"]
backbones = ["simclip"]
kinds = ["prompt_distances", "shell", "triptych", "margins"]
methods = ["dat"]
"""
METHODS = ("zero_shot", "tie", "group_prompt", "dat", "dat_star")


@dataclass(frozen=True)
class Written:
    home: Home
    report: Report
    folder: Path

    def ask(self, sql: str) -> list[dict]:
        return query(self.home, sql).records()

    @property
    def html(self) -> str:
        return (self.folder / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The simulated birds by five methods, with a sweep of k and diagnostics."""
    folder = tmp_path_factory.mktemp("report")
    home = Home(folder / "home")
    environment = {**os.environ, "DAT_HOME": str(home.root), "DAT_RUNNER": "inline"}
    methods = [word for name in METHODS for word in ("--method", name)]
    suites = folder / "specs/suites"
    suites.mkdir(parents=True)
    (suites / "looked-at.toml").write_text(LOOKED_AT)
    sweep = [["simulated", "--method", "dat", "--set", f"k={k}"] for k in (5, 20)]
    for words in (["simulated", *methods], *sweep, ["looked-at"]):
        command = [Path(sys.executable).parent / "dat", "run", *words]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    cells = resolve(Request("simulated", methods=METHODS), home).cells
    for k in (5, 20):
        cells += resolve(Request("simulated", methods=("dat",), settings=(f"k={k}",)), home).cells
    report = gather(home, cells, title="five methods", remarks=["left out on simbirds: nothing"])
    publish(report, folder / "out")
    return Written(home, report, folder / "out")
