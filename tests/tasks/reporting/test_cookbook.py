"""The questions of the cookbook, and the example script, on a catalog with results."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.newcomer import blocks

pytestmark = pytest.mark.xdist_group("report")

PROJECT = Path(__file__).parents[3]
PAGE = (PROJECT / "data_catalog/index/README.md").read_text(encoding="utf-8")
COOKBOOK = PAGE[PAGE.index("## Cookbook") :].split("\n## ")[0]
QUESTIONS = dict(re.findall(r"\n([A-Z][^\n]*\?[^\n]*)\n\n```sql\n(.*?)```", COOKBOOK, re.DOTALL))
# Nothing was computed again, and the paper knows no simulated birds: these have no row, and that is their answer.
EMPTY = ("Which cells rest on inputs", "How far are we from the paper")


def test_there_are_at_least_ten_questions() -> None:
    assert len(QUESTIONS) == len(blocks("sql")) >= 10, "and no page has others"


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_an_answer(question: str, written) -> None:
    rows = written.ask(QUESTIONS[question])
    assert bool(rows) is not question.startswith(EMPTY), rows


def test_the_samples_that_dat_fixes_and_breaks_make_up_the_difference(written) -> None:
    rows = written.ask(next(sql for question, sql in QUESTIONS.items() if "fix" in question))
    net = sum(row["fixed"] - row["broken"] for row in rows)
    right = "SELECT sum(correct) AS n FROM group_accuracy WHERE method = '{}' AND variant = ''"
    after, before = (written.ask(right.format(name))[0]["n"] for name in ("dat", "zero_shot"))
    assert net == after - before != 0


def test_the_example_script_runs(written) -> None:
    environment = {**os.environ, "DAT_HOME": str(written.home.root)}
    script = PROJECT / "tests/examples/catalog_in_python.py"
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (wg,) = written.ask("SELECT wg FROM results WHERE method = 'tie'")
    assert f"{wg['wg']:.1f}" in done.stdout
