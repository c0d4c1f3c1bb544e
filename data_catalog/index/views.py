"""The views of the index: what questions are put to, over tables of the index itself and over the files of steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from data_catalog.home import Home
from data_catalog.index.step_views import STEP_VIEWS, quoted, unpatterned

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# In the order in which they build on each other.
VIEWS = (
    "artifacts",
    "lineage",
    "runs",
    "decisions",
    "drift",
    "costs",
    "not_applicable",
    "results",
    "group_accuracy",
    "predictions",
    "comparisons",
    "paper",
    "leaderboard",
    "vs_paper",
    "sweeps",
    "sensitivity",
    "efficiency",
    *STEP_VIEWS,
)
# Steps whose files have had the same columns ever since: DuckDB need not open each of them to make a view or to answer.
_ALIKE = ("predictions",)
_PREDICTIONS = {
    "sample_id": "VARCHAR",
    "label": "INTEGER",
    "attribute": "INTEGER",
    "prediction": "INTEGER",
    "margin": "DOUBLE",
}


def make_views(connection: "DuckDBPyConnection", home: Home) -> bool:
    """Make every view in a database that holds the tables; False when a file that one looks into is damaged.

    With a damaged file among them, questions about its step fail, and no others.
    """
    import duckdb

    waiting = [_Making(view, home, file_columns(view)) for view in VIEWS]
    try:
        with duckdb.connect(":memory:") as apart:
            for one in waiting:
                one.try_out(apart)
        # All in one transaction: by itself, each view and each comment on a column would be forced to the disk.
        _at_once(connection, "".join(one.sql() for one in waiting))
        return True
    except (duckdb.Error, RuntimeError, UnicodeDecodeError):
        sound = [_made(connection, one) for one in waiting]
        return all(sound)


def file_columns(step: str) -> Mapping[str, str] | None:
    """Return {name: type} of the columns that a view reads from the files of a step; None where no view does."""
    return _PREDICTIONS if step == "predictions" else STEP_VIEWS[step].types if step in STEP_VIEWS else None


@cache
def view_sql(name: str) -> str:
    """Return the SQL that makes a view."""
    if name in STEP_VIEWS:
        return STEP_VIEWS[name].sql(f"store.{name}_files")
    return (resources.files("data_catalog.index") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


@dataclass(frozen=True)
class _Making:
    """How a view is made: from tables, or, with `columns`, from the files of a step, which DuckDB opens at once."""

    view: str
    home: Home
    columns: Mapping[str, str] | None

    @property
    def pattern(self) -> Path:
        """The files."""
        return self.home.objects / self.view / "*.parquet"

    @cached_property
    def source(self) -> str:
        """What is selected from the files; DuckDB refuses to look into none."""
        if not any(self.pattern.parent.glob(self.pattern.name)):
            return f"{self._nothing}, NULL::VARCHAR AS filename WHERE false"
        unlike = "" if self.view in _ALIKE else ", union_by_name = true"
        files = f"{unpatterned(self.pattern.parent)}/{self.pattern.name}"
        return f"* FROM read_parquet({quoted(files)}, filename = true{unlike})"

    @property
    def _nothing(self) -> str:
        return ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in (self.columns or {}).items())

    def try_out(self, apart: "DuckDBPyConnection") -> None:
        """Look into the files in a database apart: some damage makes DuckDB give up the whole database."""
        if self.columns is not None:
            apart.execute(f"SELECT {self.source} LIMIT 0")

    def sql(self, problem: str = "") -> str:
        """Return the SQL that makes the view; with a problem, every question about it is answered by that."""
        if self.columns is None:
            return view_sql(self.view)
        source = f"{self._nothing}, error({quoted(problem)})::VARCHAR AS filename" if problem else self.source
        files = "store.prediction_files" if self.view == "predictions" else f"store.{self.view}_files"
        return f"CREATE VIEW {files} AS SELECT {source};\n{view_sql(self.view)}"


def _made(connection: "DuckDBPyConnection", making: _Making) -> bool:
    """Make one view, and one that names the problem where its files are damaged; return whether they are sound."""
    import duckdb

    try:
        with duckdb.connect(":memory:") as apart:
            making.try_out(apart)
        _at_once(connection, making.sql())
        return True
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
        if making.columns is None:
            raise
        problem = f"one of {making.pattern} cannot be read: {str(error).partition(chr(10))[0]}"
        _at_once(connection, making.sql(problem))
        return False


def _at_once(connection: "DuckDBPyConnection", sql: str) -> None:
    connection.execute("BEGIN")
    try:
        connection.execute(sql)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
