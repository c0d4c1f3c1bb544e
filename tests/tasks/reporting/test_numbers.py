"""Every number of a report comes from the catalog: the page, Markdown, CSV and LaTeX say what SQL says."""

import csv
import html
import random
import re
from html.parser import HTMLParser

import pytest

from tasks.reporting.document import spelled

pytestmark = pytest.mark.xdist_group("report")


class Tables(HTMLParser):
    """The texts of all cells of a page, by table and row; and the question of each table."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.questions: dict[str, str] = {}
        self._table = self._question = ""
        self._cell: list[str] | None = None
        self._hidden = 0

    def handle_starttag(self, tag, attrs) -> None:
        found = dict(attrs)
        if tag == "table":
            self._table = (found.get("id") or "").removeprefix("table-")
            self.rows[self._table] = []
        elif tag == "tr" and self._table:
            self.rows[self._table].append([])
        elif tag == "td":
            self._cell = []
        elif tag == "span" and found.get("class") == "interval" and self._cell is not None:
            self._cell.append(" ")
        elif tag == "code" and (found.get("id") or "").startswith("sql-"):
            self._question = found["id"].removeprefix("sql-")

    def handle_endtag(self, tag) -> None:
        if tag == "td" and self._table:
            self.rows[self._table][-1].append("".join(self._cell or []))
            self._cell = None
        elif tag == "table":
            self._table = ""
        elif tag == "code":
            self._question = ""

    def handle_data(self, data) -> None:
        if self._cell is not None:
            self._cell.append(data)
        elif self._question:
            self.questions[self._question] = self.questions.get(self._question, "") + data


@pytest.fixture(scope="module")
def page(written) -> Tables:
    parser = Tables()
    parser.feed(written.html)
    parser.rows = {name: rows[1:] for name, rows in parser.rows.items() if name}
    return parser


def test_the_page_has_every_table_and_its_question(written, page) -> None:
    slugs = {table.slug for table in written.report.tables}
    assert slugs == set(page.rows) == set(page.questions)
    assert {"ranking", "results-simbirds", "groups-simbirds-simclip", "ablations", "provenance"} <= slugs


def test_cells_picked_at_random_say_what_sql_says(written, page) -> None:
    chance = random.Random(7)
    places = [
        (table, row, column)
        for table in written.report.tables
        for row in range(len(table.records))
        for column in range(len(table.columns))
        if table.columns[column].kind != "code"
    ]
    answers: dict[str, list[dict]] = {}
    for table, row, place in chance.sample(places, 200):
        if table.slug not in answers:
            answers[table.slug] = written.ask(page.questions[table.slug])
        column = table.columns[place]
        expected = spelled(answers[table.slug][row][column.name], column.kind)
        shown = page.rows[table.slug][row][place]
        assert shown.split(" ")[0] == expected.split(" ")[0], (table.slug, row, column.name)
        assert shown.startswith(expected)


def test_results_are_those_of_the_view_results(written, page) -> None:
    stored = {row["method"]: row for row in written.ask("SELECT * FROM results WHERE variant = ''")}
    table = next(table for table in written.report.tables if table.slug == "results-simbirds")
    assert len(table.records) == len(stored) == 5
    for record, cells in zip(table.records, page.rows[table.slug], strict=True):
        own = stored[str(record["method"])]
        assert cells == [record["method"], f"{own['wg']:.2f}", f"{own['avg']:.2f}", f"{own['gap']:.2f}"]


def test_csv_files_hold_the_answers_in_full(written) -> None:
    for table in written.report.tables:
        with (written.folder / "csv" / f"{table.slug}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(table.records)
    with (written.folder / "csv/ranking.csv").open() as file:
        found = {row["method"]: float(row["wg"]) for row in csv.DictReader(file)}
    expected = written.ask("SELECT method, wg FROM results WHERE variant = ''")
    assert found == {row["method"]: row["wg"] for row in expected}


def test_markdown_has_the_same_rows(written) -> None:
    text = (written.folder / "report.md").read_text(encoding="utf-8")
    for row in written.ask("SELECT method, wg, avg, gap FROM results WHERE variant = ''"):
        name = row["method"].replace("_", "\\_")
        cells = [rf"(?:\*\*|<u>)?{row[column]:.2f}(?:\*\*|</u>)?" for column in ("wg", "avg", "gap")]
        line = r" \| ".join([re.escape(name), *cells])
        assert re.search(rf"^\| {line} \|$", text, re.MULTILINE), name
    for figure in written.report.figures:
        assert f"(figures/{figure.slug}.svg)" in text


def test_the_headline_says_who_wins_and_by_how_much(written) -> None:
    best, second = written.ask("SELECT * FROM leaderboard WHERE variant = '' ORDER BY wg DESC LIMIT 2")
    (sentence,) = written.report.headline
    assert f"{best['method']} wins with {best['wg']:.2f} %" in sentence
    assert f"the runner-up is {second['method']} with {second['wg']:.2f} %" in sentence
    assert f"{best['over_zero_shot']:+.1f} points over zero-shot" in sentence
    assert f"{best['over_zero_shot_low']:+.1f} to {best['over_zero_shot_high']:+.1f}" in sentence
    assert sentence in html.unescape(written.html)


def test_the_best_is_bold_and_the_second_underlined(written) -> None:
    table = next(table for table in written.report.tables if table.slug == "results-simbirds")
    name = "simclip wg"
    order = sorted(range(5), key=lambda row: -table.records[row][name])
    places = {row: place for (row, column), place in table.places.items() if column == name}
    assert places == {order[0]: 1, order[1]: 2}


def test_what_is_left_out_and_what_is_not_there_is_said(written) -> None:
    sections = {section.slug: section for section in written.report.sections}
    assert "left out on simbirds: nothing" in sections["failures"].text
    assert "no number" in sections["paper"].remark
    assert "nothing was computed again" in sections["changes"].remark
    assert [figure.slug for figure in sections["ablations"].figures] == ["sweep-k-simbirds-simclip"]


def test_the_papers_diagnostic_figures_are_redrawn(written) -> None:
    (section,) = (section for section in written.report.sections if section.slug == "diagnostics")
    kinds = ["shell", "tangent", "triptych-cosine", "triptych-density", "triptych-score", "margins"]
    assert [figure.slug for figure in section.figures] == [f"{kind}-simbirds-simclip" for kind in kinds]
    assert "diagnostic_margins" in section.text[0]
    (below,) = written.ask(
        "SELECT avg((NOT correct)::INTEGER) AS wrong FROM predictions WHERE method = 'zero_shot' AND variant = ''"
    )
    said = re.search(r"(\d+) % of those of zero_shot", section.figures[-1].alternative)
    assert float(said[1]) == pytest.approx(100 * below["wrong"], abs=5)


def test_provenance_names_prompts_code_and_run_of_every_result(written) -> None:
    table = next(table for table in written.report.tables if table.slug == "provenance")
    assert len(table.records) == written.ask("SELECT count(*) AS n FROM results")[0]["n"] == 7
    for record in table.records:
        assert record["run_id"]
        assert len(record["key"]) == len(record["predictions_key"]) == 64
        assert record["predictions_code"]
        assert record["image_embeddings"]
        assert "a photo of" in record["prompts"]
