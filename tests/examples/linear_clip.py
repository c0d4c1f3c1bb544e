"""A backbone kind in one file: images through one matrix, which is all of the model; prompts as seeds of noise."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.backbones.backbone import TextVectors
from dat_lib.backbones.registry import BackboneKind

if TYPE_CHECKING:  # a plan reads this file too, and should not wait for torch
    import torch
    from PIL.Image import Image

KIND = BackboneKind("linear_clip", libraries=("numpy",))


class LinearClip:
    logit_scale = 100.0

    def __init__(self, file: Path) -> None:
        self.matrix = np.load(file)
        self.dimension = self.matrix.shape[1]
        self.facts = {"model": "linear_clip", "weights": hashlib.sha256(file.read_bytes()).hexdigest()}

    @staticmethod
    def preprocess(image: "Image") -> "torch.Tensor":
        import torch

        return torch.from_numpy(np.asarray(image.convert("RGB").resize((8, 8)), np.float32) / 255).movedim(2, 0)

    def encode_images(self, batch: "torch.Tensor") -> "torch.Tensor":
        return batch.flatten(1) @ batch.new_tensor(self.matrix)

    def encode_texts(self, prompts: Sequence[str]) -> TextVectors:
        noise = [np.random.default_rng(list(prompt.encode())).standard_normal(self.dimension) for prompt in prompts]
        return TextVectors(np.stack(noise).astype(np.float32))


def open_backbone(device: str = "cpu", weights: str | None = None) -> LinearClip:
    return LinearClip(Path(str(weights)))


def backbone_files(weights: str | None = None) -> list[Path]:
    return [Path(str(weights))]
