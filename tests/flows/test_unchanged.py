"""The quick answer when nothing has changed: it is given only then, whatever it is that has changed."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.planning import stamps as unchanged
from flows.cli.unchanged import _NAMES, _PREFIXES, answered
from flows.request import Request, resolve

ROOT = Path(__file__).parents[2]
RUN, PLAN = ["run", "small"], ["plan", "small"]
SUITE = '[[grid]]\ndatasets = ["simbirds"]\nbackbones = ["simclip"]\nmethods = ["zero_shot", "group_prompt"]\n'
METHOD = "specs/methods/zero_shot_whitened.toml"


@pytest.fixture
def settled(dat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> Path:
    """A folder in which both commands have found nothing to do, and have kept that, young as all the files are."""
    (tmp_path / "specs/suites").mkdir(parents=True)
    (tmp_path / "specs/suites/small.toml").write_text(SUITE)
    assert dat(*RUN).code == 0
    assert not answered(RUN), "a run that computed something is no answer to the same words"
    monkeypatch.setattr(unchanged, "_AT_REST", -(10**18))
    assert dat(*RUN).code == 0
    assert dat(*PLAN).code == 0
    assert answered(RUN)
    assert answered(PLAN)
    return tmp_path


def rewrite(path: Path, text: str) -> None:
    """Write another text of the same length and give the file its old time back, as a backup may."""
    before = path.stat()
    assert len(text.encode()) == before.st_size
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def first(home: Path, pattern: str) -> Path:
    return min((home / "home").glob(pattern))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a spec": lambda at: (at / "specs/suites/small.toml").write_text(SUITE.replace("group_prompt", "ideal_words")),
    "a spec, keeping size and time": lambda at: rewrite(
        at / "specs/suites/small.toml", SUITE.replace('"zero_shot", ', ' "zero_shot",')
    ),
    "a new spec": lambda at: (at / "specs/methods").mkdir() or (at / METHOD).write_text("[defaults]\n"),
    "a spec that is gone": lambda at: (at / "specs/suites/small.toml").unlink(),
    "a manifest that is gone": lambda at: first(at, "manifests/*/*.json").unlink(),
    "a damaged manifest": lambda at: flip(first(at, "manifests/*/*.json")),
    "a table that is gone": lambda at: first(at, "objects/*/*.parquet").unlink(),
    "a table cut short": lambda at: os.truncate(first(at, "objects/*/*.parquet"), 10),
    "a new artifact": lambda at: (at / "home/manifests/metrics/new.json").write_text("{}"),
    "another run": lambda at: (at / "home/runs/r000009.jsonl").write_text("{}\n"),
    "a record of a run that is gone": lambda at: (at / "home/runs/r000001.jsonl").unlink(),
    "the index, which a run mends": lambda at: (at / "home/catalog.duckdb").unlink(),
    "imported specs": lambda at: (
        (at / "home/specs/datasets").mkdir(parents=True) or (at / "home/specs/datasets/mine.toml").write_text("")
    ),
    "damaged stamps": lambda at: [flip(stamp) for stamp in (at / "home/stamps").iterdir()],
    "empty stamps": lambda at: [stamp.write_text("") for stamp in (at / "home/stamps").iterdir()],
    "stamps of another format": lambda at: [restamp(stamp) for stamp in (at / "home/stamps").iterdir()],
}


def restamp(path: Path) -> None:
    text = path.read_text().partition("\n")[2].replace('"format": 1', '"format": 2')
    path.write_text(f"{unchanged._digest(text)}\n{text}")


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_planned_in_full(settled: Path, change: str) -> None:
    CHANGES[change](settled)
    assert not answered(RUN)
    assert not answered(PLAN)


@pytest.mark.parametrize("name", ["DAT_SPECS", "DAT_DATA", "DAT_DEVICE", "PYTHONPATH", "COLUMNS", "NO_COLOR"])
def test_another_environment_is_another_question(settled: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setenv(name, str(settled))
        assert not answered(RUN)
    assert answered(RUN)


def test_another_folder_home_or_wording_is_another_question(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in ([*RUN, "--force"], [*RUN, "--json"], ["run", "simulated"], ["sql", "small"], [], ["run"]):
        assert not answered(words)
    monkeypatch.setattr(sys, "path", [*sys.path, str(settled)])
    assert not answered(RUN), "packages may come from elsewhere"
    monkeypatch.undo()
    (settled / "elsewhere").mkdir()
    monkeypatch.chdir(settled / "elsewhere")
    monkeypatch.setenv("DAT_HOME", str(settled / "home"))
    assert not answered(RUN)


def test_the_answer_is_the_same_and_a_run_is_noted(settled: Path, dat, capsys) -> None:
    capsys.readouterr()
    assert answered(RUN)
    quick = capsys.readouterr()
    assert quick.out.endswith("r000002: 8 up to date\n")
    records = sorted((settled / "home/runs").glob("r*.jsonl"))
    noted = [json.loads(line) for line in (settled / "home/runs/confirmed.jsonl").read_text().splitlines()]
    assert [path.stem for path in records] == ["r000001", "r000002"]
    assert [(line["run_id"], line["words"]) for line in noted] == [("r000002", RUN)] * 2
    in_full = dat(*RUN)
    assert in_full.out == quick.out.replace("r000002", "r000003")
    answer = dat("sql", "SELECT run_id, count(*) AS n FROM decisions GROUP BY 1 ORDER BY 1", "--format", "json")
    assert json.loads(answer.out) == [{"run_id": f"r00000{n}", "n": 8} for n in (1, 2, 3)]


def test_a_run_that_cannot_be_noted_is_made_in_full(settled: Path) -> None:
    (settled / "home/runs/confirmed.jsonl").unlink()
    (settled / "home/runs/confirmed.jsonl").mkdir()
    assert not answered(RUN)
    assert answered(PLAN)


def test_what_changed_a_moment_ago_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    file, home = tmp_path / "input", tmp_path / "home"
    file.write_text("")
    changed, rest = file.stat().st_ctime_ns, unchanged._AT_REST
    stamps = unchanged.Stamps(str(home))
    assert not stamps.keep("?", {}, [str(file)], changed, "")
    assert not stamps.keep("?", {}, [str(file)], changed + rest - 1, "")
    assert not stamps.keep("?", {}, [str(tmp_path)], changed + rest // 2, ""), "nor a folder that lost a file, say"
    assert stamps.find("?") is None
    assert stamps.keep("?", {}, [str(file)], changed + rest, "")
    assert stamps.find("?") == {}
    assert abs(unchanged.clock(str(tmp_path)) - time.time_ns()) < 60 * 10**9


def test_the_number_of_stamps_is_bounded(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "_MOST_KEPT", 3)
    stamps = unchanged.Stamps(str(settled / "home"))
    for number in range(6):
        assert stamps.keep({"number": number}, {}, [], time.time_ns(), "")
    assert len(list((settled / "home/stamps").iterdir())) == 3
    assert stamps.find({"number": 5}) == {}


def test_files_that_specs_name_are_among_the_inputs(tmp_path: Path, home: Home) -> None:
    for name, text in {
        "datasets/table.toml": 'prompts = "simbirds"\n[source]\nkind = "sample_table"\nroot = "../pictures"\n',
        "datasets/folder.toml": 'prompts = "simbirds"\n[source]\nkind = "image_folder"\nroot = "../pictures"\n',
        "pictures/samples.csv": "file\n",
    }.items():
        path = tmp_path / "specs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    pictures = tmp_path / "specs/pictures"
    weights = ROOT / "data_catalog/toyclip"
    for dataset in ("table", "folder"):
        inputs = resolve(Request(None, [dataset], ["toyclip"], ["zero_shot"]), home).inputs
        assert {pictures, tmp_path / "specs", home.specs} <= inputs
        assert any(path.is_relative_to(weights) for path in inputs)


_WATCHED = """
import sys
from flows.cli.app import run
opened = set()
def hook(event, arguments):
    if event in ("open", "os.scandir", "os.listdir") and isinstance(arguments[0], (str, bytes)):
        opened.add(arguments[0] if isinstance(arguments[0], str) else arguments[0].decode())
sys.addaudithook(hook)
run()
sys.stderr.write("\\n".join(sorted(opened)))
"""


@pytest.mark.slow
def test_every_file_that_a_plan_reads_is_among_what_the_answer_rests_on(settled: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _WATCHED, *PLAN], cwd=settled, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stamps = [json.loads(path.read_text().partition("\n")[2]) for path in (settled / "home/stamps").iterdir()]
    inputs, *_ = [stamp["inputs"] for stamp in stamps if stamp["question"]["words"] == PLAN]
    rests_on = [Path(path) for path in (*inputs, settled / "home/manifests", settled / "home/objects")]
    python = [Path(path).resolve() for path in (sys.prefix, sys.base_prefix)]
    ours = [settled / "home" / cache for cache in ("stamps", "digests", "code.json")]
    machine = [Path("/sys")]  # how much memory there is: whether a dataset is refused, never what is up to date
    read = {settled / path for path in done.stderr.splitlines()}
    assert any(path.name == "small.toml" for path in read), "the hook works"
    told = {path for path in read if not any(path.resolve().is_relative_to(folder) for folder in python)}
    unknown = {
        path
        for path in told
        if not any(path.is_relative_to(folder) for folder in (*rests_on, *ours, *machine))
        and not path.name.startswith(".clock.")
        and path.exists()
    }
    assert not {path for path in unknown if path.is_file()}
    # The signature lists the folders of sys.path and of the store itself.
    listed = {*map(os.path.abspath, sys.path), ROOT, settled, settled / "home", settled / "home/runs"}
    assert {str(path) for path in unknown} <= {*map(str, listed), "/dev"}


def test_every_variable_that_the_project_reads_is_part_of_the_question() -> None:
    """But those of Prefect, WordNet and model hubs, which no plan reads."""
    name = re.compile(r"""environ(?:\.get\(|\[|\.setdefault\()\s*["'](\w+)|envvar=["'](\w+)""")
    files = [path for room in ("dat_lib", "data_catalog", "tasks", "flows") for path in (ROOT / room).rglob("*.py")]
    read = {one or other for path in files for one, other in name.findall(path.read_text())}
    assert "DAT_SPECS" in read
    left = {name for name in read if not name.startswith(_PREFIXES) and name not in _NAMES}
    assert left <= {one for one in left if one.startswith(("PREFECT_", "WN", "HF_"))}
