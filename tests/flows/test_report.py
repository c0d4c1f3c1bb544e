"""`dat report`, `dat explain` and `dat sql --shell`, by running them."""

import http.client
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

METHODS = [word for name in ("zero_shot", "tie", "dat") for word in ("--method", name)]
HOSTILE = '<script>alert("x")</script> & $x_1$ $\\frac$ `tick` | \\input{secret}'


@pytest.fixture
def imported(dat, embeddings_folder):
    def bring(folder: Path = embeddings_folder) -> tuple[str, ...]:
        request = ("--dataset", "birds", "--backbone", "my-clip")
        ran = dat("import", "embeddings", str(folder), *request)
        assert ran.code == 0, ran.err
        ran = dat("run", *request, *METHODS)
        assert ran.code == 0, ran.err
        return (*request, *METHODS)

    return bring


def asked(dat, question: str) -> list[dict]:
    return json.loads(dat("sql", question, "--format", "json").out)


def test_a_report_is_written_where_it_is_wanted_and_replaced_as_a_whole(dat, imported, tmp_path) -> None:
    request = imported()
    ran = dat("report", *request, "--output", str(tmp_path / "out"))
    assert ran.code == 0, ran.err
    assert ran.out.strip() == str(tmp_path / "out/index.html")
    files = {path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {Path("report.md"), Path("tables.tex"), Path("csv/ranking.csv"), Path("latex/ranking.tex")} <= files
    figures = {path.suffix for path in files if path.parts[0] == "figures"}
    assert figures == {".svg", ".pdf"}
    (tmp_path / "out/csv/old.csv").write_text("from the report before")
    assert dat("report", *request, "--output", str(tmp_path / "out")).code == 0
    assert not (tmp_path / "out/csv/old.csv").exists()
    assert dat("report", *request).out.strip().startswith(str(Path(os.environ["DAT_HOME"]) / "reports"))


def test_a_folder_that_holds_something_else_is_left_alone(dat, imported, tmp_path) -> None:
    request = imported()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    ran = dat("report", *request, "--output", str(tmp_path / "mine"))
    assert ran.code == 2
    assert "no report" in ran.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_report_before_any_run_says_that_there_is_nothing(dat, embeddings_folder, tmp_path) -> None:
    request = ("--dataset", "birds", "--backbone", "my-clip")
    assert dat("import", "embeddings", str(embeddings_folder), *request).code == 0
    assert dat("report", *request, *METHODS, "--output", str(tmp_path / "out")).code == 0
    text = (tmp_path / "out/report.md").read_text()
    assert "No result is there yet" in text
    assert "3 results are not there yet" in text


def test_what_users_wrote_is_shown_and_never_obeyed(dat, imported, embeddings_folder, tmp_path) -> None:
    prompts = embeddings_folder / "prompts.toml"
    named = prompts.read_text().replace('"land", "water"', f'"land", {json.dumps(HOSTILE)}')
    texts = re.sub(r'(attribute|group) = "(.*)"', lambda m: _written_out(m[1], m[2]), named)
    prompts.write_text(texts)
    request = imported()
    assert dat("report", *request, "--output", str(tmp_path / "out")).code == 0
    groups = {row["group_name"] for row in asked(dat, "SELECT DISTINCT group_name FROM group_accuracy")}
    assert f"landbird, {HOSTILE}" in groups
    page = (tmp_path / "out/index.html").read_text()
    assert "alert(&#34;x&#34;)" in page
    assert "<script>alert" not in page
    assert "<script>" not in (tmp_path / "out/report.md").read_text().replace("\\<script\\>", "")
    for path in (tmp_path / "out/latex").iterdir():
        assert r"\input{secret}" not in path.read_text()


def _written_out(role: str, template: str) -> str:
    """Prompts as a list, with the words that have vectors, so that only the names are hostile."""
    places = ("land", "water")
    if role == "attribute":
        return "attribute = " + json.dumps([template.format(attribute=place) for place in places])
    birds = ("landbird", "waterbird")
    return "group = " + json.dumps([[template.format(**{"class": b, "attribute": p}) for p in places] for b in birds])


def test_an_explanation_agrees_with_every_stored_prediction(dat, imported) -> None:
    from data_catalog.home import Home
    from data_catalog.index.reader import Questions
    from tasks.reporting.explanation import explain

    imported()
    rows = asked(dat, "SELECT * FROM predictions WHERE method = 'dat' ORDER BY sample_id LIMIT 40")
    zero_shot = {
        row["sample_id"]: row["prediction"]
        for row in asked(dat, "SELECT * FROM predictions WHERE method = 'zero_shot'")
    }
    names = ("landbird", "waterbird")
    with Questions(Home.from_environment()) as questions:
        for row in rows:
            found = explain(questions, "birds", "my-clip", row["sample_id"])
            best = max(found.classes, key=lambda c: c.score)
            assert best.name == found.prediction == names[row["prediction"]]
            assert found.zero_shot == names[zero_shot[row["sample_id"]]]
            assert found.right is row["correct"]
            ordered = sorted(c.score for c in found.classes)
            assert ordered[-1] - ordered[-2] == pytest.approx(row["margin"])
            for group in found.groups:
                distances = [neighbour.distance for neighbour in group.neighbours]
                assert distances == sorted(distances)
                assert len(distances) == (0 if group.density is None else 5)


def test_explain_prints_and_writes_a_page(dat, imported, tmp_path) -> None:
    imported()
    (row,) = asked(dat, "SELECT sample_id FROM predictions WHERE method = 'dat' LIMIT 1")
    ran = dat("explain", "birds", "my-clip", row["sample_id"], "--output", str(tmp_path / "one"))
    assert ran.code == 0, ran.err
    assert "similarity" in ran.out
    assert "nearest of waterbird, land:" in ran.out
    assert row["sample_id"] in (tmp_path / "one/index.html").read_text()
    found = json.loads(dat("explain", "birds", "my-clip", row["sample_id"], "--json").out)
    assert len(found["groups"]) == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("birds", "my-clip", "nobody"), "no test sample nobody"),
        (("birds", "my-clip", "x", "--method", "tie"), "tie cannot be explained"),
        (("birds", "my-clip", "x", "--variant", "k=3"), "no predictions of dat for birds × my-clip with k=3"),
    ],
)
def test_what_cannot_be_explained_is_told(dat, imported, words, says) -> None:
    imported()
    ran = dat("explain", *words)
    assert ran.code == 2
    assert says in ran.err


def test_the_shell_answers_questions_until_it_ends_and_survives_a_wrong_one(dat, imported, monkeypatch) -> None:
    imported()
    monkeypatch.setattr(
        sys, "stdin", io.StringIO("SELECT method\nFROM results ORDER BY 1;\nSELEC 1;\n.views\nDROP VIEW x;")
    )
    ran = dat("sql", "--shell", "--format", "csv")
    assert ran.code == 0
    assert ran.out.startswith("method\ndat\ntie\nzero_shot\n")
    assert "leaderboard" in ran.out
    assert ran.err.count("error:") == 2
    assert dat("sql").code == 2


@pytest.mark.slow
def test_a_served_report_is_offered_to_this_machine_alone(dat, imported, tmp_path) -> None:
    request = imported()
    command = [
        Path(sys.executable).parent / "dat",
        "report",
        *request,
        "--output",
        tmp_path / "out",
        "--serve",
        "--port",
        "0",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        try:
            assert process.stdout is not None
            address = next(found for line in process.stdout if (found := re.match(r"http://([\d.]+):(\d+)/", line)))
            assert address.group(1) == "127.0.0.1"
            connection = http.client.HTTPConnection("127.0.0.1", int(address.group(2)), timeout=30)
            connection.request("GET", "/index.html")
            answer = connection.getresponse()
            assert answer.status == 200
            assert answer.read() == (tmp_path / "out/index.html").read_bytes()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
