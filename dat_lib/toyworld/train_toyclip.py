"""Train toyclip, the small CLIP of the embedded world: `python -m dat_lib.toyworld.train_toyclip --output FOLDER`.

The model sees captioned drawings in which the kind of bird goes with the place, as in the training split of toybirds
but of another seed, and portraits without a place. The logit scale is fixed at 100, where CLIP's ends up, so that
cosines stay in a narrow band. The same arguments give the same weights on the same machine and libraries.
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dat_lib.arrays import IntArray
from dat_lib.datasets.toybirds import SIZE, Scene
from dat_lib.toyworld.toyclip_captions import caption
from dat_lib.toyworld.toyclip_drawings import draw_training_set
from dat_lib.toyworld.toyclip_model import (
    LOGIT_SCALE,
    PIXEL_MEAN,
    PIXEL_SPREAD,
    embed,
    make_model,
    make_processor,
    place_cones,
)

if TYPE_CHECKING:
    import torch
    from transformers import CLIPModel, CLIPProcessor


@dataclass(frozen=True)
class Recipe:
    """How toyclip is trained."""

    seed: int = 1
    """Of the drawings, the captions, the first weights and the order. The evaluation splits have seed 0."""
    scenes: int = 12_000
    """Drawings of a bird on land or on water, 95 % of them on its usual background."""
    portraits: int = 12_000
    """Drawings of a bird before a plain backdrop."""
    steps: int = 2000
    batch: int = 64
    learning_rate: float = 1e-3
    warmup: int = 100
    weight_decay: float = 0.05
    centre_cosine: float = 0.25
    """Cosine of the mean image and the mean text vector before the first step (see `place_cones`)."""
    workers: int = 2
    """Processes that draw; their number changes nothing."""


def train(recipe: Recipe) -> "tuple[CLIPModel, CLIPProcessor]":
    """Draw, caption and train; return the model and its processor, in float32."""
    import torch

    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    # How sums are split over threads decides their rounding: with one, the number of cores does not matter.
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        return _train(recipe)
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)


def _train(recipe: Recipe) -> "tuple[CLIPModel, CLIPProcessor]":
    import torch

    torch.manual_seed(recipe.seed)
    started = time.perf_counter()
    pixels, scenes = draw_training_set(recipe.seed, recipe.scenes, recipe.portraits, recipe.workers)
    print(f"drew {len(pixels)} images in {time.perf_counter() - started:.0f} s", flush=True)
    processor = make_processor()
    model = make_model(processor.tokenizer)
    random = np.random.default_rng([recipe.seed, 1])
    start = random.permutation(len(pixels))[:512]
    place_cones(model, *_batch(start, pixels, scenes, processor, random)[:2], recipe.centre_cosine)
    _fit(model, processor, pixels, scenes, recipe, random)
    print(f"done after {time.perf_counter() - started:.0f} s", flush=True)
    return model.eval(), processor  # type: ignore[no-untyped-call]


def contrastive_loss(images: "torch.Tensor", texts: "torch.Tensor", captions: Sequence[str]) -> "torch.Tensor":
    """Return CLIP's symmetric cross-entropy over a batch of pairs of unit vectors, at the fixed logit scale.

    Where several images of a batch have the same caption, each of its copies is as right as the others.
    """
    import torch

    logits = LOGIT_SCALE * images @ texts.T
    _, same = np.unique(captions, return_inverse=True)
    targets = torch.from_numpy((same[:, None] == same[None, :]).astype(np.float32))
    targets = targets / targets.sum(dim=1, keepdim=True)
    cross_entropy = torch.nn.functional.cross_entropy
    return (cross_entropy(logits, targets) + cross_entropy(logits.T, targets)) / 2


def _fit(
    model: "CLIPModel",
    processor: "CLIPProcessor",
    pixels: IntArray,
    scenes: list[Scene],
    recipe: Recipe,
    random: np.random.Generator,
) -> None:
    import torch

    model.train()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    matrices = [weight for weight in weights if weight.ndim > 1]
    vectors = [weight for weight in weights if weight.ndim <= 1]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": recipe.weight_decay}, {"params": vectors, "weight_decay": 0.0}],
        lr=recipe.learning_rate,
        betas=(0.9, 0.98),
    )
    rate = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step, recipe))
    waiting: list[int] = []
    for step in range(recipe.steps):
        if len(waiting) < recipe.batch:
            waiting += random.permutation(len(pixels)).tolist()
        rows, waiting = np.array(waiting[: recipe.batch]), waiting[recipe.batch :]
        images, tokens, captions = _batch(rows, pixels, scenes, processor, random)
        loss = contrastive_loss(*embed(model, images, tokens), captions)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        rate.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)


def _rate(step: int, recipe: Recipe) -> float:
    """The learning rate's factor: a linear rise, then half a cosine down to nothing."""
    if step < recipe.warmup:
        return (step + 1) / recipe.warmup
    return 0.5 * (1 + math.cos(math.pi * (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)))


def _batch(
    rows: IntArray, pixels: IntArray, scenes: list[Scene], processor: "CLIPProcessor", random: np.random.Generator
) -> "tuple[torch.Tensor, dict[str, torch.Tensor], list[str]]":
    """Return images, some mirrored and all shifted by up to 4 pixels, and a fresh caption of each."""
    captions = [caption(scenes[row], random) for row in rows]
    tokens = dict(processor.tokenizer(captions, padding=True, return_tensors="pt", return_token_type_ids=False))
    padded = np.pad(pixels[rows], ((0, 0), (4, 4), (4, 4), (0, 0)), mode="edge")
    down, across = random.integers(0, 9, 2)
    images = padded[:, down : down + SIZE, across : across + SIZE]
    mirrored = random.random(len(rows)) < 0.5
    images[mirrored] = images[mirrored, :, ::-1]
    return scaled_pixels(images), tokens, captions


def scaled_pixels(images: IntArray) -> "torch.Tensor":
    """Return [B, 3, 64, 64] as the model's processor makes them of [B, 64, 64, 3] 8-bit images."""
    import torch

    scaled = ((images / np.float32(255)) - np.float32(PIXEL_MEAN)) / np.float32(PIXEL_SPREAD)
    return torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))


def save(model: "CLIPModel", processor: "CLIPProcessor", folder: Path) -> Path:
    """Write the model folder as transformers reads it, and return it."""
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    # safetensors writes files that only their owner may read.
    (folder / "model.safetensors").chmod(0o644)
    return folder


def main() -> None:
    """Train with the stated recipe and save the model folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="the model folder to write")
    for name in ("seed", "scenes", "portraits", "steps", "workers"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Recipe, name))
    arguments = vars(parser.parse_args())
    output = arguments.pop("output")
    save(*train(Recipe(**arguments)), output)


if __name__ == "__main__":
    main()
