"""What checks a change: the same commands on a person's machine, before a commit, and on GitHub."""

import os
import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
_WAYS = re.compile(r" --(?:force-exclude|check)")
"""Options that say which files are looked at, or that only look: what is checked is the same."""


def test_the_hooks_of_a_commit_check_what_make_lint_checks() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    linted = [_WAYS.sub("", line.strip().replace("$(BIN)", ".venv/bin")) for line in recipe.group(1).splitlines()]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local", "hooks need no network"
    assert [_WAYS.sub("", hook["entry"]) for hook in local["hooks"]] == [line.removesuffix(" .") for line in linted]


def test_the_workflow_runs_what_every_change_must_pass() -> None:
    (job,) = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert os.access(ROOT / ".ci/run", os.X_OK)
