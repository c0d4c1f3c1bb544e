"""Where everything lies below `DAT_HOME`."""

import os
from dataclasses import dataclass
from pathlib import Path

from data_catalog.errors import UserError, explained
from data_catalog.specs.paths import expanded


@dataclass(frozen=True)
class Home:
    """The folders of one store. Nothing outside `root` is ever written."""

    root: Path

    @classmethod
    def from_environment(cls) -> "Home":
        """Return the home named by `DAT_HOME`, or `.dat` in the current folder; a `UserError` where that is a file."""
        home = cls(expanded(os.environ.get("DAT_HOME") or ".dat"))
        places = (home.root, *home.root.parents)
        in_the_way = next(place for place in places if os.path.exists(place))  # noqa: PTH110 (Path.exists may raise)
        if not in_the_way.is_dir():
            raise UserError(
                f"{in_the_way} is a file, not a folder",
                where=f"DAT_HOME={home.root}",
                remedy="set DAT_HOME to a folder; one that is not there yet is made",
            )
        return home

    @property
    def manifests(self) -> Path:
        """One JSON file per artifact, `STEP/KEY.json`: a visible manifest is a committed artifact."""
        return self.root / "manifests"

    @property
    def objects(self) -> Path:
        """Parquet files, `STEP/SHA256.parquet`: the name is the digest of the bytes."""
        return self.root / "objects"

    @property
    def staging(self) -> Path:
        """Work in progress, `KEY/`: owned by whoever holds the key's lock."""
        return self.root / "staging"

    @property
    def locks(self) -> Path:
        """Advisory locks; they free themselves when their process dies."""
        return self.root / "locks"

    @property
    def quarantine(self) -> Path:
        """Damaged files set aside by `verify`."""
        return self.root / "quarantine"

    @property
    def runs(self) -> Path:
        """One JSON-lines file per run: what was decided and done."""
        return self.root / "runs"

    @property
    def digests(self) -> Path:
        """What is known of the files of datasets and models, one table each: derived, deletable."""
        return self.root / "digests"

    @property
    def specs(self) -> Path:
        """Specs that `dat import` writes."""
        return self.root / "specs"

    @property
    def index(self) -> Path:
        """The DuckDB index: derived, deletable."""
        return self.root / "catalog.duckdb"

    def prepare(self) -> None:
        """Make the folders; a clear error where that cannot be."""
        with explained(self.root):
            for folder in (self.manifests, self.objects, self.staging, self.locks / "runs", self.runs):
                folder.mkdir(parents=True, exist_ok=True)
