"""Finding backbone kinds by name.

A kind is a module that opens the models of one library and says so in its `KIND`. Ours are modules beside this one;
other packages offer theirs by an entry point of the group `dat_bench.backbones`, name = "package.module".
"""

from dataclasses import dataclass

from dat_lib.kinds import Kinds


@dataclass(frozen=True)
class BackboneKind:
    """What a loader module declares as `KIND`.

    It has `open_backbone(device="cpu", weights=None, **settings)`, which returns a `Backbone`, and
    `backbone_files(weights=None, **settings)`, which returns the paths of all files that decide its vectors. The
    settings are those of the spec, and decide numbers; `weights` says where files are.
    """

    name: str
    libraries: tuple[str, ...] = ()
    """Distributions whose versions are facts of every model: all that the loader may use, beside what all use.

    Those that a model does not use are not among its own facts, and change nothing downstream.
    """

    @property
    def offers(self) -> tuple[str, ...]:
        """The functions that the module must have."""
        return ("open_backbone", "backbone_files")


BACKBONES = Kinds("backbone", "dat_lib.backbones", "dat_bench.backbones", BackboneKind)
