"""What each kind of spec file may say. The file's name, without `.toml`, is the spec's name."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
Name = Annotated[str, Field(pattern=_NAME)]
Setting = bool | int | float | str
Seeds = list[Annotated[int, Field(ge=0)]]
Split = Literal["train", "val", "test"]
Groups = Literal["class_attribute", "attribute"]


def is_name(text: str) -> bool:
    """Whether a text can name a spec."""
    return re.fullmatch(_NAME.strip("^$"), text) is not None


class Spec(BaseModel):
    """A spec: unknown fields are errors, so that a typing mistake never goes unnoticed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Source(Spec):
    """Where a dataset comes from: read, drawn or simulated by the loader that is registered for its `kind`.

    `settings` are the loader's arguments and part of every key. `root` is the folder the files lie in, from the spec
    file's own folder where it is relative (`~` is the user's home folder); by default the dataset's folder in
    `DAT_DATA`. Up to `tolerance` unreadable images are left out and counted; one more fails it.
    """

    kind: Name
    settings: dict[str, Setting | list[Setting]] = {}
    root: str | None = None
    tolerance: int = Field(default=0, ge=0)


class ImportedEmbeddings(Spec):
    """Embeddings that `dat import embeddings` has read.

    The digests of the files are facts in the key, the folder is not. `samples` is the content digest of the samples,
    which must be the same for every backbone of a dataset.
    """

    folder: str
    samples: str
    images_sha256: str
    texts_sha256: str


class DatasetSpec(Spec):
    """Images with a class and a spurious attribute, or their embeddings.

    `groups`: accuracy is taken per (class, attribute), or per attribute alone. `reference_split`: where methods that
    need reference images take them from.
    """

    title: str = ""
    prompts: Name
    groups: Groups = "class_attribute"
    reference_split: Split = "train"
    source: Source | None = None
    embeddings: dict[Name, ImportedEmbeddings] = {}


class BackboneSpec(Spec):
    """A vision-language model, opened by the loader that is registered for its `kind`.

    `precomputed` ones exist as imported embeddings only. `settings` are arguments of the library's loader and part of
    every key. `weights` is a local checkpoint file or folder, named as a dataset's `root` is; what is in it is a fact,
    where it lies is not. `logit_scale` is for embeddings without a model at hand; a model brings its own.
    """

    title: str = ""
    kind: Name
    dimension: int | None = Field(default=None, gt=0)
    logit_scale: float = Field(default=100.0, gt=0)
    settings: dict[str, Setting | list[Setting] | dict[str, Setting | list[Setting]]] = {}
    weights: str | None = None
    licence: str = ""


class MethodSettings(Spec):
    """Settings of one method: for every dataset, and for single ones."""

    defaults: dict[str, Setting | list[Setting]] = {}
    datasets: dict[Name, dict[str, Setting | list[Setting]]] = {}


class Grid(Spec):
    """Every combination of what is listed. A list under `set` is swept; each value becomes a variant.

    `methods` may be left out where the suite lists them for all its grids. `prompts` are prompt sets in place of a
    dataset's own, by their names or by what those add to the name of the dataset's own set: `robust` is
    `waterbirds-robust` on one dataset and `celeba-robust` on another.
    """

    datasets: list[Name] = Field(min_length=1)
    backbones: list[Name] = Field(min_length=1)
    methods: list[Name] = Field(min_length=1)
    seeds: Seeds = Field(default=[0], min_length=1)
    prompts: list[Name] = []
    set: dict[str, Setting | list[Setting]] = {}


class Diagnostics(Spec):
    """Diagnostics of embeddings, and of what `methods` make of them, as tables; `set` and `prompts` as in a grid."""

    datasets: list[Name] = Field(min_length=1)
    backbones: list[Name] = Field(min_length=1)
    kinds: list[Name] = Field(min_length=1)
    methods: list[Name] = Field(default=["dat"], min_length=1)
    seeds: Seeds = Field(default=[0], min_length=1)
    prompts: list[Name] = []
    set: dict[str, Setting | list[Setting]] = {}


class Theory(Spec):
    """Checks of the paper's theory. A setting is an argument of the check, as it stands: a list is not swept."""

    checks: list[Name] = Field(min_length=1)
    seeds: Seeds = Field(default=[0], min_length=1)
    set: dict[str, Setting | list[Setting]] = {}


class SuiteSpec(Spec):
    """What one run computes.

    `methods` are those of every grid that names none. Diagnostics do not take them: they are of `dat` unless they name
    other methods.
    """

    title: str = ""
    methods: list[Name] = Field(default=[], min_length=1)
    grid: list[Grid] = []
    diagnostics: list[Diagnostics] = []
    theory: list[Theory] = []

    @field_validator("grid", mode="before")
    @classmethod
    def _with_methods(cls, grids: Any, info: ValidationInfo) -> Any:
        # A list of methods that was refused is absent: that is one error, and not one more for each grid.
        methods = info.data.get("methods", ["refused"])
        if not methods or not isinstance(grids, list):
            return grids
        return [{"methods": methods, **grid} if isinstance(grid, dict) else grid for grid in grids]

    @model_validator(mode="after")
    def _not_empty(self) -> "SuiteSpec":
        if not (self.grid or self.diagnostics or self.theory):
            raise ValueError("a suite needs at least one table [[grid]], [[diagnostics]] or [[theory]]")
        if self.methods and all(grid.methods != self.methods for grid in self.grid):
            raise ValueError("no [[grid]] uses the methods at the top: each names its own, or there is none")
        return self
