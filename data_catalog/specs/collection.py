"""All the specs there are: shipped, the user's own, and those that imports have written."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

from data_catalog.errors import UserError
from data_catalog.home import Home
from data_catalog.specs.models import BackboneSpec, DatasetSpec, MethodSettings, Spec, SuiteSpec, is_name
from data_catalog.specs.paths import expanded
from data_catalog.specs.prompts import PromptSet
from data_catalog.specs.toml import read_toml
from data_catalog.suggestions import did_you_mean

Kind = Literal["datasets", "backbones", "prompts", "methods", "suites"]
MODELS: Mapping[Kind, type[Spec]] = {
    "datasets": DatasetSpec,
    "backbones": BackboneSpec,
    "prompts": PromptSet,
    "methods": MethodSettings,
    "suites": SuiteSpec,
}
S = TypeVar("S", bound=Spec)


@dataclass(frozen=True)
class Specs:
    """Specs in a list of folders, each with `datasets`, `backbones`, `prompts`, `methods` and `suites` inside.

    A file is read when its name is asked for, so a broken one stands in nobody else's way. `data` is where datasets lie
    that do not say where they are; `digests` remembers those of the files that specs name.
    """

    folders: tuple[Path, ...]
    data: Path = Path("data")
    digests: Path | None = None
    looked_in: tuple[Path, ...] = ()
    """`folders`, and those that would be among them if they existed."""

    @classmethod
    def from_environment(cls, home: Home) -> "Specs":
        """Return the shipped specs, those in `DAT_SPECS` (or `specs` in the current folder), and the imported ones."""
        shipped = Path(str(resources.files("data_catalog.specs")))
        own = os.environ.get("DAT_SPECS")
        folders = [expanded(folder) for folder in own.split(os.pathsep) if folder] if own else []
        for folder in folders:
            if not folder.is_dir():
                raise UserError(
                    "is no folder", where=f"DAT_SPECS={folder}", remedy="set DAT_SPECS to a folder of specs"
                )
        here = Path("specs").absolute()
        if not own and here.is_dir():
            folders = [here]
        data = expanded(os.environ.get("DAT_DATA") or home.root / "data")
        looked_in = (shipped, *(folders or [here]), home.specs)
        return cls((shipped, *folders, home.specs), data, home.digests, looked_in)

    def names(self, kind: Kind) -> list[str]:
        """Return the names of all specs of a kind."""
        return sorted(self._files[kind])

    def files(self, kind: Kind, name: str) -> list[Path]:
        """Return the files that define a name: none, one, or for method settings several that are merged."""
        return self._files[kind].get(name, [])

    def path(self, kind: Kind, name: str) -> Path:
        """Return the file of a spec; a `UserError` that suggests near names when there is none."""
        found = self.files(kind, name)
        if not found:
            raise unknown(kind.removesuffix("s"), name, self.names(kind), f"dat ls {kind}")
        if not is_name(name):
            remedy = "rename the file: letters, digits, '.', '_' and '-', beginning with a letter or digit"
            raise UserError(f"{name!r:.200} is no name", where=str(found[0]), remedy=remedy)
        if len(found) > 1 and kind != "methods":
            places = " and ".join(map(str, found))
            raise UserError(f"{kind.removesuffix('s')} {name} is defined twice", where=places, remedy="rename one")
        return found[0]

    def dataset(self, name: str) -> DatasetSpec:
        """Return a dataset."""
        return self._read("datasets", name, DatasetSpec)

    def backbone(self, name: str) -> BackboneSpec:
        """Return a backbone."""
        return self._read("backbones", name, BackboneSpec)

    def prompt_set(self, name: str) -> PromptSet:
        """Return a prompt set."""
        return self._read("prompts", name, PromptSet)

    def prompts_of(self, dataset: str, chosen: str = "") -> str:
        """Return the name of a dataset's own prompt set, or of one chosen in its place.

        It is chosen by its name, or by what that adds to the own set's: `robust` for `waterbirds-robust`.
        """
        own = self.dataset(dataset).prompts
        added = f"{own}-{chosen}"
        return own if not chosen else added if self.files("prompts", added) else chosen

    def suite(self, name: str) -> SuiteSpec:
        """Return a suite."""
        return self._read("suites", name, SuiteSpec)

    def settings(self, method: str, dataset: str) -> dict[str, Any]:
        """Return a method's settings on a dataset. The user's own files come after the shipped ones and win."""
        merged: dict[str, Any] = {}
        files = [read_toml(path, MethodSettings) for path in self.files("methods", method)]
        for file in files:
            merged.update(file.defaults)
        for file in files:
            merged.update(file.datasets.get(dataset, {}))
        return merged

    def _read(self, kind: Kind, name: str, model: type[S]) -> S:
        return read_toml(self.path(kind, name), model)

    @cached_property
    def _files(self) -> dict[Kind, dict[str, list[Path]]]:
        files: dict[Kind, dict[str, list[Path]]] = {kind: {} for kind in MODELS}
        for kind, names in files.items():
            for folder in self.folders:
                for path in sorted((folder / kind).glob("*.toml")):
                    names.setdefault(path.stem, []).append(path)
        return files


def unknown(what: str, name: str, known: list[str], listing: str) -> UserError:
    """Return the error for a name that does not exist."""
    return UserError(f"there is no {what} {name}", remedy=f"{did_you_mean(name, known)}`{listing}` lists all")
