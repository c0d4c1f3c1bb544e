"""Views over the tables of steps: one row of a file is one row of a view, beside the address of its cell.

What they are is data (`sql/step_tables.toml`): a view is called after its step.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

_ADDRESS = {
    "dataset": "Name of the dataset",
    "backbone": "Name of the vision-language model",
    "method": "Name of the method",
    "variant": "Settings that differ from the usual ones, as name=value; empty for none",
    "seed": "Seed of everything random",
}


@dataclass(frozen=True)
class StepView:
    """A view over the current tables of one step."""

    step: str
    about: str
    address: tuple[str, ...]
    columns: Mapping[str, tuple[str, str]]
    """{name: (type, meaning)}"""

    @property
    def types(self) -> dict[str, str]:
        """Types of the columns by name."""
        return {name: kind for name, (kind, _) in self.columns.items()}

    def sql(self, files: str) -> str:
        """Return the SQL that makes the view from a view `files` of the rows of all files and their `filename`."""
        chosen = [*(f"c.{name}" for name in self.address), *(f'f."{name}"' for name in self.columns), "a.key"]
        meanings = {
            **{name: _ADDRESS[name] for name in self.address},
            **{name: meaning for name, (_, meaning) in self.columns.items()},
            "key": "Key of the artifact",
        }
        comments = "".join(
            f'COMMENT ON COLUMN {self.step}."{name}" IS {quoted(meaning)};\n' for name, meaning in meanings.items()
        )
        return (
            f"CREATE VIEW {self.step} AS\nSELECT {', '.join(chosen)}\nFROM {files} f\n"
            f"JOIN store.artifacts a ON a.step = {quoted(self.step)} "
            "AND parse_filename(f.filename) = parse_filename(a.path)\n"
            "JOIN store.cells c ON c.key = a.key;\n"
            f"COMMENT ON VIEW {self.step} IS {quoted(self.about)};\n{comments}"
        )


def quoted(text: object) -> str:
    """Return a text as SQL writes it."""
    return "'" + str(text).replace("'", "''") + "'"


def unpatterned(path: object) -> str:
    """Return a path as DuckDB takes it for that file or folder, and for no pattern, whatever it is called."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _read() -> dict[str, StepView]:
    text = (resources.files("data_catalog.index") / "sql" / "step_tables.toml").read_text(encoding="utf-8")
    return {
        step: StepView(
            step,
            entry["about"],
            tuple(entry["address"]),
            {name: (kind, meaning) for name, (kind, meaning) in entry["columns"].items()},
        )
        for step, entry in tomllib.loads(text).items()
    }


STEP_VIEWS = _read()
