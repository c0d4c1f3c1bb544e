"""A store of the first format, kept as it was written: it opens, answers, and goes on.

`golden/store-format-1.tar.xz` is a DAT_HOME that the first version made by

    dat run --dataset oldbirds --backbone oldclip --method zero_shot --method dat --method tie
    dat run --dataset oldbirds --backbone oldclip --method dat --set k=6

with its own specs of a small simulated world, its index among it. It is never made anew: that would test nothing.
"""

import json
import tarfile
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden/store-format-1.tar.xz"
REQUEST = ("--dataset", "oldbirds", "--backbone", "oldclip")
METHODS = ("--method", "zero_shot", "--method", "dat", "--method", "tie")
# Worst groups as the first version printed them.
PRINTED = {("dat", ""): 40.0, ("dat", "k=6"): 40.0, ("tie", ""): 63.33, ("zero_shot", ""): 53.33}


@pytest.fixture
def old(dat, home):
    """Return `dat` on a copy of the old store."""
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(home.root.parent / "old", filter="data")
    (home.root.parent / "old/.dat").rename(home.root)
    return dat


def manifests(home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.root.glob("manifests/*/*.json")}


def worst_groups(dat) -> dict[tuple[str, str], float]:
    ran = dat("sql", "SELECT method, variant, wg FROM results", "--format", "json")
    assert ran.code == 0, ran.err
    return {(row["method"], row["variant"]): round(row["wg"], 2) for row in json.loads(ran.out)}


def test_it_verifies_and_answers(old, home) -> None:
    ran = old("verify")
    assert ran.code == 0, ran.err
    assert "11 artifacts" in ran.out
    assert "0 damaged" in ran.out
    assert worst_groups(old) == PRINTED
    ran = old("why", "metrics/oldbirds/oldclip/dat")
    assert ran.code == 0, ran.err
    assert "text_embeddings: text_embeddings/oldbirds/oldclip" in ran.out


@pytest.mark.parametrize(
    "view", ["artifacts", "comparisons", "costs", "decisions", "efficiency", "leaderboard", "predictions", "vs_paper"]
)
def test_views_that_came_later_answer_on_it(old, view) -> None:
    ran = old("sql", f"SELECT * FROM {view}", "--format", "json")
    assert ran.code == 0, ran.err


def test_its_index_is_made_anew_where_it_is_lost(old, home) -> None:
    (home.root / "catalog.duckdb").unlink()
    assert worst_groups(old) == PRINTED


def test_a_plan_says_why_each_cell_is_stale_and_changes_nothing(old, home) -> None:
    before = manifests(home)
    ran = old("plan", *REQUEST, *METHODS, "--json")
    assert ran.code == 0, ran.err
    stale = {entry["cell"]: entry["reason"] for entry in json.loads(ran.out) if entry["action"] == "run"}
    assert stale["samples/oldbirds/oldclip"].startswith("code: ")
    assert manifests(home) == before


def test_a_report_is_written_and_says_that_old_predictions_cannot_be_taken_apart(old, tmp_path) -> None:
    ran = old("report", *REQUEST, *METHODS, "--output", str(tmp_path / "out"))
    assert ran.code == 0, ran.err
    assert "53.33" in (tmp_path / "out/report.md").read_text()
    (sample,) = json.loads(old("sql", "SELECT sample_id FROM predictions LIMIT 1", "--format", "json").out)
    ran = old("explain", "oldbirds", "oldclip", sample["sample_id"])
    assert ran.code == 2
    assert "made by an earlier version" in ran.err
    assert "dat run --dataset oldbirds" in ran.err


def test_a_run_goes_on_from_it_and_loses_nothing(old, home) -> None:
    before = manifests(home)
    ran = old("run", *REQUEST, *METHODS)
    assert ran.code == 0, ran.err
    assert manifests(home).items() >= before.items()
    assert worst_groups(old) == PRINTED, "the same numbers by other steps"
    assert "0 damaged" in old("verify").out
    again = old("run", *REQUEST, *METHODS)
    assert "computed" not in again.out
