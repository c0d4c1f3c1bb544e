"""Tables as LaTeX: they compile, and say what the catalog says."""

import re
import shutil
import subprocess

import pytest

from tasks.reporting.document import Column, Table
from tasks.reporting.latex import as_latex, escaped, in_papers

pytestmark = pytest.mark.xdist_group("report")

ENGINE = shutil.which("tectonic") or shutil.which("pdflatex")


def test_rows_match_the_database(written) -> None:
    text = (written.folder / "latex/results-simbirds.tex").read_text()
    rows = [line.removesuffix(r" \\").split(" & ") for line in text.splitlines() if line.endswith(r" \\")]
    found = {row[0].replace(r"\_", "_"): [re.sub(r"\\\w+\{(.*)\}", r"\1", cell) for cell in row[1:]] for row in rows}
    expected = written.ask("SELECT method, wg, avg, gap FROM results WHERE variant = ''")
    names = ("wg", "avg", "gap")
    assert found == {row["method"]: [f"{row[name]:.2f}" for name in names] for row in expected}
    assert r"\toprule" in text
    assert r"\bottomrule" in text


def test_best_second_and_missing_are_marked() -> None:
    columns = [Column("method", "Method"), Column("wg", "WG ↑", "percent", "highest")]
    records = [{"method": name, "wg": wg} for name, wg in (("a", 1.0), ("b_&", 3.0), ("c", 2.0), ("d", None))]
    lines = as_latex(Table("t", "T", "", columns, records)).splitlines()
    rows = [line for line in lines if line.endswith(r" \\")]
    assert rows == [r"a & 1.00 \\", r"b\_\& & \textbf{3.00} \\", r"c & \underline{2.00} \\", r"d & -- \\"]


@pytest.mark.parametrize("text", [r"\input{/etc/passwd}", r"100 % & more_#$^~{}<>|", "a\nb", "日本"])
def test_users_texts_cannot_command_latex(text: str) -> None:
    safe = escaped(text)
    assert not re.search(
        r"\\(?!textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|[{}$&#%_])", safe
    )
    assert not re.search(r"(?<!\\)[%&#$_]", safe)
    assert "\n" not in safe


@pytest.mark.slow
@pytest.mark.skipif(ENGINE is None, reason="neither tectonic nor pdflatex is installed")
def test_the_document_compiles(written, tmp_path) -> None:
    shutil.copytree(written.folder, tmp_path / "out")
    words = [ENGINE, *(() if "tectonic" in ENGINE else ("-interaction=nonstopmode", "-halt-on-error")), "tables.tex"]
    done = subprocess.run(words, cwd=tmp_path / "out", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]
    assert (tmp_path / "out/tables.pdf").stat().st_size > 1000
    assert in_papers(written.report)
