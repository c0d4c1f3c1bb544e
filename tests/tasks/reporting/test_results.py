"""What is said of a ranking: the winner, the runner-up, and rows that rest on other data than the newest."""

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from data_catalog.index.reader import Answer
from tasks.reporting.results import headline, ranking, results_section
from tasks.reporting.scope import Scope

_PAIRED = {f"over_{name}{end}": None for name in ("zero_shot", "tie") for end in ("", "_low", "_high")}


def row(method: str, wg: float, *, basis: str = "new", differs: str | None = None, **fields: Any) -> dict[str, Any]:
    """A row of the leaderboard, with an interval of two points to either side."""
    figures = {"wg": wg, "wg_low": wg - 2, "wg_high": wg + 2, "avg": 95.0, "avg_low": 94.0, "avg_high": 96.0}
    figures |= {"gap": 95.0 - wg, "avg_adjusted": None, **_PAIRED}
    names = {"dataset": "birds", "backbone": "clip", "method": method, "variant": "", "seeds": 1, "notes": None}
    return {**names, **figures, "basis": basis, "differs": differs, **fields}


class Catalog:
    """Answers questions on a leaderboard of given rows."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.connection = duckdb.connect()
        self.connection.register("leaderboard", pa.Table.from_pylist(rows))

    def ask(self, sql: str) -> Answer:
        found = self.connection.execute(sql)
        names, types = zip(*((name, str(kind)) for name, kind, *_ in found.description), strict=True)
        rows = found.fetchall()
        return Answer(names, types, rows, "memory", len(rows))


def scope_of(*rows: dict[str, Any]) -> Scope:
    results = frozenset((*(r[name] for name in ("dataset", "backbone", "method", "variant")), 0) for r in rows)
    return Scope(Catalog(list(rows)), results, frozenset({"metrics"}))  # type: ignore[arg-type]


def said_of(*rows: dict[str, Any]) -> str:
    (sentence,) = headline(ranking(scope_of(*rows)))
    return sentence


def test_the_winner_and_the_runner_up_are_named_with_their_own_numbers() -> None:
    sentence = said_of(row("zero_shot", 40.0), row("dat", 80.5), row("tie", 70.25))
    assert "dat wins with 80.50 % on the worst group (95 % interval 78.5 to 82.5)" in sentence
    assert "the runner-up is tie with 70.25 %, and their intervals do not overlap" in sentence


def test_intervals_that_overlap_leave_the_order_open() -> None:
    assert "their intervals overlap, so their order is not sure" in said_of(row("dat", 80.0), row("tie", 76.5))
    assert "do not overlap" in said_of(row("dat", 80.0), row("tie", 75.5))


def test_equal_winners_share_the_lead_and_the_runner_up_is_the_next() -> None:
    sentence = said_of(row("dat", 80.0), row("tie", 80.0), row("zero_shot", 60.0), row("orth_cali", 70.0))
    assert "dat and tie share the lead with 80.00 %" in sentence
    assert "the runner-up is orth_cali with 70.00 %" in sentence


@pytest.mark.parametrize(
    ("low", "high", "words"), [(1.0, 9.0, "leaves out 0"), (-9.0, -1.0, "leaves out 0"), (-1.0, 9.0, "does not leave")]
)
def test_a_gain_over_zero_shot_is_sure_where_its_interval_leaves_out_zero(low: float, high: float, words: str) -> None:
    paired = {"over_zero_shot": 4.0, "over_zero_shot_low": low, "over_zero_shot_high": high}
    sentence = said_of(row("dat", 80.0, **paired), row("zero_shot", 76.0))
    assert f"+4.0 points over zero-shot (paired 95 % interval {low:+.1f} to {high:+.1f}, which {words}" in sentence


OTHER = {"basis": "old", "differs": "image embeddings"}


def test_the_headline_is_about_the_newest_data_alone() -> None:
    sentence = said_of(row("tie", 90.0, **OTHER), row("roboshot", 75.0, **OTHER), row("dat", 80.0), row("zs", 60.0))
    assert "dat wins with 80.00 %" in sentence
    assert "the runner-up is zs with 60.00 %" in sentence
    assert "tie" not in sentence
    assert "roboshot" not in sentence


def test_a_table_as_papers_print_it_never_mixes_rows_that_rest_on_different_data() -> None:
    scope = scope_of(row("tie", 90.0, **OTHER), row("dat", 80.0), row("zero_shot", 60.0))
    printed, whole = results_section(scope, ranking(scope)).tables
    assert [(r["method"], r["clip wg"]) for r in printed.records] == [("dat", 80.0), ("zero_shot", 60.0)]
    assert printed.places == {(0, "clip wg"): 1, (1, "clip wg"): 2, (0, "clip gap"): 1, (1, "clip gap"): 2}
    placed = [(r["method"], r["place"], r["differs"]) for r in whole.records]
    assert placed == [("dat", 1, None), ("zero_shot", 2, None), ("tie", 1, "image embeddings")]
    assert whole.columns[-1].name == "differs"
    assert (2, "wg") not in whole.places, "a row by itself is neither best nor second"
