"""One rule for exit codes: 2 is a command that never began, 1 one that began and failed, whichever command it is."""

import json
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from pathlib import Path

import pytest

from data_catalog.home import Home
from data_catalog.specs.collection import Specs
from tasks.graph.experiments import Selection, select
from tasks.graph.graph import Graph
from tests.data_catalog.test_refused import no_file_over
from tests.data_catalog.worlds import run

RUN = ("run", "small")
PLAN = ("plan", "small")
REPORT = ("report", "small")
SQL = ("sql", "SELECT count(*) FROM predictions")
READ = ("sql", "SELECT sum(prediction) FROM predictions")
EXPLAIN = ("explain", "simbirds", "simclip", "test-004800")
IMPORT = ("import", "embeddings", "export", "--dataset", "birds", "--backbone", "my-clip")
GC = ("gc", "--scope", "superseded", "--scope", "orphans", "--apply")
SUITE = '[[grid]]\ndatasets = ["simbirds"]\nbackbones = ["simclip"]\nmethods = ["zero_shot", "dat"]\n'
FAILING = '[[grid]]\ndatasets = ["photos"]\nbackbones = ["toyclip"]\nmethods = ["zero_shot"]\n'
PHOTOS = 'prompts = "simbirds"\n[source]\nkind = "sample_table"\nroot = "../../photos"\n'

Trouble = Callable[[Home, Path], AbstractContextManager[None]]
"""Makes something go wrong with a finished home and the specs in a folder, for as long as the context lasts."""


def at_once(trouble: Callable[[Home, Path], object]) -> Trouble:
    """Have what a function does be there from then on."""

    @wraps(trouble)
    def make(home: Home, folder: Path) -> AbstractContextManager[None]:
        trouble(home, folder)
        return nullcontext()

    return make


@at_once
def nothing(home: Home, folder: Path) -> None:
    """Change nothing."""


@at_once
def malformed_spec(home: Home, folder: Path) -> None:
    (folder / "specs/suites/small.toml").write_text("[[grid]\n")


@at_once
def missing_input(home: Home, folder: Path) -> None:
    (folder / "specs/suites/small.toml").write_text(FAILING)


@at_once
def table_without_rows(home: Home, folder: Path) -> None:
    missing_input(home, folder)
    (folder / "photos").mkdir()
    (folder / "photos/samples.csv").write_text("file,label,attribute,split\n")


@at_once
def missing_folder(home: Home, folder: Path) -> None:
    missing_input(home, folder)
    (folder / "specs/datasets/photos.toml").write_text(PHOTOS.replace("sample_table", "image_folder"))


@at_once
def folder_without_rows(home: Home, folder: Path) -> None:
    (folder / "export").mkdir()


@at_once
def home_is_a_file(home: Home, folder: Path) -> None:
    shutil.rmtree(home.root)
    home.root.write_text("in the way")


@at_once
def stale(home: Home, folder: Path) -> None:
    next(home.manifests.glob("predictions/*")).unlink()


@at_once
def damaged(home: Home, folder: Path) -> None:
    for path in home.objects.glob("predictions/*"):
        path.write_bytes(bytes(path.stat().st_size))


@at_once
def artifacts_gone(home: Home, folder: Path) -> None:
    shutil.rmtree(home.objects)


@at_once
def report_in_the_way(home: Home, folder: Path) -> None:
    (folder / "results").mkdir()
    (folder / "results/thesis.tex").write_text("mine")


@contextmanager
def full_disk(home: Home, folder: Path) -> Iterator[None]:
    """Have nothing computed and no room for more."""
    shutil.rmtree(home.root)
    with no_file_over(10_000):
        yield


@contextmanager
def full_disk_for_reports(home: Home, folder: Path) -> Iterator[None]:
    with no_file_over(10_000):
        yield


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The home of a finished run of the suite, to be copied and never changed."""
    home = Home(tmp_path_factory.mktemp("finished") / "home")
    specs = Specs.from_environment(home)
    selection = Selection(datasets=["simbirds"], backbones=["simclip"], methods=["zero_shot", "dat"])
    run(home, Graph(specs).cells(select(selection, specs)[0]))
    return home


@pytest.mark.parametrize(
    ("trouble", "words", "code", "said"),
    [
        (nothing, RUN, 0, ""),
        (nothing, (*PLAN, "--check"), 0, ""),
        (nothing, SQL, 0, ""),
        (nothing, ("verify",), 0, ""),
        (nothing, GC, 0, ""),
        (nothing, EXPLAIN, 0, ""),
        (stale, PLAN, 0, ""),
        (stale, (*PLAN, "--check"), 3, ""),
        # Wrong usage
        (nothing, ("rum",), 2, "No such command"),
        (nothing, ("run", "smal"), 2, "did you mean small"),
        (nothing, ("plan", "smal"), 2, "did you mean small"),
        (nothing, ("report", "smal"), 2, "did you mean small"),
        (nothing, (*RUN, "--workers", "0"), 2, "workers"),
        (nothing, ("gc", "--scope", "all"), 2, "there is no scope all"),
        (nothing, ("why", "nobody"), 2, "there is no cell nobody"),
        (nothing, ("sql", "SELECT nobody FROM results"), 2, "nobody"),
        (nothing, ("explain", "simbirds", "simclip", "nobody"), 2, "has no test sample nobody"),
        (nothing, ("prompts", "wordnet", "water", "--folder", "nowhere"), 2, "is no WordNet database"),
        (report_in_the_way, (*REPORT, "--output", "results"), 2, "something that is no report"),
        # A spec or an input that cannot be used
        (malformed_spec, RUN, 2, "is not valid TOML"),
        (malformed_spec, PLAN, 2, "is not valid TOML"),
        (malformed_spec, REPORT, 2, "is not valid TOML"),
        (malformed_spec, ("validate",), 2, "is not valid TOML"),
        (missing_input, RUN, 2, "samples.csv: there is no such file"),
        (missing_input, PLAN, 2, "samples.csv: there is no such file"),
        (nothing, IMPORT, 2, "there is no such folder"),
        (folder_without_rows, IMPORT, 2, "prompts.toml"),
        (home_is_a_file, RUN, 2, "is a file, not a folder"),
        (home_is_a_file, SQL, 2, "is a file, not a folder"),
        (home_is_a_file, ("doctor",), 2, "is a file, not a folder"),
        # It began, and something failed
        (table_without_rows, RUN, 1, "has no rows"),
        (missing_folder, RUN, 1, "photos: there is no such folder; expected is one with"),
        (damaged, ("verify",), 1, ""),
        (damaged, READ, 1, "`dat verify` sets damaged files aside"),
        (damaged, EXPLAIN, 1, "`dat verify`"),
        (artifacts_gone, ("verify",), 1, "the folder is gone"),
        (full_disk, RUN, 1, "free some space"),
        (full_disk, ("catalog", "rebuild"), 1, "cannot be written"),
        (full_disk_for_reports, (*REPORT, "--output", "results"), 1, "the report cannot be written"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or (" ".join(value) if isinstance(value, tuple) else None),
)
def test_every_command_ends_as_the_rule_says(
    finished_run: Home, dat, home, tmp_path, trouble: Trouble, words: tuple[str, ...], code: int, said: str
) -> None:
    shutil.copytree(finished_run.root, home.root)
    for name, text in (("suites/small", SUITE), ("datasets/photos", PHOTOS)):
        path = tmp_path / "specs" / f"{name}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with trouble(home, tmp_path):
        ran = dat(*words)
    assert ran.code == code, ran.out + ran.err
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_what_was_finished_before_a_failure_is_kept(dat, home, tmp_path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with no_file_over(1_000_000):
        assert dat("run", "simulated", "--method", "zero_shot").code == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
    ran = dat("run", "simulated", "--method", "zero_shot", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["outcomes"]["up to date"] > 0


def test_the_help_says_the_rule(dat) -> None:
    told = " ".join(dat("--help").out.split())
    for words in ("it began and something failed", "refused before it began", "stopped by Ctrl-C"):
        assert words in told
