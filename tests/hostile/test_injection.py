"""HTML, scripts, Markdown, LaTeX, formulas and terminal sequences in names and messages are shown, not obeyed."""

import csv
import io
import json
import re
import shutil
import string
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from flows.cli.terminal import output
from flows.cli.terminal.escaping import escape, no_formula, shown
from tasks.reporting.document import Column, Table
from tasks.reporting.figures import draw, for_page, shortened
from tasks.reporting.latex import as_latex, escaped
from tasks.reporting.markdown import _safe
from tests.hostile.kinds import KINDS
from tests.hostile.kinds.embeddings import IMPORT, RUN_BIRDS
from tests.hostile.outputs import faults_of_latex, faults_of_page, faults_of_report
from tests.hostile.trying import prepared
from tests.hostile.watching import Ran, World, dat
from tests.tasks.reporting.browser import CHROMIUM, browser

SIGNS = string.punctuation + " \n\r\tab\x00\x07\x1b\x7f\x85\x9b\u200b\u202e\u2028\ufeffé日"
texts = st.text(alphabet=SIGNS, min_size=1, max_size=40)

SCRIPT = "</td></script><script>window.obeyed=1</script><img src=x onerror=window.obeyed=1>"
LINK = "[a](javascript:window.obeyed=1) ![b](http://127.0.0.1:9/x) <a href=javascript:alert(1)> `c`` <b>`"
COMMAND = "[1in] \\input{/proc/version} \\write18{id} $\\frac$ ^^5cinput & % # ~ \x0c \x1b"
TERMINAL = "\x1b[2J\x1b]0;owned\x07\x1b[31m \x9b2J \r \x08 \u202egnp [bold]x[/bold] [/]"
FORMULA = "=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, dict[str, Ran]]:
    """A world in which every name is hostile, from the import to the report, and what each command said."""
    world = prepared(KINDS["embeddings"], tmp_path_factory.mktemp("names") / "world")
    folder = world.work / "export"
    birds, places = ("landbird", "waterbird"), ("land", "water")
    prompts = {
        "class": [f"a photo of a {bird}" for bird in birds],
        "attribute": [f"a photo with a {place} background" for place in places],
        "group": [[f"a photo of a {bird} in {place}" for place in places] for bird in birds],
    }
    texts = pq.read_table(folder / "texts.parquet")
    hostile = pa.array([f"{FORMULA} {SCRIPT} {COMMAND} {prompt}" for prompt in texts.column("prompt").to_pylist()])
    pq.write_table(texts.set_column(0, "prompt", hostile), folder / "texts.parquet")

    def renamed(part: object) -> object:
        return [renamed(one) for one in part] if isinstance(part, list) else f"{FORMULA} {SCRIPT} {COMMAND} {part}"

    prompts = {role: renamed(part) for role, part in prompts.items()}
    spec = {"classes": [SCRIPT + FORMULA, COMMAND], "attributes": [LINK, FORMULA + TERMINAL], "prompts": prompts}
    (folder / "prompts.toml").write_text(tomli_w.dumps(spec))
    images = pq.read_table(folder / "images.parquet")
    ids = [f"{(FORMULA, SCRIPT, COMMAND, TERMINAL, LINK)[number % 5]}{number}" for number in range(images.num_rows)]
    pq.write_table(images.set_column(0, "sample_id", pa.array(ids)), folder / "images.parquet")
    ran = {
        "import": dat(world, *IMPORT),
        "run": dat(world, *RUN_BIRDS),
        "report": dat(world, "report", *RUN_BIRDS[1:], limit=300),
        "table": dat(world, "sql", "SELECT DISTINCT group_name FROM group_accuracy"),
        "csv": dat(world, "sql", "SELECT DISTINCT group_name, -1.5 AS n FROM group_accuracy", "--format", "csv"),
        "json": dat(world, "sql", "SELECT DISTINCT group_name FROM group_accuracy", "--format", "json"),
        "explain": dat(world, "explain", "birds", "my-clip", ids[-1]),
        "unknown": dat(world, "explain", "birds", "my-clip", TERMINAL),
    }
    return world, ran


def test_every_command_shows_hostile_names_and_no_terminal_obeys_them(reported) -> None:
    """What a terminal would obey is a fault of every command, as `watching` judges it."""
    _, ran = reported
    for name, one in ran.items():
        assert not one.faults, name
        assert one.code == (2 if name == "unknown" else 0), (name, one.err)
    assert "\\x1b[2J" in ran["table"].out
    assert "\\x1b[2J" in ran["unknown"].err
    names = {row["group_name"] for row in json.loads(ran["json"].out)}
    assert f"{COMMAND}, {FORMULA}{TERMINAL}" in names, "programs get them as they are"


def test_no_file_of_a_report_obeys_hostile_names(reported) -> None:
    _, ran = reported
    folder = Path(ran["report"].out.strip()).parent
    assert list(faults_of_report(folder)) == []
    page = (folder / "index.html").read_text()
    assert "window.obeyed=1" in page, "it is shown"


def test_no_cell_of_csv_is_a_formula_and_numbers_stay_numbers(reported) -> None:
    _, ran = reported
    head, *rows = list(csv.reader(io.StringIO(ran["csv"].out)))
    assert head == ["group_name", "n"]
    assert len(rows) == 4
    assert all(float(row[1]) == -1.5 for row in rows)
    assert not any(row[0].startswith(("=", "+", "-", "@")) for row in rows)
    assert [no_formula(text) for text in ("=1", "+x", "-x", "@x", "\t=1")] == ["'=1", "'+x", "'-x", "'@x", "'\t=1"]
    assert [no_formula(text) for text in ("-1", "+1.5", "-2e-05", "a=1", "")] == ["-1", "+1.5", "-2e-05", "a=1", ""]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: apt install chromium)")
def test_a_browser_runs_nothing_and_fetches_nothing_of_a_hostile_page(reported) -> None:
    _, ran = reported
    address = Path(ran["report"].out.strip()).as_uri()
    with browser() as tab:
        tab.size(1440)
        tab.open(address)
        tab.run("new Promise(done => setTimeout(done, 500))")
        assert tab.run("window.obeyed === undefined")
        assert tab.run("document.querySelectorAll('script').length") == 2
        assert {one for one in tab.requests if not one.startswith("data:")} == {address}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_hostile_names_and_takes_in_no_file(reported, tmp_path: Path) -> None:
    _, ran = reported
    shutil.copytree(Path(ran["report"].out.strip()).parent, tmp_path / "out")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "-recorder", "tables.tex"]
    done = subprocess.run(words, cwd=tmp_path / "out", capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "/proc/version" not in (tmp_path / "out/tables.fls").read_text()


@settings(deadline=None)
@given(texts)
def test_any_text_in_markdown_is_nothing_but_text(text: str) -> None:
    for around in ("{}", "- {}", "## {}", "x {} y", "![{}](figures/a.svg)"):
        written = around.format(_safe(text))
        assert "\n" not in written
        assert "\r" not in written
        for block in MarkdownIt("commonmark", {"html": True}).parse(written):
            for token in block.children or ():
                own = token.type == "image" and token.attrGet("src") == "figures/a.svg"
                assert own or token.type in ("text", "text_special", "code_inline", "softbreak"), (token.type, written)


@settings(deadline=None)
@given(st.lists(texts, min_size=2, max_size=2), st.lists(texts, min_size=2, max_size=2))
def test_any_text_in_a_latex_table_is_nothing_but_text(first: list[str], second: list[str]) -> None:
    columns = [Column("a", first[0]), Column("b", "B")]
    table = Table("t", second[0], "", columns, [{"a": one, "b": two} for one, two in (first, second)], second[1])
    written = as_latex(table)
    assert list(faults_of_latex(written)) == []
    rows = [line for line in written.splitlines() if line.endswith(r" \\")]
    assert len(rows) == 2
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in rows)


@settings(deadline=None)
@given(texts)
def test_any_text_keeps_its_braces_in_balance_in_latex(text: str) -> None:
    depth = 0
    for sign in re.findall(r"\\.|[{}]", escaped(text)):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0


@settings(deadline=None)
@given(texts)
def test_any_text_on_a_terminal_is_printed_and_not_obeyed(text: str) -> None:
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, color_system=None, width=500, legacy_windows=False).print(escape(text))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", stream.getvalue())
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown(text))


def test_a_table_on_a_terminal_shows_escape_sequences_and_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system=None, width=200, highlight=False)
    monkeypatch.setattr(output, "console", console)
    for wide in ("wrap", "records"):
        output.print_table((TERMINAL, "b"), [(TERMINAL, "[/] [red]x")] * 2, title="[/bold] \x1b[2J", too_wide=wide)
    told = stream.getvalue()
    assert "\x1b[2J" not in told
    assert "\x1b]0;" not in told
    assert "\\x1b]0;owned\\x07" in told
    assert "[/] [red]x" in told


def test_a_message_without_end_is_cut() -> None:
    from data_catalog.errors import UserError

    with pytest.MonkeyPatch.context() as patch:
        stream = io.StringIO()
        patch.setattr(output, "errors", Console(file=stream, soft_wrap=True, highlight=False))
        output.complain(UserError("x" * 1_000_000, remedy="y" * 1_000_000))
    assert len(stream.getvalue()) < 3_000
    assert "1,000,000 characters" in stream.getvalue()


@pytest.mark.parametrize(
    "text", [SCRIPT, LINK, COMMAND, TERMINAL, FORMULA, "\ufeff", "\ufeff日\u200b", "$x$ $\\frac$", "]]>"]
)
def test_figures_draw_any_name(text: str) -> None:
    figure = draw("a", text, text, (2, 1), lambda axes: axes.set_yticks([0], [shortened(text)]) and None)
    assert list(faults_of_page(f"<svg {for_page(figure).partition('<svg ')[2]}", scripts=0)) == []
    assert figure.pdf.startswith(b"%PDF")


def test_prefect_shows_names_and_obeys_none() -> None:
    from flows.artifacts import _markdown

    for text in (SCRIPT, LINK, COMMAND, TERMINAL, "a | b", "**bold**", "two\nlines"):
        table = f"| a |\n|---|\n| {_markdown(text)} |"
        tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(table)
        assert sum(token.type == "tr_open" for token in tokens) == 2
        assert sum(token.type == "td_open" for token in tokens) == 1
        kinds = {part.type for token in tokens for part in token.children or ()}
        assert kinds <= {"text", "text_special", "code_inline"}, (text, kinds)
