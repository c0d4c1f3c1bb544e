"""What many tests use: a command line with a home of its own, and an embeddings folder."""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dat_lib.toyworld.simulation import SimulatedWorld, simulate
from data_catalog.home import Home

# The same examples on every run: a test that fails here fails for everybody.
hypothesis.settings.register_profile("repeatable", derandomize=True)
hypothesis.settings.load_profile("repeatable")

# Started in the background of a shell, a process ignores Ctrl-C, and so does all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

PROMPTS = """
classes = ["landbird", "waterbird"]
attributes = ["land", "water"]

[prompts]
class = "a photo of a {class}"
attribute = "a photo with a {attribute} background"
group = "a photo of a {class} in {attribute}"
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home, which is also the one that commands use."""
    monkeypatch.setenv("DAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DAT_RUNNER", "inline")  # Prefect has tests of its own
    monkeypatch.setenv("DAT_REPORT", "false")  # and so has the report
    monkeypatch.delenv("DAT_SPECS", raising=False)
    monkeypatch.chdir(tmp_path)
    return Home.from_environment()


@pytest.fixture
def dat(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run a `dat` command in this process."""
    from flows.cli.app import run

    def command(*words: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["dat", *words])
        capsys.readouterr()
        code = run()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ran(code, captured.out, captured.err)

    return command


@pytest.fixture
def embeddings_folder(tmp_path: Path) -> Path:
    """A small, sound embeddings folder."""
    folder = tmp_path / "export"
    folder.mkdir()
    write_world(folder, simulate(seed=3, dim=16, train=400, val=40, test=120))
    (folder / "prompts.toml").write_text(PROMPTS)
    return folder


def write_world(folder: Path, world: SimulatedWorld) -> None:
    """Write the embeddings of a simulated world as a user would export them."""
    write_images(
        folder,
        sample_id=world.sample_ids.tolist(),
        split=world.split.tolist(),
        label=world.labels.tolist(),
        attribute=world.attributes.tolist(),
        embedding=list(world.embeddings),
    )
    vectors = world.prompt_vectors
    write_texts(folder, list(vectors), list(vectors.values()))


def write_images(folder: Path, *, embedding: list[np.ndarray], **columns: list[object]) -> None:
    vectors = pa.array([np.asarray(vector).tolist() for vector in embedding], pa.list_(pa.float32()))
    pq.write_table(pa.table({**columns, "embedding": vectors}), folder / "images.parquet")


def write_texts(folder: Path, prompts: list[str], embedding: list[np.ndarray]) -> None:
    vectors = pa.array([np.asarray(vector).tolist() for vector in embedding], pa.list_(pa.float32()))
    pq.write_table(pa.table({"prompt": prompts, "embedding": vectors}), folder / "texts.parquet")
