"""Bad input gets exit code 2, a machine that refuses exit code 1; both get a line that helps, and nothing is stored."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data_catalog.home import Home
from tests.conftest import PROMPTS, Ran

IMPORT = ("--dataset", "birds", "--backbone", "my-clip")


def state(home: Home) -> list[str]:
    """Everything stored, except that a run was tried."""
    files = [path for path in home.root.rglob("*") if path.is_file()] if home.root.exists() else []
    kept = [path for path in files if home.runs not in path.parents and path != home.index]
    return sorted(str(path.relative_to(home.root)) for path in kept)


def change_images(folder: Path, change: Callable[[dict[str, list]], None]) -> None:
    path = folder / "images.parquet"
    columns = pq.read_table(path).to_pydict()
    change(columns)
    pq.write_table(pa.table(columns), path)


def nan(columns: dict) -> None:
    columns["embedding"][7][3] = float("nan")


def infinite(columns: dict) -> None:
    columns["embedding"][7][3] = float("inf")


def zero(columns: dict) -> None:
    columns["embedding"][7] = [0.0] * 16


def unequal(columns: dict) -> None:
    columns["embedding"][7] = [1.0] * 15


def duplicate(columns: dict) -> None:
    columns["sample_id"][7] = columns["sample_id"][0]


def split(columns: dict) -> None:
    columns["split"][7] = "dev"


def label(columns: dict) -> None:
    columns["label"][7] = 2


def negative_label(columns: dict) -> None:
    columns["label"][7] = -1


def attribute(columns: dict) -> None:
    columns["attribute"][7] = 5


def text_labels(columns: dict) -> None:
    columns["label"] = ["landbird"] * len(columns["label"])


def empty_id(columns: dict) -> None:
    columns["sample_id"][7] = None


def no_test(columns: dict) -> None:
    columns["split"] = ["train"] * len(columns["split"])


def no_column(columns: dict) -> None:
    del columns["attribute"]


def no_rows(columns: dict) -> None:
    for name in columns:
        columns[name] = pa.array([], pa.string())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (nan, "1 embeddings hold NaN or infinity"),
        (infinite, "1 embeddings hold NaN or infinity"),
        (zero, "1 embeddings have zero norm"),
        (unequal, "has 15 values, but"),
        (duplicate, "occurs 2 times; each must occur once"),
        (split, 'has the split "dev"; known are: train, val, test'),
        (label, "has the label 2; prompts.toml names 0 to 1"),
        (negative_label, "has the label -1; prompts.toml names 0 to 1"),
        (attribute, "has the attribute 5; prompts.toml names 0 to 1"),
        (text_labels, "column label holds string, expected integers"),
        (empty_id, "column sample_id has 1 empty values"),
        (no_test, "no sample has the split test"),
        (no_column, "no column attribute; there are:"),
        (no_rows, "has no rows"),
    ],
)
def test_images_that_cannot_be_used(dat, home, embeddings_folder, change, message) -> None:
    change_images(embeddings_folder, change)
    refused(dat, home, embeddings_folder, "images.parquet", message)


def refused(dat, home: Home, folder: Path, file: str, message: str) -> Ran:
    before = state(home)
    ran = dat("import", "embeddings", str(folder), *IMPORT)
    assert ran.code == 2, ran.err
    assert message in ran.err
    assert file in ran.err
    assert state(home) == before
    assert dat("ls", "datasets", "--json").out.find('"birds"') == -1
    return ran


def test_a_prompt_without_a_vector(dat, home, embeddings_folder) -> None:
    path = embeddings_folder / "texts.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    refused(dat, home, embeddings_folder, "texts.parquet", 'no vector for the prompt "a photo of a landbird"')


def test_prompts_and_images_of_different_dimension(dat, home, embeddings_folder) -> None:
    path = embeddings_folder / "texts.parquet"
    table = pq.read_table(path)
    short = pa.array([vector[:8] for vector in table.column("embedding").to_pylist()])
    pq.write_table(table.set_column(1, "embedding", short), path)
    refused(dat, home, embeddings_folder, "export", "images have 16 dimensions, prompts 8")


@pytest.mark.parametrize("file", ["images.parquet", "texts.parquet"])
def test_a_truncated_parquet_file(dat, home, embeddings_folder, file) -> None:
    path = embeddings_folder / file
    path.write_bytes(path.read_bytes()[:-100])
    refused(dat, home, embeddings_folder, file, "cannot be read as Parquet")


@pytest.mark.parametrize("file", ["images.parquet", "texts.parquet", "prompts.toml"])
def test_a_missing_file(dat, home, embeddings_folder, file) -> None:
    (embeddings_folder / file).unlink()
    refused(dat, home, embeddings_folder, file, "")


def test_a_missing_folder(dat, home, tmp_path) -> None:
    refused(dat, home, tmp_path / "nowhere", "nowhere", "there is no such folder")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("classes = [", "is not valid TOML"),
        (PROMPTS.replace("classes", "clases"), "clases: Extra inputs are not permitted"),
        (PROMPTS.replace('["land", "water"]', '["land"]'), "has the attribute 1"),
        (PROMPTS.replace('class = "a photo of a {class}"', 'class = "a bird"'), "must be a template"),
        ('reference_split = "dev"\n' + PROMPTS, "reference_split"),
        ('groups = "by hand"\n' + PROMPTS, "groups"),
    ],
)
def test_prompts_that_are_malformed(dat, home, embeddings_folder, text, message) -> None:
    (embeddings_folder / "prompts.toml").write_text(text)
    refused(dat, home, embeddings_folder, "", message)


def test_a_second_backbone_with_other_samples(dat, home, embeddings_folder) -> None:
    assert dat("import", "embeddings", str(embeddings_folder), *IMPORT).code == 0
    before = state(home)
    change_images(embeddings_folder, lambda columns: columns["label"].__setitem__(0, 1 - columns["label"][0]))
    ran = dat("import", "embeddings", str(embeddings_folder), "--dataset", "birds", "--backbone", "other")
    assert ran.code == 2
    assert "the samples differ from those of birds imported with my-clip" in ran.err
    assert state(home) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "dmo"], "there is no suite dmo"),
        (["plan", "simulated", "--dataset", "simbird"], "did you mean simbirds"),
        (["run", "simulated", "--method", "zeroshot"], "did you mean zero_shot"),
        (["run", "simulated", "--backbone", "simclp"], "did you mean simclip"),
        (["run", "simulated", "--method", "roboshot"], "suite simulated has no method roboshot"),
        (["run"], "what shall be computed?"),
        (["run", "simulated", "--set", "k"], "expected name=value"),
        (["run", "simulated", "--method", "zero_shot", "--set", "k=3"], "k"),
        (
            ["run", "--dataset", "simbirds", "--backbone", "simclip", "--method", "roboshot"],
            "needs prompts of the role",
        ),
        (["why", "nothing"], "there is no cell nothing"),
        (["gc"], "say what to collect with --scope"),
        (["gc", "--scope", "everything"], "there is no scope everything"),
        (["sql", "SELECT * FROM reslts"], "did you mean results"),
        (["sql", "DROP VIEW results"], "DROP is not allowed"),
        (["sql", "SELECT"], "SQL"),
        (["sql", "SELECT 1", "--format", "xml"], "xml"),
        (["ls", "things"], "things"),
        (["nothing"], "nothing"),
        (["import", "embeddings", ".", "--dataset", "a b", "--backbone", "c"], "'a b' is no name"),
    ],
)
def test_wrong_words_on_the_command_line(dat, home, words, message) -> None:
    ran = dat(*words)
    assert ran.code == 2, ran.out + ran.err
    assert message in ran.err
    assert state(home) == []


def test_a_malformed_spec_names_file_and_line_and_validate_lists_it(dat, home, tmp_path) -> None:
    suites = tmp_path / "specs/suites"
    suites.mkdir(parents=True)
    (suites / "mine.toml").write_text('title = "x"\n[[grid]]\ndatasets = "simbirds"\n')
    ran = dat("run", "mine")
    assert ran.code == 2
    assert "mine.toml" in ran.err
    assert "line 3, grid.0.datasets" in ran.err
    (suites / "other.toml").write_text(
        '[[grid]]\ndatasets = ["simbirds"]\nbackbones = ["simclip"]\nmethods = ["zero_shott"]\n'
    )
    problems = json.loads(dat("validate", "--json").out)["problems"]
    assert {Path(problem["file"]).name for problem in problems} == {"mine.toml", "other.toml"}
    assert dat("validate").code == 2


def test_shipped_specs_are_valid(dat) -> None:
    ran = dat("validate")
    assert ran.code == 0, ran.err


def test_a_home_that_cannot_be_written(dat, monkeypatch) -> None:
    monkeypatch.setenv("DAT_HOME", "/proc/dat-home")
    ran = dat("run", "simulated")
    assert ran.code == 1
    assert "cannot be written" in ran.err
    assert "DAT_HOME" in ran.err
    assert dat("doctor").code == 1
    for looking in (["plan", "simulated"], ["status"], ["sql", "SELECT count(*) FROM results"]):
        assert dat(*looking).code == 0, looking


@pytest.mark.parametrize("place", ["file", "file/below"])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "simulated"),
        ("plan", "simulated"),
        ("report", "simulated"),
        ("explain", "simbirds", "simclip", "test-0"),
        ("why", "zero_shot"),
        ("status",),
        ("sql", "SELECT 1"),
        ("ls", "datasets"),
        ("validate",),
        ("import", "embeddings", ".", *IMPORT),
        ("verify",),
        ("gc", "--scope", "orphans"),
        ("catalog", "rebuild"),
        ("doctor",),
    ],
    ids=lambda words: words[0],
)
def test_a_home_that_is_a_file_is_refused_by_every_command(dat, monkeypatch, tmp_path, place, words) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DAT_HOME", str(tmp_path / place))
    ran = dat(*words)
    assert ran.code == 2, ran.out
    assert f"DAT_HOME={tmp_path / place}: {tmp_path / 'file'} is a file, not a folder" in ran.err
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_full_disk_stops_the_run_and_keeps_what_is_finished(home, tmp_path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    command = [sys.executable, "-c", "from flows.cli import main; main()", "run", "simulated"]
    full = subprocess.run(command, preexec_fn=little_room, capture_output=True, text=True, timeout=120)
    assert full.returncode == 1, full.stderr
    assert "cannot be written: File too large" in full.stderr
    assert "free some space" in full.stderr
    assert "Traceback" not in full.stderr
    kept = {path.parent.name for path in home.manifests.rglob("*.json")}
    assert kept == {"samples"}
    assert not list(home.staging.iterdir())
    rerun = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120)
    assert rerun.returncode == 0, rerun.stderr
    assert json.loads(rerun.stdout)["outcomes"]["up to date"] == 1


def test_nan_in_a_simulated_setting_is_refused() -> None:
    from dat_lib.toyworld.simulation import simulate

    with pytest.raises(ValueError, match="correlation"):
        simulate(correlation=np.nan)
