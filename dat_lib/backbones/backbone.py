"""What a vision-language model offers: vectors of images and of prompts, and the facts that decide them.

`dat_lib.backbones.registry` says which functions a loader module offers. Ours also have `backbone_facts(weights=None,
**settings)`, which gives the facts without building the model. `settings` decide numbers; `device` and `weights` (where
the files are) do not: what is in the files is a fact.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dat_lib.arrays import FloatArray
from dat_lib.suggestions import did_you_mean

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

Preprocess: TypeAlias = "Callable[[Image], torch.Tensor]"
"""Image in its own mode and size -> [3, H, W] float32. Small and picklable: it travels to worker processes alone."""


class BackboneError(ValueError):
    """A model cannot be opened or used; the message says which, why and what helps."""


@dataclass(frozen=True)
class TextVectors:
    """Vectors of P prompts."""

    vectors: FloatArray
    """[P, d] raw (not normalised) float32, in the order of the prompts."""
    truncated: tuple[int, ...] = ()
    """Positions of the prompts of which the model could not read the end, ascending."""


class Backbone(Protocol):
    """A frozen vision-language model on one device."""

    @property
    def dimension(self) -> int:
        """The length d of the vectors, the same for images and texts."""
        ...

    @property
    def logit_scale(self) -> float:
        """The factor, not its logarithm, by which the model multiplies cosines to get logits."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What decides a number outside our code; see `backbone_facts` of the loader modules."""
        ...

    @property
    def preprocess(self) -> Preprocess:
        """The model's own image preprocessing, in an object that can be pickled without the model."""
        ...

    def encode_images(self, batch: "torch.Tensor") -> "torch.Tensor":
        """[B, 3, H, W] preprocessed images -> [B, d] raw (not normalised) float32 vectors on the model's device."""
        ...

    def encode_texts(self, prompts: Sequence[str]) -> TextVectors:
        """Tokenise and embed prompts; a prompt too long for the model is cut where its tokenizer cuts, and reported."""
        ...


def check_settings(loader: str, settings: Mapping[str, object], known: Mapping[str, type]) -> None:
    """Refuse a setting that the loader does not know or that has another type than it takes."""
    for name, value in settings.items():
        if name not in known:
            raise BackboneError(f'{loader} backbones have no setting "{name}"{did_you_mean(name, known)}')
        if value is not None and not isinstance(value, known[name]):
            wanted = "a text" if known[name] is str else "a table" if known[name] is dict else known[name].__name__
            raise BackboneError(f"{loader} backbones: setting {name} = {value!r} is not allowed; it takes {wanted}")
