"""A model of two towers on one device: the part that is the same whatever library built it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.backbones.backbone import BackboneError, Preprocess, TextVectors
from dat_lib.suggestions import did_you_mean

if TYPE_CHECKING:
    import torch

PRECISIONS = ("float32", "float16", "bfloat16")
_TEXT_BATCH = 64


@dataclass(frozen=True)
class Towers:
    """What a library gives, already on its device and in evaluation mode."""

    images: "Callable[[torch.Tensor], torch.Tensor]"
    """[B, 3, H, W] -> [B, d]"""
    texts: "Callable[[dict[str, torch.Tensor]], torch.Tensor]"
    """What `tokenize` gave, on the device -> [B, d]"""
    tokenize: "Callable[[list[str]], tuple[dict[str, torch.Tensor], list[int]]]"
    """Prompts -> tokens cut to the model's length, and for each prompt how many there were before."""
    context_length: int
    """How many tokens the text tower reads."""
    logit_scale: float


class DualEncoder:
    """A backbone made of two towers.

    Weights stay float32 and a lower precision is autocast, on CUDA only. A model of lower precision can be opened on a
    CPU, to learn its facts, but does not compute there.
    """

    def __init__(
        self, towers: Towers, preprocess: Preprocess, facts: Mapping[str, str], device: str, precision: str
    ) -> None:
        self._towers = towers
        self.device = device
        self._precision = precision
        self.preprocess = preprocess
        self.facts = dict(facts)
        self.logit_scale = towers.logit_scale
        self.dimension = self._same_dimension()

    def encode_images(self, batch: "torch.Tensor") -> "torch.Tensor":
        """[B, 3, H, W] preprocessed images -> [B, d] raw float32 vectors on the model's device."""
        check_native(self.device, self._precision)
        with _computing(self.device, self._precision):
            return self._towers.images(batch.to(self.device, non_blocking=True)).float()

    def encode_texts(self, prompts: Sequence[str]) -> TextVectors:
        """Tokenise and embed prompts; those too long are cut where the model's tokenizer cuts, and reported."""
        check_native(self.device, self._precision)
        truncated: list[int] = []
        vectors = [np.zeros((0, self.dimension), np.float32)]
        for start in range(0, len(prompts), _TEXT_BATCH):
            tokens, counts = self._towers.tokenize(list(prompts[start : start + _TEXT_BATCH]))
            with _computing(self.device, self._precision):
                vectors.append(self._texts(tokens).float().cpu().numpy())
            truncated += [start + i for i, count in enumerate(counts) if count > self._towers.context_length]
        return TextVectors(np.concatenate(vectors), tuple(truncated))

    def _texts(self, tokens: "dict[str, torch.Tensor]") -> "torch.Tensor":
        return self._towers.texts({name: value.to(self.device) for name, value in tokens.items()})

    def _same_dimension(self) -> int:
        """Embed a grey image and a word: a config can promise what the towers do not keep."""
        import torch
        from PIL import Image

        grey = self.preprocess(Image.new("RGB", (64, 64), (127, 127, 127)))[None].to(self.device)
        word, _ = self._towers.tokenize(["photo"])
        with _computing(self.device, "float32"):
            image, text = self._towers.images(grey), self._texts(word)
        if image.ndim != 2 or image.shape != text.shape:
            raise BackboneError(
                f"{self.facts['model']}: the image tower gives vectors of shape {tuple(image.shape[1:])} and the text "
                f"tower of {tuple(text.shape[1:])}, so they cannot be compared. The projections in the model's config "
                "must lead to the same dimension (embed_dim, projection_dim, the last of ALIGN's out_channels)"
            )
        if not (torch.isfinite(image).all() and torch.isfinite(text).all()):
            raise BackboneError(f"{self.facts['model']}: gives numbers that are not finite; the weights are damaged")
        return int(image.shape[1])


@contextmanager
def _computing(device: str, precision: str) -> Iterator[None]:
    import torch

    with torch.inference_mode():
        if precision == "float32":
            yield
        else:
            with torch.autocast(torch.device(device).type, getattr(torch, precision)):
                yield


def check_precision(precision: str) -> None:
    """Refuse an unknown precision."""
    if precision not in PRECISIONS:
        raise BackboneError(f'there is no precision "{precision}"{did_you_mean(precision, PRECISIONS)}')


def prepare_device(device: str) -> None:
    """Refuse a device that is not there, and make float32 mean float32 on a GPU, for the whole process.

    By default a GPU rounds the inputs of float32 convolutions to 10 bits (TF32), as coarse as float16.
    """
    import torch

    try:
        torch.empty(0, device=device)
        if torch.device(device).type == "cuda":
            torch.backends.cudnn.allow_tf32 = False
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise BackboneError(f'device "{device}" cannot be used ({first_line}); "cpu" always can') from error


def check_native(device: str, precision: str) -> None:
    """Refuse to compute in a precision that the device does not have natively.

    A CPU computes in float32 always: most emulate bfloat16, at a hundredth of the speed. Asking it for less is an error
    rather than a silent change, since precision is in the key of a result and the device is not.
    """
    if precision == "float32":
        return
    import torch

    if torch.device(device).type != "cuda":
        raise BackboneError(f'precision = "{precision}" needs a CUDA device, not "{device}"; set precision = "float32"')
    if precision == "bfloat16" and not torch.cuda.is_bf16_supported(including_emulation=False):
        raise BackboneError(f'"{device}" has no native bfloat16; set precision = "float16" or "float32"')
